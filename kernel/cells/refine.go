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

// refine lists examples, or switches them on and off.
func (c *cell) refine(ctx context.Context, s *lang.Refine) error {
	switch {
	case s.Action == lang.RefineLabel:
		return notServed("Correcting labels is not served yet.", "Examples with a wrong label can be switched off: refine off NUMBERS")
	case s.Suspects:
		return notServed("Looking for suspects is not served yet.", "refine NUMBERS shows examples, refine off NUMBERS switches them off.")
	}
	task, before, _, err := c.session.view(ctx, s.Task)
	if err != nil {
		return err
	}
	if s.Content {
		return c.contents(ctx, s, task, before)
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
	body := api.PatchExamples{Off: texts}
	if s.Action == lang.RefineOn {
		body = api.PatchExamples{On: texts}
	}
	if _, err := call(ctx, &c.session, func(client *api.Client) (api.Version, error) {
		return client.Refine(ctx, task.user, task.name, body)
	}); err != nil {
		return c.session.missing(ctx, task, err)
	}
	after, _, err := c.session.look(ctx, task)
	if err != nil {
		return err
	}
	c.show(show.Refined(show.Refinement{Name: task.shown, Before: before, After: after, On: s.Action == lang.RefineOn, Asked: asked}))
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
	c.show(show.Examples(task.shown, view, asked, list))
	return nil
}
