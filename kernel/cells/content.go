package cells

import (
	"context"
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// contents shows what is in examples: those of the numbers, or all of them from
// the first one on.
func (c *cell) contents(ctx context.Context, s *lang.Refine, task taken, view api.View) error {
	wanted := s.IDs
	if s.All {
		wanted = []lang.Range{{From: 1, To: view.Examples + view.Off}}
	}
	if s.Suspects {
		found, d, err := c.study(ctx, task, api.NewStudy{Kind: api.StudySuspects}, lookingForSuspects)
		if err != nil {
			return err
		}
		d.set(show.Suspects(task.shown, view, found))
		if len(found.Suspects) == 0 {
			return nil
		}
		for _, e := range found.Suspects {
			wanted = append(wanted, lang.Range{From: e.Number, To: e.Number})
		}
	}
	asked := 0
	var list []api.Example
	var rest []string // ranges that are left for the next statement
	for _, r := range wanted {
		asked += r.To - r.From + 1
		if len(list) < show.ShownContents {
			q := api.ExamplesQuery{After: max(0, r.From-1), Limit: min(show.ShownContents-len(list), r.To-r.From+1), Content: true}
			page, err := call(ctx, &c.session, func(client *api.Client) ([]api.Example, error) {
				return client.Examples(ctx, task.user, task.name, q)
			})
			if err != nil {
				return c.session.missing(ctx, task, err)
			}
			for _, e := range page {
				if e.Number <= r.To {
					list = append(list, e)
					r.From = e.Number + 1
				}
			}
			if len(list) < show.ShownContents {
				continue // what is missing of this range isn't there
			}
		}
		if r.From <= min(r.To, view.Examples+view.Off) {
			rest = append(rest, r.String())
		}
	}
	more := ""
	if len(rest) > 0 {
		more = fmt.Sprintf("refine %s show %s", task.shown, strings.Join(rest, ", "))
	}
	c.show(show.Contents(task.shown, view, asked, list, more))
	return nil
}
