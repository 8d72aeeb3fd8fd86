package cells

import (
	"context"
	"fmt"

	"github.com/easeml/easeml/kernel/lang"
)

// later are the words of the statements that the language has and nothing here
// serves yet.
var later = []string{"budget", "share", "unshare", "class", "export", "client"}

// laterWords are words inside statements that are served, for what isn't yet.
var laterWords = []string{"drain", "reclaim", "return", "token"}

// statement runs one statement.
func (c *cell) statement(ctx context.Context, s lang.Statement) error {
	switch s := s.(type) {
	case *lang.Bare:
		return c.declare(ctx, lang.Task{Name: lang.BareName(s.Program, c.config.Notebook), Span: s.Span()}, s.Program, nil)
	case *lang.Schema:
		return c.declare(ctx, lang.Task{Name: s.Name, Span: s.NameSpan}, s.Program, s.Options)
	case *lang.Feed:
		return c.feed(ctx, s)
	case *lang.Infer:
		return c.infer(ctx, s)
	case *lang.Refine:
		return c.refine(ctx, s)
	case *lang.Watch:
		return c.watch(ctx, s)
	case *lang.Wait:
		return c.wait(ctx, s)
	case *lang.Best:
		return c.best(ctx, s)
	case *lang.Models:
		return c.models(ctx, s)
	case *lang.Why:
		return c.why(ctx, s)
	case *lang.Tasks:
		return c.tasks(ctx, s)
	case *lang.Stop:
		return c.stop(ctx, s)
	case *lang.Resume:
		return c.resume(ctx, s)
	case *lang.Pool:
		return c.pool(ctx, s)
	case *lang.Drop:
		return c.drop(ctx, s)
	case *lang.Print:
		return c.print(ctx, s)
	case *lang.Warn:
		c.request.Out.Stream("stderr", s.Text+"\n")
		return nil
	case *lang.Assert:
		return c.assert(ctx, s)
	case *lang.Value:
		return c.value(ctx, s)
	case *lang.Help:
		return c.help(s)
	case *lang.Clear:
		c.request.Out.Clear(false)
		return nil
	case *lang.Server:
		return c.server(ctx, s)
	case *lang.Explain:
		return c.explained(ctx, s)
	case *lang.SchemaFrom:
		return c.propose(ctx, s)
	}
	return notServed(fmt.Sprintf("`%s` is not served yet.", s.Word()), "help lists the statements.")
}
