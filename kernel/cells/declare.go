package cells

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
	"github.com/easeml/easeml/schema"
)

// declare declares a task, or finds that it is there already.
func (c *cell) declare(ctx context.Context, name lang.Task, program schema.Program, options []lang.Option) error {
	task, err := c.session.resolve(ctx, &name)
	if err != nil {
		return err
	}
	body := api.Declare{Program: schema.Format(program)}
	for key, values := range collected(options) {
		if body.Options == nil {
			body.Options = map[string]any{}
		}
		body.Options[key] = values[len(values)-1]
	}
	declared, err := call(ctx, &c.session, func(client *api.Client) (api.Declared, error) {
		return client.Declare(ctx, task.user, task.name, body)
	})
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusConflict {
		hint := p.Hint
		if hint == "" {
			hint = fmt.Sprintf("Keep both: schema %s2 { … }      Start over (asks first): drop %s", task.name, task.shown)
		}
		return fail(conflict, p.Detail, hint)
	}
	if err != nil {
		return err
	}
	c.session.use(task)
	c.names.saw(declared.View)
	c.show(show.Declared(task.shown, declared))
	return nil
}
