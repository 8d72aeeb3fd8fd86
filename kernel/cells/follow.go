package cells

import (
	"context"
	"sync"

	"github.com/easeml/easeml/api"
)

// follower reads the events of all tasks that somebody here is interested in from
// one stream, which is open only as long as there is such interest: a private
// server ends when nobody listens and nothing runs.
type follower struct {
	cells *Cells

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	client *api.Client
	stream *api.Stream
	topics map[string]map[*interest]bool
	work   sync.WaitGroup
}

// interest is one who follows a topic. heard must not block.
type interest struct {
	topic string
	heard func(api.Frame)
}

func (f *follower) init(c *Cells) {
	f.cells = c
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.topics = map[string]map[*interest]bool{}
}

// add follows a topic from the event after since. heard is called for its events
// and for news of the stream itself (lost, back, reset), one call at a time, until
// the returned function has been called.
func (f *follower) add(topic string, since int64, heard func(api.Frame)) (leave func()) {
	i := &interest{topic: topic, heard: heard}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.topics[topic] == nil {
		f.topics[topic] = map[*interest]bool{}
	}
	f.topics[topic][i] = true
	switch {
	case f.client == nil || f.ctx.Err() != nil:
	case f.stream == nil:
		f.open(&since)
	case len(f.topics[topic]) == 1:
		f.stream.Add(&since, topic)
	}
	return func() { f.leave(i) }
}

// leave ends an interest, and the stream with the last one.
func (f *follower) leave(i *interest) {
	f.mu.Lock()
	delete(f.topics[i.topic], i)
	var idle *api.Stream
	if len(f.topics[i.topic]) == 0 {
		delete(f.topics, i.topic)
		if f.stream != nil {
			f.stream.Drop(i.topic)
		}
	}
	if len(f.topics) == 0 {
		idle, f.stream = f.stream, nil
	}
	f.mu.Unlock()
	if idle != nil {
		// Not Close here: it waits for a frame that may be handed to the caller of leave.
		f.work.Go(idle.Close)
	}
}

// open starts a stream for all topics; mu is held.
func (f *follower) open(since *int64) {
	topics := make([]string, 0, len(f.topics))
	for t := range f.topics {
		topics = append(topics, t)
	}
	s := f.client.Open(f.ctx, since, topics...)
	f.stream = s
	f.work.Go(func() {
		for frame := range s.Frames() {
			f.hand(s, frame)
		}
		if err := s.Err(); err != nil {
			f.cells.log.Warn("the event stream has ended", "error", err)
			f.mu.Lock()
			if f.stream == s {
				f.stream = nil
			}
			f.mu.Unlock()
		}
	})
}

// hand gives a frame to those it concerns.
func (f *follower) hand(from *api.Stream, frame api.Frame) {
	f.mu.Lock()
	if f.stream != from {
		f.mu.Unlock()
		return
	}
	var all []*interest
	for topic, set := range f.topics {
		if frame.Topic != "" && frame.Topic != topic {
			continue
		}
		for i := range set {
			all = append(all, i)
		}
	}
	f.mu.Unlock()
	for _, i := range all {
		i.heard(frame)
	}
}

// use goes over to another client: all topics are followed there from now on, and
// all who follow look anew.
func (f *follower) use(client *api.Client) {
	f.mu.Lock()
	if f.client == client || f.ctx.Err() != nil {
		f.mu.Unlock()
		return
	}
	old := f.stream
	f.client, f.stream = client, nil
	if len(f.topics) > 0 {
		f.open(nil)
	}
	fresh := f.stream
	f.mu.Unlock()
	if old != nil {
		f.work.Go(old.Close)
	}
	if fresh != nil {
		f.hand(fresh, api.Frame{Type: api.FrameReset})
	}
}

func (f *follower) close() {
	f.mu.Lock()
	f.cancel()
	s := f.stream
	f.stream = nil
	f.mu.Unlock()
	if s != nil {
		s.Close()
	}
	f.work.Wait()
}

// bell is a signal that is either rung or not.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
