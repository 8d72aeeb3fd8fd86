package cells

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
)

// Names of failures.
const (
	grammarError   = "GrammarError"
	noSuchTask     = "NoSuchTask"
	noSuchFile     = "NoSuchFile"
	dataError      = "DataError"
	fileError      = "FileError"
	notServedError = "NotServed"
	refused        = "Refused"
	notAllowed     = "NotAllowed"
	conflict       = "Conflict"
	serverAway     = "ServerAway"
	assertion      = "AssertionError"
	noValue        = "NoValue"
	interrupted    = "Interrupted"
)

// problem is an error of a statement before it gets its place in the cell.
type problem struct {
	name     string
	sentence string
	hint     string
	span     *lang.Span // what the caret points at, if anything
}

func (p *problem) Error() string {
	if p.hint == "" {
		return p.sentence
	}
	return p.sentence + " " + p.hint
}

// at points the caret at a piece of the cell.
func (p *problem) at(s lang.Span) *problem {
	p.span = &s
	return p
}

func fail(name, sentence, hint string) *problem {
	return &problem{name: name, sentence: sentence, hint: hint}
}

func notServed(sentence, hint string) *problem {
	return fail(notServedError, sentence+" Nothing was done.", hint)
}

// Error of a problem that never gets a place, such as a cell of another language.
func (p *problem) failure() *jupyter.Failure {
	lines := []string{p.sentence}
	if p.hint != "" {
		lines = append(lines, p.hint)
	}
	return &jupyter.Failure{Name: p.name, Value: p.Error(), Traceback: lines}
}

// grammar is a fault of the cell's text, with the caret under it.
func grammar(code string, err error) error {
	e, ok := errors.AsType[*lang.Error](err)
	if !ok {
		return fail(grammarError, err.Error(), "").failure()
	}
	if e.After == "" {
		e.After = "Nothing was run."
	}
	shown := e.Show(code)
	lines := strings.Split(shown, "\n")
	return &jupyter.Failure{Name: grammarError, Value: lines[len(lines)-1], Traceback: lines}
}

// failure is an error of a statement as a notebook shows it.
func (c *cell) failure(ctx context.Context, s lang.Statement, err error) error {
	p := c.explain(ctx, err)
	if p.span != nil {
		e := &lang.Error{Span: *p.span, Message: "here", Statement: s.Span()}
		shown := strings.Split(e.Show(c.request.Code), "\n")
		// Only the lines with the caret: a sentence of ours may begin with a task's
		// name, which gets no capital.
		shown[len(shown)-1] = p.Error()
		if strings.Contains(strings.TrimSpace(c.request.Code), "\n") {
			shown[len(shown)-1] = fmt.Sprintf("Line %d, column %d: %s", p.span.Line, p.span.Column, p.Error())
		}
		return &jupyter.Failure{Name: p.name, Value: p.Error(), Traceback: shown}
	}
	f := p.failure()
	if c.several {
		// Which of the statements it was.
		f.Traceback = append([]string{firstLine(c.request.Code, s.Span())}, f.Traceback...)
	}
	return f
}

// firstLine is the first line of a statement as it stands in the cell.
func firstLine(code string, s lang.Span) string {
	runes := []rune(code)
	if s.Start < 0 || s.End > len(runes) || s.Start > s.End {
		return ""
	}
	line, rest, more := strings.Cut(string(runes[s.Start:s.End]), "\n")
	line = strings.TrimRight(line, "\r")
	if more && strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// explain puts any error into a name, a sentence and a hint.
func (c *cell) explain(ctx context.Context, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(context.Cause(ctx), jupyter.ErrInterrupted) {
		return fail(interrupted, "Interrupted.", "")
	}
	if errors.Is(context.Cause(ctx), jupyter.ErrShutdown) {
		return fail(interrupted, "The kernel is shutting down; searches go on at the server.", "")
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return fail(nameOf(p.Status), p.Detail, p.Hint)
	}
	if lost, ok := errors.AsType[*api.Lost](err); ok {
		c.log.Warn("server lost", "url", lost.URL, "error", lost.Err)
		return fail(serverAway, fmt.Sprintf("The server at %s does not answer.", lost.URL),
			"Nothing is lost there; run the cell again when it is back.")
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fail(fileError, fmt.Sprintf("%s can't be used: %s.", path.Path, path.Err), "")
	}
	if errors.Is(err, context.Canceled) {
		return fail(interrupted, "Interrupted.", "")
	}
	c.log.Error("statement failed", "error", err)
	return fail("Error", sentence(err.Error()), "")
}

// nameOf names a refusal of the server by its HTTP status.
func nameOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "NotFound"
	case http.StatusUnauthorized, http.StatusForbidden:
		return notAllowed
	case http.StatusConflict:
		return conflict
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return dataError
	}
	return refused
}

// sentence gives a text a capital and a final stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	r := []rune(s)
	s = strings.ToUpper(string(r[0])) + string(r[1:])
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}
