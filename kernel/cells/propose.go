package cells

import (
	"context"
	"fmt"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// propose looks at a file or folder, shows a program for it with its reasons, and
// puts it into the next cell. It declares nothing.
func (c *cell) propose(ctx context.Context, s *lang.SchemaFrom) error {
	list, err := c.sources(ctx, []lang.Source{{Kind: lang.SourceFile, Text: s.From, Span: s.FromSpan}})
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fail(fileError, fmt.Sprintf("%s are %d files; a program is proposed for one file or folder.", s.From, len(list)), "").at(s.FromSpan)
	}
	d := c.display()
	ids, err := c.send(ctx, list, d)
	if err != nil {
		d.fault("Nothing was proposed.")
		return err
	}
	body := api.NewProposal{Uploads: ids, Output: s.Output}
	found, err := call(ctx, &c.session, func(client *api.Client) (api.Findings, error) {
		return client.Propose(ctx, body, func(p api.StudyProgress) {
			d.progress(func() show.Output { return show.Looking(list[0].name, p) })
		})
	})
	if err != nil {
		d.fault("Nothing was proposed.")
		return err
	}
	program := show.ProposedProgram(s.Name, found)
	if _, err := lang.Parse(program); err != nil {
		d.fault("Nothing was proposed.")
		return fail(dataError, fmt.Sprintf("No program could be written for %s: %v.", s.From, err), "Write it yourself: help schema").at(s.FromSpan)
	}
	d.set(show.Proposed(program, found))
	feed := lang.Format(&lang.Feed{Task: &lang.Task{Name: s.Name}, Sources: []lang.Source{{Kind: lang.SourceFile, Text: s.From}}, Output: s.Output})
	if len(found.Clauses) > 0 { // the others are said instead of it
		feed += " " + found.Clauses[0]
	}
	c.reply.Payload = append(c.reply.Payload, jupyter.SetNextInput(program+"\n# then: "+feed, false))
	return nil
}
