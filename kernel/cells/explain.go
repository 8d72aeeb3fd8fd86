package cells

import (
	"context"
	"fmt"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// explained says what the model uses, or why it answers so for one example.
func (c *cell) explained(ctx context.Context, s *lang.Explain) error {
	body, words := api.NewStudy{Kind: api.StudyExplain}, "Looking at what the model uses"
	var list []source
	if s.Source != nil {
		var err error
		if list, err = c.sources(ctx, []lang.Source{*s.Source}); err != nil {
			return err
		}
		if len(list) != 1 {
			return fail(fileError, fmt.Sprintf("%s are %d files; one example is explained at a time.", s.Source.Text, len(list)), "").at(s.Source.Span)
		}
	}
	task, _, _, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	if s.Example != nil {
		body.Example, words = *s.Example, "Looking at the example"
	}
	if s.Source != nil {
		words = "Looking at the example"
		if body.Uploads, err = c.send(ctx, list, c.display()); err != nil {
			return err
		}
	}
	found, d, err := c.study(ctx, task, body, words)
	if err != nil {
		return err
	}
	d.set(show.Explained(task.shown, found))
	return nil
}

// quickSeconds is how long a model may have been trained so that best looks
// further than at what is known: that takes a few such fits.
const quickSeconds = 2.0

// further finds out what best says beside what the search knows; what can't be
// found out is left out.
func (c *cell) further(ctx context.Context, task taken, r api.Report) (more []api.Findings) {
	b := r.Best
	if b == nil || b.Baseline || b.Seconds > quickSeconds || r.Task.State != api.TaskSettled || b.Test == nil || b.Version != r.Task.Version {
		return nil
	}
	kinds := []string{api.StudyGrowth}
	if len(r.Task.Labels) == 0 {
		kinds = []string{api.StudyExplain, api.StudyGrowth}
	}
	for _, kind := range kinds {
		found, err := call(ctx, &c.session, func(client *api.Client) (api.Findings, error) {
			return client.Study(ctx, task.user, task.name, api.NewStudy{Kind: kind}, func(api.StudyProgress) {})
		})
		if err == nil {
			more = append(more, found)
		}
	}
	return more
}
