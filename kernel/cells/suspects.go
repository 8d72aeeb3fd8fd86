package cells

import (
	"context"
	"fmt"
	"strconv"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// lookingForSuspects is what is shown while suspects are looked for.
const lookingForSuspects = "Looking for labels that look wrong"

// suspects lists the examples whose label looks wrong, or switches them off or
// on again.
func (c *cell) suspects(ctx context.Context, s *lang.Refine, task taken, before api.View) error {
	if s.Action == lang.RefineShow {
		found, d, err := c.study(ctx, task, api.NewStudy{Kind: api.StudySuspects}, lookingForSuspects)
		if err != nil {
			return err
		}
		d.set(show.Suspects(task.shown, before, found))
		return nil
	}
	// Suspects are of a version: once they are off others may look odd. Saying it
	// again, as Run All does, must not go on and on.
	done, err := c.suspectsOff(ctx, task)
	if err != nil {
		return err
	}
	if s.Action == lang.RefineOn {
		if done == nil {
			return fail(conflict, fmt.Sprintf("No suspects of %s were switched off since it was last fed.", task.shown), "")
		}
		return c.change(ctx, task, api.PatchExamples{On: numerals(done.Changes.Off)},
			show.Refinement{Name: task.shown, Before: before, On: true, Asked: len(done.Changes.Off)})
	}
	if done != nil {
		c.show(show.SuspectsAreOff(task.shown, *done))
		return nil
	}
	found, d, err := c.study(ctx, task, api.NewStudy{Kind: api.StudySuspects}, lookingForSuspects)
	if err != nil {
		return err
	}
	if len(found.Suspects) == 0 {
		d.set(show.Suspects(task.shown, before, found))
		return nil
	}
	var numbers []int
	for _, e := range found.Suspects {
		numbers = append(numbers, e.Number)
	}
	d.fault(fmt.Sprintf("%d suspects.", len(numbers)))
	return c.change(ctx, task, api.PatchExamples{Off: numerals(numbers), Suspects: true},
		show.Refinement{Name: task.shown, Before: before, Asked: len(numbers)})
}

// suspectsOff is the version that switched the suspects off since the last feed;
// nil where none did.
func (c *cell) suspectsOff(ctx context.Context, task taken) (*api.Version, error) {
	versions, err := call(ctx, &c.session, func(client *api.Client) ([]api.Version, error) {
		return client.Versions(ctx, task.user, task.name)
	})
	if err != nil {
		return nil, err
	}
	for i := len(versions) - 1; i >= 0 && versions[i].Cause != "feed"; i-- {
		if v := versions[i]; v.Changes != nil && v.Changes.Suspects {
			return &v, nil
		}
	}
	return nil, nil
}

func numerals(numbers []int) []string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return texts
}

// study asks a question that takes some fits, and shows meanwhile how far it is;
// the display is for what was found.
func (c *cell) study(ctx context.Context, task taken, body api.NewStudy, words string) (api.Findings, *display, error) {
	d := c.display()
	found, err := call(ctx, &c.session, func(client *api.Client) (api.Findings, error) {
		return client.Study(ctx, task.user, task.name, body, func(p api.StudyProgress) {
			d.progress(func() show.Output { return show.Studying(words, p) })
		})
	})
	if err != nil {
		d.fault("Nothing was found out.")
		return found, d, c.session.missing(ctx, task, err)
	}
	return found, d, nil
}
