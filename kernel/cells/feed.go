package cells

import (
	"context"
	"encoding/json"
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

// feed sends examples and waits until they are read.
func (c *cell) feed(ctx context.Context, s *lang.Feed) error {
	if s.AsIs {
		return c.asIs(ctx, s)
	}
	if s.Hidden {
		return notServed("`feed … as hidden` is not served yet.", "")
	}
	list, err := c.sources(ctx, s.Sources)
	if err != nil {
		return err
	}
	task, _, seq, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	d := c.display()
	ids, err := c.send(ctx, list, d)
	if err != nil {
		if errors.Is(context.Cause(ctx), jupyter.ErrInterrupted) {
			d.fault("The upload was interrupted.")
			return fail(interrupted, "The upload was interrupted; what has arrived is kept.", "Run the cell again to go on.")
		}
		d.fault("Nothing was fed.")
		return err
	}
	progress := newFeedProgress()
	leave := c.follow.add(task.topic(), seq, progress.heard)
	defer leave()
	body := api.NewFeed{Uploads: ids, Output: s.Output, Using: using(s.Using), Options: collected(s.Options)}
	feed, err := call(ctx, &c.session, func(client *api.Client) (api.Feed, error) {
		return client.Feed(ctx, task.user, task.name, body)
	})
	if err != nil {
		d.fault("Nothing was fed.")
		return err
	}
	if feed.State == "running" {
		if feed, err = c.reading(ctx, task, feed, sourceNames(list), progress, d); err != nil {
			return err
		}
	}
	if feed.State == "failed" {
		d.fault("Nothing was fed.")
		return failedFeed(feed)
	}
	view, _, err := c.session.look(ctx, task)
	if err != nil {
		return err
	}
	if feed.Sources == nil {
		feed.Sources = namesOf(list)
	}
	for _, one := range list {
		if !feed.Earlier {
			feed.ReadAs = append(feed.ReadAs, one.notes...)
		}
	}
	d.set(show.Fed(task.shown, feed, view))
	return nil
}

// asIs says that what was fed is fine, whatever was warned of.
func (c *cell) asIs(ctx context.Context, s *lang.Feed) error {
	task, before, _, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	after := before
	if len(before.Doubts) > 0 {
		if after, err = call(ctx, &c.session, func(client *api.Client) (api.View, error) {
			return client.Patch(ctx, task.user, task.name, api.PatchTask{AsIs: true})
		}); err != nil {
			return err
		}
	}
	c.show(show.AsIs(task.shown, before.Doubts, after))
	return nil
}

// reading waits until the server has read a feed.
func (c *cell) reading(ctx context.Context, task taken, feed api.Feed, what string, p *feedProgress, d *display) (api.Feed, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			d.fault("The feed goes on being read at the server.")
			return feed, fail(interrupted, fmt.Sprintf("Interrupted; the feed goes on being read at the server: watch %s", task.shown), "")
		case <-p.bell:
		case <-timer.C:
			d.progress(func() show.Output { return show.Reading(what, api.FeedProgress{Feed: feed.Number}) })
		}
		latest, ended, lostAt := p.take()
		switch {
		case !lostAt.IsZero():
			d.set(show.Lost(lostAt))
		case latest != nil && latest.Feed == feed.Number:
			d.progress(func() show.Output { return show.Reading(what, *latest) })
		}
		if !ended {
			timer.Reset(hold)
			continue
		}
		now, err := call(ctx, &c.session, func(client *api.Client) (api.Feed, error) {
			return client.GetFeed(ctx, task.user, task.name, feed.Number)
		})
		switch {
		case err == nil && now.State != "running":
			return now, nil
		case err != nil && !away(err) && ctx.Err() == nil:
			return feed, err
		case err != nil:
			sleep(ctx, time.Second)
			p.again()
		}
		timer.Reset(hold)
	}
}

// failedFeed is why nothing of a feed was taken.
func failedFeed(feed api.Feed) error {
	if feed.Error == nil {
		return fail(dataError, "The feed could not be read.", "Nothing was fed.")
	}
	hint := strings.TrimSpace(feed.Error.Hint)
	detail := feed.Error.Detail
	if !strings.Contains(detail+hint, "Nothing was") {
		detail += " Nothing was fed."
	}
	return fail(dataError, detail, hint)
}

// sourceNames names what is read.
func sourceNames(list []source) string {
	if len(list) > 3 {
		return fmt.Sprintf("%d files", len(list))
	}
	return strings.Join(namesOf(list), ", ")
}

// namesOf are the names as messages call them.
func namesOf(list []source) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.name
	}
	return out
}

// feedProgress keeps the newest news of a feed.
type feedProgress struct {
	bell bell

	mu     sync.Mutex
	latest *api.FeedProgress
	ended  bool // something happened that is worth a look at the feed
	lostAt time.Time
}

func newFeedProgress() *feedProgress { return &feedProgress{bell: newBell()} }

// heard takes a frame of the task.
func (p *feedProgress) heard(f api.Frame) {
	p.mu.Lock()
	switch f.Type {
	case api.TransientFeedProgress:
		var latest api.FeedProgress
		if json.Unmarshal(f.Data, &latest) == nil {
			p.latest = &latest
		}
	case api.EventFeedEnded, api.FrameReset, api.FrameGone:
		p.ended = true
	case api.FrameLost:
		p.lostAt = f.Time
		p.ended = true // the request that follows finds the server again, or starts it
	case api.FrameBack:
		p.lostAt, p.ended = time.Time{}, true
	}
	p.mu.Unlock()
	p.bell.ring()
}

// take gives what is new and forgets that the feed may have ended.
func (p *feedProgress) take() (latest *api.FeedProgress, ended bool, lostAt time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest, ended, lostAt = p.latest, p.ended, p.lostAt
	p.latest, p.ended = nil, false
	return latest, ended, lostAt
}

// again asks for another look.
func (p *feedProgress) again() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.bell.ring()
}

// away tells whether an error says that the server can't be reached now.
func away(err error) bool {
	if api.IsLost(err) {
		return true
	}
	p, ok := errors.AsType[*problem](err)
	return ok && p.name == serverAway
}

// sleep waits, and tells whether the time is over rather than ctx.
func sleep(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
