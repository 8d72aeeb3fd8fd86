package http

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/store"
)

// OfTrial are the path's parameters of a trial.
type OfTrial struct {
	OfTask
	Trial int `path:"trial" doc:"The task's number for the trial."`
}

type listDecisions struct {
	OfTask
	Trial     int    `query:"trial" minimum:"0" doc:"Only of this trial."`
	Candidate string `query:"candidate" doc:"Only of this candidate."`
}

// routeTrials adds candidates, trials and the decisions that started them.
func (s *server) routeTrials() {
	const trials = "/tasks/{user}/{name}/trials"
	handle(s, http.MethodGet, "/tasks/{user}/{name}/candidates", "list-candidates",
		"Candidates with their trials, and what is expected of the untried",
		func(ctx context.Context, in *OfTask) (*answerOf[[]api.Row], error) {
			task, err := s.find(ctx, *in)
			if err != nil {
				return nil, err
			}
			view, err := s.view(ctx, task.ID)
			if err != nil {
				return nil, err
			}
			return &answerOf[[]api.Row]{Seq: view.Seq, Body: view.Body.Rows}, nil
		})
	handle(s, http.MethodGet, trials, "list-trials", "Trials of the present search",
		func(ctx context.Context, in *OfTask) (*answerOf[[]api.Trial], error) {
			return read(s, ctx, *in, func(r *store.Reader, task store.Task) ([]api.Trial, error) {
				x, err := readRows(r, task.ID)
				if err != nil {
					return nil, err
				}
				views := []api.Trial{}
				for _, tr := range x.trials {
					n, known := x.numbers[tr.ID]
					if !known {
						continue
					}
					attempts, err := r.Attempts(tr.ID)
					if err != nil {
						return nil, err
					}
					views = append(views, x.trial(tr, n, attempts, x.metric()))
				}
				slices.SortFunc(views, func(a, b api.Trial) int { return cmp.Compare(a.Number, b.Number) })
				return views, nil
			})
		})
	handle(s, http.MethodGet, trials+"/{trial}", "get-trial", "One trial",
		func(ctx context.Context, in *OfTrial) (*answerOf[api.Trial], error) {
			return read(s, ctx, in.OfTask, func(r *store.Reader, task store.Task) (api.Trial, error) {
				tr, err := findTrial(r, task, in.Trial)
				if err != nil {
					return api.Trial{}, err
				}
				x, err := ofSearch(r, task, tr.SearchID)
				if err != nil {
					return api.Trial{}, err
				}
				attempts, err := r.Attempts(tr.ID)
				return x.trial(tr, in.Trial, attempts, x.search.Metric), err
			})
		})
	handle(s, http.MethodPost, trials+"/{trial}/stop", "stop-trial", "End a running trial; its best so far counts",
		func(ctx context.Context, in *OfTrial) (*nothing, error) {
			var task store.Task
			err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
				if task, err = find(r, caller(ctx), in.OfTask); err != nil {
					return err
				}
				_, err = findTrial(r, task, in.Trial)
				return err
			})
			if err != nil {
				return nil, err
			}
			return &nothing{}, s.Search.StopTrial(ctx, task, in.Trial)
		})
	handle(s, http.MethodGet, "/tasks/{user}/{name}/decisions", "list-decisions", "Why trials were started, the newest first",
		func(ctx context.Context, in *listDecisions) (*answerOf[[]api.Decision], error) {
			return read(s, ctx, in.OfTask, func(r *store.Reader, task store.Task) ([]api.Decision, error) {
				return decisions(r, task, in.Trial, in.Candidate)
			})
		})
}

func decisions(r *store.Reader, task store.Task, trial int, candidate string) ([]api.Decision, error) {
	views := []api.Decision{}
	if trial > 0 { // also one of an earlier version
		tr, err := findTrial(r, task, trial)
		if err != nil {
			return nil, err
		}
		x, err := ofSearch(r, task, tr.SearchID)
		if err == nil && (candidate == "" || candidate == tr.Candidate) {
			views = append(views, x.decision(tr, trial))
		}
		return views, err
	}
	x, err := readRows(r, task.ID)
	if err != nil {
		return nil, err
	}
	for _, tr := range x.trials {
		if n, known := x.numbers[tr.ID]; known && (candidate == "" || candidate == tr.Candidate) {
			views = append(views, x.decision(tr, n))
		}
	}
	slices.SortFunc(views, func(a, b api.Decision) int { return cmp.Compare(b.Trial, a.Trial) })
	return views, nil
}

func (x *rows) decision(tr store.Trial, n int) api.Decision {
	return api.Decision{Trial: n, Candidate: tr.Candidate, Label: x.of(tr).Label, Time: tr.Created, Reason: orNull(tr.Reason)}
}

// findTrial looks a trial up by the task's number, of any version.
func findTrial(r *store.Reader, task store.Task, number int) (store.Trial, error) {
	n, err := r.TaskTrialByNumber(task.ID, number)
	if errors.Is(err, store.ErrNotFound) {
		return store.Trial{}, refuse(http.StatusNotFound, "", "%s has no trial %d.", task.Name, number)
	}
	if err != nil {
		return store.Trial{}, err
	}
	return r.TrialByID(n.TrialID)
}

// ofSearch reads what naming the trials of one search needs.
func ofSearch(r *store.Reader, task store.Task, searchID string) (x rows, err error) {
	x.task = task
	if x.search, err = r.SearchByID(searchID); err != nil {
		return x, err
	}
	x.candidates, x.ordered, err = readCandidates(r, searchID)
	return x, err
}
