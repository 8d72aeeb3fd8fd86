package http

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// prepare loads the model of a settled task ahead: who asks what is best goes
// on to infer.
func (s *server) prepare(ctx context.Context, task store.Task) {
	best, ok := search.Served(task)
	if !ok || task.State != string(api.TaskSettled) {
		return
	}
	if err := s.Store.Read(ctx, func(r *store.Reader) error {
		tr, err := r.TrialByID(best.TrialID)
		if err == nil && tr.Model != "" {
			s.Answer.Prepare(tr.Model)
		}
		return err
	}); err != nil {
		s.Log.Warn("a model could not be loaded ahead", "task", task.ID, "error", err)
	}
}

// mistakes are those of the model that answers, unless its figures are of other
// examples by now.
func (s *server) mistakes(ctx context.Context, task store.Task) *api.Mistakes {
	best, ok := search.Served(task)
	if !ok || best.Scored != best.Version {
		return nil
	}
	var m *search.Mistakes
	ofTest := false
	if err := s.Store.Read(ctx, func(r *store.Reader) error {
		tr, err := r.TrialByID(best.TrialID)
		m, ofTest = search.MistakesOf(tr)
		return err
	}); err != nil || m == nil {
		return nil
	}
	v := &api.Mistakes{N: m.N, Wrong: m.Wrong, Pairs: []api.Pair{}, OfTest: ofTest}
	for _, c := range m.Classes {
		v.Classes = append(v.Classes, api.OfClass{Label: c.Label, Right: c.Right, N: c.N})
	}
	for _, p := range m.Pairs {
		v.Pairs = append(v.Pairs, api.Pair(p))
	}
	if w := m.Weakest; w != nil {
		v.Weakest = &api.OfClass{Label: w.Label, Right: w.Right, N: w.N}
	}
	if m.Sure != nil && m.Unsure != nil {
		v.Sure, v.Unsure = new(api.RightOfN(*m.Sure)), new(api.RightOfN(*m.Unsure))
	}
	return v
}

// routeBest adds the model that answers.
func (s *server) routeBest() {
	handle(s, http.MethodGet, "/tasks/{user}/{name}/best", "best", "Report on the model that answers",
		func(ctx context.Context, in *OfTask) (*answerOf[api.Report], error) {
			task, err := s.find(ctx, *in)
			if err != nil {
				return nil, err
			}
			view, err := s.view(ctx, task.ID)
			if err != nil {
				return nil, err
			}
			out := &answerOf[api.Report]{Seq: view.Seq, Body: api.Report{Task: view.Body.Task}}
			if b := view.Body.Best; b != nil && !b.Baseline {
				out.Body.Best = b
				out.Body.Mistakes = s.mistakes(ctx, task)
				s.prepare(ctx, task)
			}
			return out, nil
		})
	s.lines(huma.Operation{
		OperationID: "infer", Method: http.MethodPost, Path: prefix + "/tasks/{user}/{name}/infer",
		Summary:    "Answers of the best model to every row of complete uploads",
		Parameters: ofTask(),
	}, reflect.TypeFor[api.NewInfer](), reflect.TypeFor[api.InferLine](),
		"One line an input row, in input order; then one line with done, or with the problem that ended it. Empty lines while a model is waited for.", s.infer)
}
