package cells

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// why tells the reason of the last decision, of a trial, or of a candidate's
// place.
func (c *cell) why(ctx context.Context, s *lang.Why) error {
	task, view, _, err := c.session.view(ctx, s.Task)
	if err != nil {
		return c.meantCandidate(s, err)
	}
	switch {
	case s.Trial > 0:
		type both struct {
			trial     api.Trial
			decisions []api.Decision
		}
		got, err := call(ctx, &c.session, func(client *api.Client) (b both, err error) {
			if b.trial, err = client.Trial(ctx, task.user, task.name, s.Trial); err == nil {
				b.decisions, err = client.Decisions(ctx, task.user, task.name, s.Trial, "")
			}
			return b, err
		})
		if err != nil {
			return err
		}
		if len(got.decisions) == 0 {
			return fail(noValue, fmt.Sprintf("No reason was kept of trial %d.", s.Trial), "")
		}
		c.show(show.WhyTrial(view, got.decisions[0], got.trial))
		return nil
	case s.Candidate != "":
		row, err := c.row(task, view, s.Candidate)
		if err != nil {
			return err
		}
		d, err := c.lastDecision(ctx, task, row.Candidate)
		if err == nil && d == nil {
			d, err = c.lastDecision(ctx, task, "")
		}
		if err != nil {
			return err
		}
		c.show(show.WhyCandidate(task.shown, view, row, d))
		return nil
	}
	d, err := c.lastDecision(ctx, task, "")
	if err != nil {
		return err
	}
	c.show(show.Why(task.shown, view, d))
	return nil
}

// lastDecision is the newest decision of a task's search, or the one that started a
// candidate; nil where there is none.
func (c *cell) lastDecision(ctx context.Context, task taken, candidate string) (*api.Decision, error) {
	list, err := call(ctx, &c.session, func(client *api.Client) ([]api.Decision, error) {
		return client.Decisions(ctx, task.user, task.name, 0, candidate)
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// row finds a candidate of a task by its id, or by the beginning of one where
// that is enough.
func (c *cell) row(task taken, view api.View, typed string) (api.Row, error) {
	var ids, begin []string
	for _, r := range view.Rows {
		if r.Candidate == typed {
			return r, nil
		}
		ids = append(ids, r.Candidate)
		if strings.HasPrefix(r.Candidate, typed) {
			begin = append(begin, r.Candidate)
		}
	}
	hint := fmt.Sprintf("models %s lists those that were tried.", task.shown)
	switch near := lang.Nearest(typed, ids); {
	case len(begin) == 1:
		hint = fmt.Sprintf("Did you mean  why %s %s ?", task.shown, begin[0])
	case len(begin) > 1:
		hint = "There are " + enumerate(begin) + "."
	case near != "":
		hint = fmt.Sprintf("Did you mean  why %s %s ?", task.shown, near)
	case len(ids) > 0:
		hint = "There are " + enumerate(ids) + "."
	}
	return api.Row{}, fail("NoSuchCandidate", fmt.Sprintf("%s has no candidate %s.", task.shown, typed), hint)
}

// meantCandidate makes a better hint of "no such task" where a candidate of the
// current task has that name: its task comes first.
func (c *cell) meantCandidate(s *lang.Why, err error) error {
	p, ok := errors.AsType[*problem](err)
	if !ok || p.name != noSuchTask || s.Task == nil || s.Trial > 0 || s.Candidate != "" {
		return err
	}
	if task, candidate, ok := c.names.candidate(s.Task.Name); ok {
		p.hint = fmt.Sprintf("Did you mean  why %s %s ?", c.session.shown(task.user, task.name), candidate)
	}
	return p
}
