package http

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// routeStudies adds questions that take some fits to answer.
func (s *server) routeStudies() {
	s.lines(huma.Operation{
		OperationID: "study", Method: http.MethodPost, Path: prefix + "/tasks/{user}/{name}/studies",
		Summary:    "Ask something about the examples or the model that takes some fits to find out, such as which labels look wrong; it is a read",
		Parameters: ofTask(),
	}, reflect.TypeFor[api.NewStudy](), reflect.TypeFor[api.StudyLine](),
		"Lines with progress; then one line with done, or with the problem that ended it. It is given up when the client leaves.", s.study)
	s.lines(huma.Operation{
		OperationID: "propose", Method: http.MethodPost, Path: prefix + "/proposals",
		Summary: "Look at a complete upload and propose a program for it; nothing is declared",
	}, reflect.TypeFor[api.NewProposal](), reflect.TypeFor[api.StudyLine](),
		"Lines with progress; then one line with done, or with the problem that ended it.", s.propose)
}

// propose looks at an upload and proposes a program for it.
func (s *server) propose(w http.ResponseWriter, r *http.Request) {
	s.streamStudy(w, r, func(ctx context.Context, progress func(search.StudyProgress)) (json.RawMessage, error) {
		var in api.NewProposal
		if err := decodeBody(r, &in); err != nil {
			return nil, err
		}
		list, err := s.uploaded(ctx, in.Uploads)
		if err != nil {
			return nil, err
		}
		return s.Search.Propose(ctx, list, in.Output, in.Options, progress)
	})
}

func (s *server) study(w http.ResponseWriter, r *http.Request) {
	s.streamStudy(w, r, func(ctx context.Context, progress func(search.StudyProgress)) (json.RawMessage, error) {
		task, err := s.find(ctx, OfTask{User: r.PathValue("user"), Name: r.PathValue("name")})
		if err != nil {
			return nil, err
		}
		var in api.NewStudy
		if err := decodeBody(r, &in); err != nil {
			return nil, err
		}
		q := search.Question{Kind: in.Kind, Example: in.Example, Options: in.Options}
		if len(in.Uploads) > 0 {
			if q.Sources, err = s.uploaded(ctx, in.Uploads); err != nil {
				return nil, err
			}
		}
		return s.Search.Study(ctx, task, q, progress)
	})
}

// uploaded are the caller's complete uploads.
func (s *server) uploaded(ctx context.Context, ids []string) (list []feed.Source, err error) {
	err = s.Store.Read(ctx, func(r *store.Reader) error {
		uploads, err := sources(r, caller(ctx), ids)
		for _, u := range uploads {
			list = append(list, feed.Source{Name: u.Name, SHA256: u.SHA256})
		}
		return err
	})
	return list, err
}

// decodeBody reads a request of a handler on plain net/http.
func decodeBody(r *http.Request, into any) error {
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	if err := body.Decode(into); err != nil {
		return refuse(http.StatusUnprocessableEntity, "", "The request is not of the right form: %s.", err)
	}
	return nil
}

// streamStudy answers with progress while ask works, then with what it found.
func (s *server) streamStudy(w http.ResponseWriter, r *http.Request, ask func(context.Context, func(search.StudyProgress)) (json.RawMessage, error)) {
	type outcome struct {
		findings json.RawMessage
		err      error
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	done, steps := make(chan outcome, 1), make(chan search.StudyProgress, 16)
	go func() {
		findings, err := ask(ctx, func(p search.StudyProgress) {
			select {
			case steps <- p:
			default: // the next one tells more
			}
		})
		done <- outcome{findings, err}
	}()
	lines := &lineWriter{w: w, control: http.NewResponseController(w)}
	ticker := time.NewTicker(stillHere)
	defer ticker.Stop()
	for {
		select {
		case p := <-steps:
			if lines.begin() == nil && lines.put(api.StudyLine{Progress: &api.StudyProgress{Step: p.Step, Of: p.Of, Unit: p.Unit}}) == nil {
				lines.flush()
			}
		case <-ticker.C:
			// A client that is gone ends ctx, and with it the study.
			if lines.begin() == nil {
				lines.blank()
			}
		case o := <-done:
			line := api.StudyLine{Done: &api.Findings{}}
			if o.err == nil {
				o.err = json.Unmarshal(o.findings, line.Done)
			}
			if o.err != nil && !lines.begun {
				s.sendProblem(w, r, o.err)
				return
			}
			if o.err != nil {
				line = api.StudyLine{Problem: &s.toProblem(ctx, o.err).Problem}
			}
			if lines.begin() == nil && lines.put(line) == nil {
				lines.flush()
			}
			return
		}
	}
}
