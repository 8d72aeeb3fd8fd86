package http

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/store"
)

// follower is one connection's place in the log.
type follower struct {
	server *server
	user   store.User
	token  string
	conn   *websocket.Conn
	code   int // to close with, where the end isn't the client's

	names  map[string]string // the store's topic → the client's
	cursor int64             // all events up to here have been sent, or are of other topics
	last   int64             // seq of the durable frame sent last: the next one's prev
	told   int64             // the cursor that the client knows of
	mark   uint64            // of the transients
	seen   map[string]int    // trial id → the number that a followed task has for it, by topic and id
}

// run serves the connection until its end.
func (f *follower) run(ctx context.Context, messages <-chan incoming) error {
	first := time.NewTimer(f.server.deadAfter)
	defer first.Stop()
	select {
	case m := <-messages:
		if err := f.subscribe(ctx, m); err != nil {
			return err
		}
	case <-first.C:
		return f.close(websocket.ClosePolicyViolation, "no subscription came")
	case <-ctx.Done():
		return ctx.Err()
	}
	ping := time.NewTicker(f.server.pingEvery)
	defer ping.Stop()
	hub := f.server.Search.Transients()
	var settle <-chan time.Time // until it fires, transients wait: several changes become one frame
	for {
		// Taken before reading, so that nothing which comes in between is missed.
		logged, moved := f.server.Store.Changed(), hub.Changed()
		if err := f.catchUp(ctx); err != nil {
			return err
		}
		if settle == nil {
			sent, err := f.sendTransients(ctx)
			if err != nil {
				return err
			}
			if sent {
				settle = time.After(f.server.settle)
			}
		}
		if settle != nil {
			moved = nil
		}
		var err error
		select {
		case <-logged:
		case <-moved:
		case <-settle:
			settle = nil
		case m := <-messages:
			err = f.change(ctx, m)
		case <-ping.C:
			err = f.ping(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

func (f *follower) close(code int, reason string) error {
	f.code = code
	return errors.New(reason)
}

// subscribe takes the first message: where to go on, and which topics.
func (f *follower) subscribe(ctx context.Context, m incoming) error {
	f.names, f.seen = map[string]string{}, map[string]int{}
	gone, err := f.follow(ctx, slices.Concat(m.Topics, m.Add))
	if err != nil {
		return err
	}
	var last, oldest int64
	err = f.server.Store.Read(ctx, func(r *store.Reader) (err error) {
		last = r.Seq()
		oldest, err = r.OldestEvent()
		return err
	})
	if err != nil {
		return err
	}
	f.cursor, f.last = last, last
	if m.Since != nil {
		// A seq that is still to come was given by a state that this one was restored over.
		if *m.Since < oldest-1 || *m.Since > last {
			if err := f.reset(last); err != nil {
				return err
			}
		} else {
			f.cursor, f.last = *m.Since, *m.Since
		}
	}
	if err := f.sayGone(gone); err != nil {
		return err
	}
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	f.told = -1 // said in any case: it ends the first part
	return f.tellCursor()
}

// change takes a later message.
func (f *follower) change(ctx context.Context, m incoming) error {
	for _, topic := range m.Drop {
		maps.DeleteFunc(f.names, func(_, name string) bool { return name == topic })
	}
	// What is followed already stays where it is.
	added := slices.DeleteFunc(slices.Concat(m.Add, m.Topics), func(topic string) bool {
		for _, name := range f.names {
			if name == topic {
				return true
			}
		}
		return false
	})
	if len(added) == 0 {
		return nil
	}
	before := maps.Clone(f.names)
	gone, err := f.follow(ctx, added)
	if err != nil {
		return err
	}
	if err := f.sayGone(gone); err != nil {
		return err
	}
	fresh := maps.Clone(f.names)
	maps.DeleteFunc(fresh, func(topic, _ string) bool { _, there := before[topic]; return there })
	f.mark = 0 // the present state of what was added; the latest of the rest once more does no harm
	lost := false
	if m.Since != nil && *m.Since < f.cursor {
		if lost, err = f.backfill(ctx, *m.Since, fresh); err != nil {
			return err
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(fresh)) {
		typ := api.FrameFollowing
		if lost {
			typ = api.FrameReset
		}
		if err := f.send(api.Frame{Type: typ, Topic: fresh[topic], Seq: f.cursor}, "about"); err != nil {
			return err
		}
	}
	return nil
}

// follow resolves the client's topics and follows them. It returns those that
// there are not, for this user: which of the two is not said.
func (f *follower) follow(ctx context.Context, topics []string) (gone []string, err error) {
	if len(f.names)+len(topics) > maxTopics {
		return nil, f.close(websocket.ClosePolicyViolation, "too many topics")
	}
	err = f.server.Store.Read(ctx, func(r *store.Reader) error {
		for _, topic := range topics {
			switch address, isTask := strings.CutPrefix(topic, "task:"); {
			case topic == api.TopicMe:
				f.names[store.TopicUser(f.user.ID)] = topic
			case topic == api.TopicPool:
				f.names[store.TopicPool] = topic
			case isTask:
				user, name, _ := strings.Cut(address, "/")
				task, err := find(r, f.user, OfTask{User: user, Name: name})
				if _, refused := errors.AsType[*problem](err); refused {
					gone = append(gone, topic)
				} else if err != nil {
					return err
				} else {
					f.names[store.TopicTask(task.ID)] = topic
				}
			default:
				gone = append(gone, topic)
			}
		}
		return nil
	})
	return gone, err
}

func (f *follower) sayGone(topics []string) error {
	for _, topic := range topics {
		if err := f.send(api.Frame{Type: api.FrameGone, Topic: topic}, "about"); err != nil {
			return err
		}
	}
	return nil
}

// reset tells the client to GET again: what it asks for is no longer kept.
func (f *follower) reset(seq int64) error {
	f.cursor, f.last, f.told = seq, seq, seq
	return f.send(api.Frame{Type: api.FrameReset, Seq: seq}, "about")
}

// tellCursor lets the client resume from here, though no event of its topics came.
func (f *follower) tellCursor() error {
	if f.told == f.cursor {
		return nil
	}
	f.told = f.cursor
	return f.send(api.Frame{Type: api.FrameFollowing, Seq: f.cursor}, "about")
}

// catchUp sends what the log has after the cursor.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		var events []store.Event
		var last, oldest int64
		err := f.server.Store.Read(ctx, func(r *store.Reader) (err error) {
			if last = r.Seq(); last == f.cursor {
				return nil
			}
			if oldest, err = r.OldestEvent(); err != nil {
				return err
			}
			events, err = r.Events(f.cursor, f.topics(), f.server.batch)
			return err
		})
		if err != nil {
			return err
		}
		if f.cursor < oldest-1 { // a client so slow that the log was cut behind it
			if err := f.reset(last); err != nil {
				return err
			}
			continue
		}
		if err := f.sendEvents(events); err != nil {
			return err
		}
		if len(events) < f.server.batch {
			f.cursor = last
			return nil
		}
		f.cursor = events[len(events)-1].Seq
	}
}

// backfill sends the events of added topics from since up to the cursor. lost
// tells that they are no longer kept.
func (f *follower) backfill(ctx context.Context, since int64, fresh map[string]string) (lost bool, err error) {
	topics := slices.Collect(maps.Keys(fresh))
	for since < f.cursor {
		var events []store.Event
		err := f.server.Store.Read(ctx, func(r *store.Reader) error {
			oldest, err := r.OldestEvent()
			if lost = since < oldest-1; err != nil || lost {
				return err
			}
			events, err = r.Events(since, topics, f.server.batch)
			return err
		})
		if err != nil || lost {
			return lost, err
		}
		full := len(events) == f.server.batch
		events = slices.DeleteFunc(events, func(e store.Event) bool { return e.Seq > f.cursor })
		if err := f.sendEvents(events); err != nil {
			return false, err
		}
		if !full || len(events) == 0 {
			return false, nil
		}
		since = events[len(events)-1].Seq
	}
	return false, nil
}

func (f *follower) topics() []string { return slices.Collect(maps.Keys(f.names)) }

// sendEvents sends durable frames, under the client's names for their topics.
// With its last event a task's topic ends.
func (f *follower) sendEvents(events []store.Event) error {
	for _, e := range events {
		name, followed := f.names[e.Topic]
		if !followed {
			continue // dropped a moment ago
		}
		frame := api.Frame{Seq: e.Seq, Prev: f.last, Time: e.Time, Type: e.Type, Topic: name, Data: e.Data}
		if err := f.send(frame, "durable"); err != nil {
			return err
		}
		f.last, f.told = e.Seq, e.Seq
		if e.Type == api.EventTaskDropped {
			delete(f.names, e.Topic)
			if err := f.sayGone([]string{name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendTransients sends the latest of each key that is newer than what was sent.
func (f *follower) sendTransients(ctx context.Context) (sent bool, err error) {
	list, mark := f.server.Search.Transients().Latest(f.topics(), f.mark)
	f.mark = mark
	for _, t := range list {
		name, followed := f.names[t.Topic]
		if !followed {
			continue
		}
		frame := api.Frame{Time: t.Time.UTC(), Type: t.Type, Topic: name, Key: t.Key, Data: t.Data}
		switch t.Type {
		case api.TransientTrialProgress:
			known, err := f.number(ctx, t.Topic, &frame)
			if err != nil {
				return sent, err
			}
			if !known {
				continue
			}
		case api.TransientQueue:
			frame.Key = "" // a task has one
		}
		if err := f.send(frame, "transient"); err != nil {
			return sent, err
		}
		sent = true
	}
	return sent, nil
}

// number puts the task's number for a trial where the search has its id.
func (f *follower) number(ctx context.Context, topic string, frame *api.Frame) (known bool, err error) {
	key := topic + " " + frame.Key
	n, known := f.seen[key]
	if !known {
		var numbers []store.TaskTrial
		err := f.server.Store.Read(ctx, func(r *store.Reader) (err error) {
			numbers, err = r.TaskTrialNumbers(frame.Key)
			return err
		})
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(numbers, func(x store.TaskTrial) bool { return store.TopicTask(x.TaskID) == topic })
		if i < 0 {
			return false, nil
		}
		n = numbers[i].Number
		f.seen[key] = n
	}
	text, err := json.Marshal(n)
	if err != nil {
		return false, err
	}
	data := map[string]json.RawMessage{}
	if err := json.Unmarshal(frame.Data, &data); err != nil {
		return false, nil // of another form: not ours to repair
	}
	data["trial"] = text
	frame.Key = string(text)
	frame.Data, err = json.Marshal(data)
	return err == nil, err
}

// ping shows the client that the server is there, and checks that the token
// still holds.
func (f *follower) ping(ctx context.Context) error {
	if _, err := f.server.Accounts.Authenticate(ctx, f.token); errors.Is(err, account.ErrToken) {
		return f.close(websocket.ClosePolicyViolation, "the token is revoked")
	}
	if err := f.tellCursor(); err != nil {
		return err
	}
	return f.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(f.server.deadAfter))
}
