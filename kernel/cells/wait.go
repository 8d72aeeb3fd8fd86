package cells

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// wait blocks until the first condition holds.
func (c *cell) wait(ctx context.Context, s *lang.Wait) error {
	task, view, seq, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	until := s.Until
	if len(until) == 0 {
		until = []lang.Condition{{Kind: lang.ConditionFinal}}
	}
	limit, hasLimit := shortest(until)
	if view.State == api.TaskDeclared && view.Feed == nil && !hasLimit {
		return fail(noValue, fmt.Sprintf("%s has no examples yet, so there is nothing to wait for.", task.shown), fmt.Sprintf("feed %s \"FILE\"", task.shown))
	}
	began := time.Now()
	d := c.display()
	news := newWaitNews()
	leave := c.follow.add(task.topic(), seq, news.heard)
	defer leave()
	var over <-chan time.Time
	if hasLimit {
		timer := time.NewTimer(limit.Duration)
		defer timer.Stop()
		over = timer.C
	}
	words := conditionsText(until)
	for {
		if held, ok := firstHeld(until, view); ok {
			return c.waited(ctx, task, d, conditionText(held), "", began)
		}
		if view.State == api.TaskSettled && !hasLimit {
			return c.waited(ctx, task, d, "", "", began)
		}
		if view.State == api.TaskDropped {
			d.fault("The task was dropped.")
			return fail(noSuchTask, fmt.Sprintf("%s was dropped meanwhile.", task.shown), "")
		}
		d.progress(func() show.Output { return show.Waiting(task.shown, words, view) })
		select {
		case <-ctx.Done():
			c.watches.flush(ctx, true)
			if d.shown { // the error says what has ended; this is how far it was
				d.set(show.Standing(task.shown, view))
			}
			if errors.Is(context.Cause(ctx), jupyter.ErrInterrupted) {
				return fail(interrupted, show.Interrupted(task.shown), "")
			}
			return ctx.Err()
		case <-over:
			return c.waited(ctx, task, d, "", conditionText(limit), began)
		case <-news.bell:
			// At most five looks a second, whatever happens.
			if !sleep(ctx, redraw/2-redraw/20) {
				continue
			}
		case <-time.After(untilShown(d)):
			d.last = time.Time{} // the same again: a kernel that is silent for long looks idle
			continue
		}
		fresh, _, err := c.session.look(ctx, task)
		switch {
		case err == nil:
			view = fresh
		case ctx.Err() != nil:
		case away(err):
			d.set(show.Join(show.Waiting(task.shown, words, view), show.Lost(news.lostSince())))
			sleep(ctx, 2*time.Second)
			news.bell.ring()
		default:
			d.fault("The wait has ended.")
			return err
		}
	}
}

// untilShown is the time until a wait shows itself: for the first time soon, then
// seldom where nothing happens.
func untilShown(d *display) time.Duration {
	if !d.shown {
		return patience
	}
	return hold
}

// waited is the end of a wait: the last state of everything that is watched, then
// what held.
func (c *cell) waited(ctx context.Context, task taken, d *display, held, out string, began time.Time) error {
	after := time.Since(began).Seconds()
	view, _, err := c.session.look(ctx, task)
	if err != nil {
		return err
	}
	c.watches.flush(ctx, true)
	d.set(show.Waited(task.shown, held, out, after, view))
	return nil
}

// shortest is the condition that ends the wait by time alone.
func shortest(list []lang.Condition) (limit lang.Condition, ok bool) {
	for _, c := range list {
		if c.Kind == lang.ConditionTime && (!ok || c.Duration < limit.Duration) {
			limit, ok = c, true
		}
	}
	return limit, ok
}

// firstHeld is the first condition that holds; those of time are not looked at.
func firstHeld(list []lang.Condition, v api.View) (lang.Condition, bool) {
	for _, c := range list {
		switch c.Kind {
		case lang.ConditionFinal:
			if v.State == api.TaskSettled {
				return c, true
			}
		case lang.ConditionCompare:
			if x, ok := attributeOf(v, c.Attribute).(float64); ok && compares(x, c.Compare, c.Number.Float()) {
				return c, true
			}
		}
	}
	return lang.Condition{}, false
}

func conditionsText(list []lang.Condition) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = conditionText(c)
	}
	return strings.Join(parts, " or ")
}

// conditionText is a condition as it is typed.
func conditionText(c lang.Condition) string {
	switch c.Kind {
	case lang.ConditionFinal:
		return "final"
	case lang.ConditionTime:
		s := lang.Format(&lang.Wait{Until: []lang.Condition{c}})
		return strings.TrimPrefix(s, "wait until ")
	}
	return fmt.Sprintf("%s %s %s", c.Attribute, c.Compare, c.Number.Text)
}

// waitNews tells a wait to look.
type waitNews struct {
	bell bell

	mu     sync.Mutex
	lostAt time.Time
}

func newWaitNews() *waitNews { return &waitNews{bell: newBell()} }

func (n *waitNews) heard(f api.Frame) {
	n.mu.Lock()
	switch f.Type {
	case api.FrameLost:
		n.lostAt = f.Time
	case api.FrameBack:
		n.lostAt = time.Time{}
	}
	n.mu.Unlock()
	n.bell.ring()
}

// lostSince is since when the server has been away.
func (n *waitNews) lostSince() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lostAt.IsZero() {
		n.lostAt = time.Now()
	}
	return n.lostAt
}

// outage is how long a statement that only looks waits for a lost server to
// come back: a restart takes seconds.
const outage = time.Minute

// view is session.view for a person who waits: a server that was there and has
// been lost is tried again, and that is said once.
func (c *cell) view(ctx context.Context, t *lang.Task) (taken, api.View, int64, error) {
	var said *display
	for began := time.Now(); ; {
		task, view, seq, err := c.session.view(ctx, t)
		lost := api.IsLost(err)
		switch {
		case said != nil && err == nil:
			said.set(show.Back(time.Now(), view, view))
		case said == nil && lost && time.Since(began) > patience:
			said = c.display()
			said.set(show.Lost(began))
		}
		if !lost || time.Since(began) > outage || !sleep(ctx, redraw) {
			return task, view, seq, err
		}
	}
}
