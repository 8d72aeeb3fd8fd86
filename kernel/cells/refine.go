package cells

import (
	"context"
	"fmt"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// listed is how many examples a list of them asks for.
const listed = 20

// few is how many are shown where none was asked for.
const few = 6

// refine lists examples, switches them on and off, or corrects their labels.
func (c *cell) refine(ctx context.Context, s *lang.Refine) error {
	task, before, _, err := c.session.view(ctx, s.Task)
	if err != nil {
		return err
	}
	if s.Content {
		return c.contents(ctx, s, task, before)
	}
	if s.Suspects {
		return c.suspects(ctx, s, task, before)
	}
	if s.Action == lang.RefineShow {
		return c.examples(ctx, s, task, before)
	}
	patch, asked := s.IDs, 0
	texts := make([]string, len(patch))
	for i, r := range patch {
		texts[i] = r.String()
		asked += r.To - r.From + 1
	}
	if s.All {
		texts, asked = []string{"all"}, before.Off
		if s.Action == lang.RefineOff {
			asked = before.Examples
		}
		if asked == 0 {
			asked = before.Examples + before.Off
		}
	}
	if s.All && s.Action == lang.RefineOff && !s.Yes && before.Examples > 0 {
		sure, err := c.sure(ctx, show.RefineQuestion(task.shown, before.Task), "refine off all asks first, and nothing can be asked here. Nothing was changed.",
			fmt.Sprintf("To answer at once: refine %s off all yes", task.shown))
		if err != nil {
			return err
		}
		if !sure {
			c.show(show.NotRefined(task.shown))
			return nil
		}
	}
	if s.Gone {
		texts = []string{"gone"}
	}
	body := api.PatchExamples{Off: texts}
	r := show.Refinement{Name: task.shown, Before: before, Asked: asked, Gone: s.Gone}
	switch s.Action {
	case lang.RefineOn:
		body, r.On = api.PatchExamples{On: texts}, true
	case lang.RefineLabel:
		body, r.Label = api.PatchExamples{Labels: []api.Correction{{Examples: texts, Label: s.Label}}}, s.Label
	}
	return c.change(ctx, task, body, r)
}

// change changes examples and says what came of it.
func (c *cell) change(ctx context.Context, task taken, body api.PatchExamples, r show.Refinement) error {
	version, err := call(ctx, &c.session, func(client *api.Client) (api.Version, error) {
		return client.Refine(ctx, task.user, task.name, body)
	})
	if err != nil {
		return c.session.missing(ctx, task, err)
	}
	if r.After, _, err = c.session.look(ctx, task); err != nil {
		return err
	}
	if version.Number > r.Before.Version {
		r.Changes = version.Changes
	}
	c.show(show.Refined(r))
	return nil
}

// examples lists examples: those of the numbers, else those that are off, else
// the first ones.
func (c *cell) examples(ctx context.Context, s *lang.Refine, task taken, view api.View) error {
	queries, asked := []api.ExamplesQuery{{State: "off", Limit: listed}}, 0
	if view.Off == 0 {
		queries[0] = api.ExamplesQuery{Limit: few}
	}
	if len(s.IDs) > 0 {
		queries = nil
		for _, r := range s.IDs {
			asked += r.To - r.From + 1
			queries = append(queries, api.ExamplesQuery{After: max(0, r.From-1), Limit: min(listed, r.To-r.From+1)})
		}
	}
	var list []api.Example
	for i, q := range queries {
		if len(list) > listed {
			break
		}
		page, err := call(ctx, &c.session, func(client *api.Client) ([]api.Example, error) {
			return client.Examples(ctx, task.user, task.name, q)
		})
		if err != nil {
			return c.session.missing(ctx, task, err)
		}
		for _, e := range page {
			if len(s.IDs) == 0 || e.Number <= s.IDs[i].To {
				list = append(list, e)
			}
		}
	}
	var history []api.Version
	if len(s.IDs) == 0 {
		var err error
		if history, err = call(ctx, &c.session, func(client *api.Client) ([]api.Version, error) {
			return client.Versions(ctx, task.user, task.name)
		}); err != nil {
			return err
		}
	}
	c.show(show.Examples(task.shown, view, asked, list, history))
	return nil
}
