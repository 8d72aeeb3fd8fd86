package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/search"
)

// problem is an api.Problem as an error that huma sends as it is.
type problem struct{ api.Problem }

// GetStatus is the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457, whatever was asked for.
func (p *problem) ContentType(string) string { return api.ProblemType }

// refuse makes a problem with a sentence and what to do about it.
func refuse(status int, hint, format string, args ...any) *problem {
	return &problem{api.Problem{
		Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...), Hint: hint,
	}}
}

// toProblem words any error. What isn't meant for people is logged, and they
// are told that the log has it.
func (s *server) toProblem(ctx context.Context, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*search.Refusal](err); ok {
		p := refuse(r.Status, r.Hint, "%s", r.Detail)
		if w := r.Where; w != nil {
			p.Where = &api.Where{File: w.File, Row: w.Row, Line: w.Line, Column: w.Column, Field: w.Field}
		}
		return p
	}
	if r, ok := errors.AsType[*answer.Refusal](err); ok {
		p := refuse(r.Status(), r.Hint, "%s", r.Detail)
		if w := r.Where; w != nil {
			p.Where = &api.Where{File: w.File, Row: w.Row, Line: w.Line, Column: w.Column, Field: w.Field}
		}
		return p
	}
	if fault, ok := errors.AsType[*schema.Error](err); ok {
		p := refuse(http.StatusUnprocessableEntity, fault.Hint, "%s", fault.Message)
		p.Where = &api.Where{Line: new(int64(fault.Line)), Column: fmt.Sprint(fault.Column)}
		return p
	}
	if errors.Is(err, search.ErrClosed) || errors.Is(err, answer.ErrClosed) {
		return refuse(http.StatusServiceUnavailable, "Try again in a moment.", "The server is shutting down.")
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "", "The request is longer than %d bytes.", large.Limit)
	}
	if ctx.Err() != nil {
		return refuse(http.StatusServiceUnavailable, "Try again.", "The request was broken off.")
	}
	s.Log.ErrorContext(ctx, "a request failed", "error", err)
	return refuse(http.StatusInternalServerError, "", "The server made a mistake; its log tells more.")
}

// sendProblem answers a request with an error, outside of huma.
func (s *server) sendProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := s.toProblem(r.Context(), err)
	w.Header().Set("Content-Type", api.ProblemType)
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		json.NewEncoder(w).Encode(p) // the client may be gone
	}
}

// wordValidation turns what huma finds wrong with a request into a problem.
func wordValidation(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := refuse(m.Status, "", "%s.", strings.TrimSuffix(m.Detail, "."))
	if len(m.Errors) == 0 {
		return p, nil
	}
	var faults []string
	for _, e := range m.Errors {
		text := e.Message
		if e.Location != "" && e.Location != "body" {
			text = e.Location + ": " + text
		}
		faults = append(faults, text)
	}
	p.Detail = "The request is not of the right form: " + strings.Join(faults, "; ") + "."
	p.Where = &api.Where{Field: m.Errors[0].Location}
	return p, nil
}
