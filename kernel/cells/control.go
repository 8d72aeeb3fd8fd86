package cells

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// stop ends a search for now, or one of its trials.
func (c *cell) stop(ctx context.Context, s *lang.Stop) error {
	if s.Trial == 0 {
		return c.setStopped(ctx, s.Task, true)
	}
	task, _, _, err := c.session.view(ctx, &s.Task)
	if err != nil {
		return err
	}
	_, err = call(ctx, &c.session, func(client *api.Client) (struct{}, error) {
		return struct{}{}, client.StopTrial(ctx, task.user, task.name, s.Trial)
	})
	if err != nil {
		return err
	}
	c.show(show.StoppedTrial(task.shown, s.Trial))
	return nil
}

// resume lets a stopped search go on.
func (c *cell) resume(ctx context.Context, s *lang.Resume) error {
	return c.setStopped(ctx, s.Task, false)
}

// setStopped stops or resumes; where it is so already nothing is changed, and said
// so.
func (c *cell) setStopped(ctx context.Context, t lang.Task, stopped bool) error {
	task, view, _, err := c.session.view(ctx, &t)
	if err != nil {
		return err
	}
	already := view.Stopped == stopped
	if !already {
		view, err = call(ctx, &c.session, func(client *api.Client) (api.View, error) {
			return client.Patch(ctx, task.user, task.name, api.PatchTask{Stopped: &stopped})
		})
		if err != nil {
			return err
		}
	}
	if stopped {
		c.show(show.Stopped(task.shown, view, already))
	} else {
		c.show(show.Resumed(task.shown, view, already))
	}
	return nil
}

// drop deletes a task, after a question unless the statement answers it.
func (c *cell) drop(ctx context.Context, s *lang.Drop) error {
	task, view, _, err := c.session.view(ctx, &s.Task)
	if err != nil {
		return err
	}
	if !s.Yes {
		sure, err := c.sure(ctx, show.DropQuestion(task.shown, view.Task), "drop asks first, and nothing can be asked here. Nothing was dropped.",
			fmt.Sprintf("To answer at once: drop %s yes", task.shown))
		if err != nil {
			return err
		}
		if !sure {
			c.show(show.NotDropped(task.shown))
			return nil
		}
	}
	_, err = call(ctx, &c.session, func(client *api.Client) (struct{}, error) {
		return struct{}{}, client.Drop(ctx, task.user, task.name)
	})
	if err != nil {
		return c.session.missing(ctx, task, err)
	}
	c.session.forget(task)
	c.names.dropped(task)
	c.show(show.Dropped(task.shown, view.Task))
	return nil
}

// sure asks a person. Where nobody can be asked it is an error with what to type
// instead.
func (c *cell) sure(ctx context.Context, question, cannot, instead string) (bool, error) {
	answer, err := c.request.Prompt.Input(ctx, question, false)
	switch {
	case errors.Is(err, jupyter.ErrNoStdin):
		return false, fail(refused, cannot, instead)
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "yes" || answer == "y", nil
}
