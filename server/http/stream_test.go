package http

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// raw is a client of the stream without any comfort.
type raw struct {
	t *testing.T
	*websocket.Conn
}

func (w *world) raw(of *person, since *int64, topics ...string) raw {
	w.t.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(w.t.Context(), "ws"+strings.TrimPrefix(w.http.URL, "http")+"/api/v1/stream",
		http.Header{"Authorization": {"Bearer " + of.token}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if err := conn.WriteJSON(api.Subscribe{Since: since, Topics: topics}); err != nil {
		w.t.Fatal(err)
	}
	return raw{w.t, conn}
}

func (r raw) next() api.Frame {
	r.t.Helper()
	var f api.Frame
	r.SetReadDeadline(time.Now().Add(30 * time.Second))
	if err := r.ReadJSON(&f); err != nil {
		r.t.Fatal(err)
	}
	return f
}

// brief is a frame in a line.
func brief(f api.Frame) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d<%d %s %s", f.Type, f.Seq, f.Prev, f.Topic, f.Data))
}

func (r raw) expect(want ...string) {
	r.t.Helper()
	for _, one := range want {
		if got := brief(r.next()); got != one {
			r.t.Fatalf("got %q, not %q", got, one)
		}
	}
}

func TestTheStream(t *testing.T) {
	w := newWorld(t)
	digits, cells := w.declare("digits"), w.declare("cells") // events 1 and 2
	if n := w.event(digits, 1); n != 3 {
		t.Fatalf("event %d", n)
	}
	w.event(cells, 2) // 4
	all := w.raw(w.alice, new(int64(0)), "task:alice/digits", "task:alice/cells", "me", "pool")
	declared := func(name string, seq, prev int) string {
		return fmt.Sprintf("task.declared %d<%d task:alice/%s", seq, prev, name)
	}
	for i, name := range []string{"digits", "cells"} {
		if got := brief(all.next()); !strings.HasPrefix(got, declared(name, i+1, i)) {
			t.Errorf("got %s", got)
		}
	}
	all.expect(`notice 3<2 task:alice/digits {"n":1}`, `notice 4<3 task:alice/cells {"n":2}`, `following 4<0`)
	some := w.raw(w.alice, new(int64(2)), "task:alice/digits")
	some.expect(`notice 3<2 task:alice/digits {"n":1}`, `following 4<0`)
	now := w.raw(w.alice, nil, "task:alice/digits")
	now.expect(`following 4<0`)

	w.event(cells, 5)
	w.event(digits, 6)
	all.expect(`notice 5<4 task:alice/cells {"n":5}`, `notice 6<5 task:alice/digits {"n":6}`)
	some.expect(`notice 6<3 task:alice/digits {"n":6}`)
	now.expect(`notice 6<4 task:alice/digits {"n":6}`)

	// A topic is added from the event of a GET, another one from now on.
	some.WriteJSON(api.Change{Add: []string{"task:alice/cells"}, Since: new(int64(4))})
	some.expect(`notice 5<6 task:alice/cells {"n":5}`, `following 6<0 task:alice/cells`)
	now.WriteJSON(api.Change{Add: []string{"task:alice/cells"}, Drop: []string{"task:alice/digits"}})
	now.expect(`following 6<0 task:alice/cells`)
	w.event(digits, 7)
	w.event(cells, 8)
	some.expect(`notice 7<5 task:alice/digits {"n":7}`, `notice 8<7 task:alice/cells {"n":8}`)
	now.expect(`notice 8<6 task:alice/cells {"n":8}`)

	// Others' events, and a user's own.
	w.write(func(tx *store.Tx) error {
		for _, topic := range []string{store.TopicUser(w.bob.ID), store.TopicUser(w.alice.ID), store.TopicPool} {
			if _, err := tx.Event(topic, "notice", "x"); err != nil {
				return err
			}
		}
		return nil
	})
	all.expect(`notice 7<6 task:alice/digits {"n":7}`, `notice 8<7 task:alice/cells {"n":8}`, `notice 10<8 me "x"`, `notice 11<10 pool "x"`)

	// A dropped task's topic ends with its last event; the name may be used again.
	if err := w.alice.client.Drop(t.Context(), "alice", "cells"); err != nil {
		t.Fatal(err)
	}
	again := w.declare("cells")
	w.event(again, 14)
	w.event(digits, 15)
	for _, want := range []string{"task.dropped 12<11", "gone 0<0 task:alice/cells", `notice 15<12 task:alice/digits {"n":15}`} {
		if got := brief(all.next()); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, not %s", got, want)
		}
	}
	all.WriteJSON(api.Change{Add: []string{"task:alice/cells"}, Since: new(int64(0))})
	for _, want := range []string{"task.declared 13<15", "notice 14<13", "following 15<0"} { // of the new one only
		if got := brief(all.next()); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, not %s", got, want)
		}
	}
}

func TestNoForeignEvents(t *testing.T) {
	w := newWorld(t)
	task := w.declare("digits")
	w.event(task, 2)
	w.declare("gone")
	if err := w.alice.client.Drop(t.Context(), "alice", "gone"); err != nil {
		t.Fatal(err)
	}
	topics := []string{"task:alice/digits", "task:alice/gone", "task:" + task.ID, "task:" + task.UserID + "/digits", "task:alice/", "task:", "",
		"class:ml101", "*", "user:" + w.alice.ID, store.TopicUser(w.alice.ID), "task:bob/digits"}
	conn := w.raw(w.bob, new(int64(0)), topics...)
	for _, topic := range topics {
		if f := conn.next(); f.Type != api.FrameGone || f.Topic != topic {
			t.Errorf("%q: %s", topic, brief(f))
		}
	}
	conn.expect("following 4<0")
	conn.WriteJSON(api.Change{Add: topics[:1], Since: new(int64(0))})
	conn.expect("gone 0<0 task:alice/digits")
	w.event(task, 5)
	w.write(func(tx *store.Tx) error { _, err := tx.Event(store.TopicUser(w.bob.ID), "notice", "yours"); return err })
	conn.WriteJSON(api.Change{Add: []string{"me"}, Since: new(int64(0))})
	conn.expect(`notice 6<0 me "yours"`, "following 6<0 me")
}

func TestWhatIsNoLongerKept(t *testing.T) {
	w := newWorld(t, func(s *server) { s.batch = 3 })
	digits, cells := w.declare("digits"), w.declare("cells")
	for n := 3; n <= 12; n++ {
		w.event(digits, n)
	}
	w.write(func(tx *store.Tx) error { _, err := tx.TrimEvents(0, 4); return err })
	old := w.raw(w.alice, new(int64(5)), "task:alice/digits")
	old.expect("reset 12<0", "following 12<0")
	w.event(digits, 13)
	old.expect(`notice 13<12 task:alice/digits {"n":13}`)
	// The last one that still works, with more events than one read takes.
	last := w.raw(w.alice, new(int64(8)), "task:alice/digits")
	for n := 9; n <= 13; n++ {
		last.expect(fmt.Sprintf(`notice %d<%d task:alice/digits {"n":%d}`, n, n-1, n))
	}
	last.expect("following 13<0")
	// A topic added from too far back; the others go on.
	last.WriteJSON(api.Change{Add: []string{"task:alice/cells"}, Since: new(int64(2))})
	last.expect("reset 13<0 task:alice/cells")
	w.event(cells, 14)
	last.expect(`notice 14<13 task:alice/cells {"n":14}`)
	// A seq that the server has never given: its state was set back.
	w.raw(w.alice, new(int64(1000)), "task:alice/digits").expect("reset 14<0", "following 14<0")
}

// TestSlowReaders lets a client read nothing while much happens: it loses
// nothing, and holds up nobody.
func TestSlowReaders(t *testing.T) {
	w := newWorld(t)
	task := w.declare("digits")
	slow := w.raw(w.alice, new(int64(0)), "task:alice/digits")
	quick := w.raw(w.alice, new(int64(0)), "task:alice/digits")
	const events = 400
	padding := strings.Repeat("x", 20_000) // more than the sockets hold
	for n := range events {
		w.write(func(tx *store.Tx) error {
			_, err := tx.Event(store.TopicTask(task.ID), "notice", []any{n, padding})
			return err
		})
	}
	for _, conn := range []raw{quick, slow} {
		prev := int64(0)
		for prev < events+1 {
			f := conn.next()
			if f.Type == api.FrameFollowing {
				continue
			}
			if f.Seq != prev+1 || f.Prev != prev {
				t.Fatalf("%d after %d follows %d", f.Seq, f.Prev, prev)
			}
			prev = f.Seq
		}
	}
}

func TestTheStreamEnds(t *testing.T) {
	w := newWorld(t, func(s *server) { s.pingEvery, s.deadAfter = 5*time.Millisecond, 500*time.Millisecond })
	// A revoked token ends it, and the client's stream says so.
	token, err := w.accounts.NewToken(t.Context(), w.bob.User, "short")
	if err != nil {
		t.Fatal(err)
	}
	client := api.New(w.http.URL, token)
	defer client.Close()
	stream := client.Open(t.Context(), nil, "me")
	defer stream.Close()
	if err := w.accounts.Revoke(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	for f := range stream.Frames() {
		t.Errorf("a frame: %s", brief(f))
	}
	if err := stream.Err(); !api.IsStatus(err, http.StatusUnauthorized) {
		t.Errorf("it ended with %v", err)
	}
	// A client that answers no ping is dead after a while; one that answers is not.
	quiet := w.raw(w.alice, nil, "me")
	quiet.SetPingHandler(func(string) error { return nil })
	quiet.expect("following 0<0")
	if _, _, err := quiet.ReadMessage(); err == nil {
		t.Error("a dead client was served")
	}
	// What is no message of the stream.
	for _, message := range []string{"x", `{"topics":"all"}`, `[]`} {
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(w.http.URL, "http")+"/api/v1/stream",
			http.Header{"Authorization": {"Bearer " + w.alice.token}})
		if err != nil {
			t.Fatal(err)
		}
		conn.WriteMessage(websocket.TextMessage, []byte(message))
		if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseUnsupportedData) {
			t.Errorf("%s: %v", message, err)
		}
		conn.Close()
	}
	if status, _, body := w.ask("GET", "/api/v1/stream", w.alice.token, nil); status != 400 || !strings.Contains(body, "websocket") {
		t.Errorf("no websocket: %d %s", status, body)
	}
}

// TestNothingIsLostOrDoubled cuts a client's connection at every turn while
// events of several tasks are made and topics are added and dropped.
func TestNothingIsLostOrDoubled(t *testing.T) {
	w := newWorld(t, func(s *server) { s.batch = 7 })
	tasks := []store.Task{w.declare("a"), w.declare("b"), w.declare("c")}
	var down []int64
	for i := range 24 {
		down = append(down, int64(300+131*i)) // of HTTP's answer, in the replay, later and later
	}
	cut := newCutter(t, w.http.Listener.Addr().String(), nil, down)
	client := api.New(cut.url(), w.alice.token)
	defer client.Close()
	_, since, err := w.alice.client.Task(t.Context(), "alice", "a")
	if err != nil {
		t.Fatal(err)
	}
	stream := client.Open(t.Context(), &since, "task:alice/a")
	defer stream.Close()

	const events = 300
	made := map[string][]int64{}
	from := map[string]int64{"task:alice/a": since}
	got := map[string][]int64{}
	receive := func(until int64) {
		for f := range stream.Frames() {
			switch f.Type {
			case api.FrameLost, api.FrameBack:
				continue
			case "notice":
				got[f.Topic] = append(got[f.Topic], f.Seq)
			default:
				t.Fatalf("a frame %s", brief(f))
			}
			if f.Seq == until {
				return
			}
		}
		t.Fatal("the stream ended")
	}
	for n := range events {
		task := tasks[n%3]
		topic := api.TaskTopic("alice", task.Name)
		seq := w.event(task, n)
		made[topic] = append(made[topic], seq)
		switch n {
		case 60, 150: // b from a GET that is long ago, c from one of just now
			topic, at := "task:alice/b", since
			if n == 150 {
				topic, at = "task:alice/c", seq
			}
			from[topic] = at
			stream.Add(&at, topic)
		}
		if n%50 == 49 {
			cut.cutAll()
		}
	}
	last := w.event(tasks[0], events)
	made["task:alice/a"] = append(made["task:alice/a"], last)
	receive(last)
	// c and b may still have something on the way from before the last event.
	end := w.event(tasks[0], events+1)
	made["task:alice/a"] = append(made["task:alice/a"], end)
	receive(end)
	for topic, seqs := range made {
		want := slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { return seq <= from[topic] })
		if !slices.Equal(got[topic], want) {
			t.Errorf("%s from %d: got %v, not %v", topic, from[topic], got[topic], want)
		}
	}
	if cut.count() == 0 {
		t.Error("nothing was cut")
	}
	t.Logf("%d cuts", cut.count())
}

// TestAServerThatIsAwayIsSaidOnce takes the server away and brings it back.
func TestAServerThatIsAwayIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	task := w.declare("digits")
	cut := newCutter(t, w.http.Listener.Addr().String(), nil, nil)
	client := api.New(cut.url(), w.alice.token)
	defer client.Close()
	stream := client.Open(t.Context(), nil, "task:alice/digits")
	defer stream.Close()
	w.event(task, 0)
	// Where "now" is depends on who is first, so wait for one that surely comes.
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		for f := range stream.Frames() {
			if f.Type == "notice" && string(f.Data) == `{"n":1}` {
				return
			}
		}
	}()
	for ok := false; !ok; {
		w.event(task, 1)
		select {
		case <-ready:
			ok = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	cut.refuse(true)
	cut.cutAll()
	next := func() api.Frame {
		for f := range stream.Frames() {
			if string(f.Data) != `{"n":1}` {
				return f
			}
		}
		t.Fatal("the stream ended")
		return api.Frame{}
	}
	var why string
	if f := next(); f.Type != api.FrameLost || json.Unmarshal(f.Data, &why) != nil || why == "" || time.Since(f.Time) > time.Minute {
		t.Fatalf("got %s", brief(f))
	}
	if _, err := client.Me(t.Context()); !api.IsLost(err) {
		t.Errorf("a request meanwhile: %v", err)
	}
	seq := w.event(task, 2)
	cut.refuse(false)
	if f := next(); f.Type != api.FrameBack {
		t.Fatalf("got %s", brief(f))
	}
	if f := next(); f.Seq != seq {
		t.Fatalf("got %s", brief(f))
	}
	// A connection that is cut and made again at once is no news.
	cut.cutAll()
	seq = w.event(task, 3)
	if f := next(); f.Seq != seq {
		t.Fatalf("got %s", brief(f))
	}
	ctx, cancel := context.WithCancel(t.Context())
	other := client.Open(ctx, nil, "me")
	cancel()
	for range other.Frames() {
	}
	if err := other.Err(); err != nil {
		t.Errorf("ended by its context: %v", err)
	}
}

func TestTransients(t *testing.T) {
	w := newWorld(t)
	task := w.searched(w.declare("digits"))
	conn := w.raw(w.alice, nil, "task:alice/digits")
	if f := conn.next(); f.Type != api.FrameFollowing {
		t.Fatalf("got %s", brief(f))
	}
	// It goes on, but the only device is somebody else's: so it waits.
	device := gpu.Device{ID: "cpu0", Class: "cpu1", Kind: gpu.CPU, Rate: 1}
	busy := func(func(string) bool) map[string]string {
		return map[string]string{"cpu0": "a notebook outside easeml"}
	}
	if err := w.search.SetDevices(t.Context(), search.Sighting{Devices: []gpu.Device{device}, Busy: busy}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.alice.client.Patch(t.Context(), "alice", "digits", api.PatchTask{Stopped: new(false)}); err != nil {
		t.Fatal(err)
	}
	if f := conn.next(); f.Type != api.EventTaskReopened {
		t.Errorf("got %s", brief(f))
	}
	check := func(conn raw) {
		t.Helper()
		var queue api.Queue
		f := conn.next()
		if err := json.Unmarshal(f.Data, &queue); err != nil || f.Type != api.TransientQueue || f.Seq != 0 || f.Key != "" || f.Topic != "task:alice/digits" || queue.WaitingFor == "" {
			t.Errorf("got %s %+v", brief(f), queue)
		}
	}
	check(conn)
	view, _, err := w.alice.client.Task(t.Context(), "alice", "digits")
	if err != nil || view.Queue == nil || view.State != api.TaskSearching {
		t.Errorf("view: %+v, %v", view.Queue, err)
	}
	if i := slices.IndexFunc(view.Rows, func(r api.Row) bool { return r.Candidate == "resnet18" }); view.Rows[i].Expected == nil || view.Outlook == nil {
		t.Errorf("what is expected of the untried: %+v, %+v", view.Rows[i], view.Outlook)
	}
	if pool, err := w.bob.client.Pool(t.Context()); err != nil || len(pool.Devices) != 1 || pool.Devices[0].State != "busy_by_others" || pool.Devices[0].Mine {
		t.Errorf("pool: %+v, %v", pool, err)
	}
	// Whoever comes later gets the present state once; bob gets none of it.
	late := w.raw(w.alice, nil, "task:alice/digits")
	late.next()
	check(late)
	foreign := w.raw(w.bob, nil, "task:alice/digits", "me")
	foreign.next()
	foreign.next()
	w.write(func(tx *store.Tx) error { _, err := tx.Event(store.TopicUser(w.bob.ID), "notice", 1); return err })
	if f := foreign.next(); f.Topic != "me" {
		t.Errorf("bob got %s", brief(f))
	}
	// A trial has the task's own number, whatever the search calls it.
	var trials []store.TaskTrial
	w.read(func(r *store.Reader) (err error) { trials, err = r.TaskTrials(task.ID); return err })
	f := &follower{server: w.server, seen: map[string]int{}}
	for range 2 {
		frame := api.Frame{Key: trials[3].TrialID, Data: json.RawMessage(`{"trial":"` + trials[3].TrialID + `","step":2}`)}
		if known, err := f.number(t.Context(), store.TopicTask(task.ID), &frame); !known || err != nil || frame.Key != "4" || string(frame.Data) != `{"step":2,"trial":4}` {
			t.Errorf("%v %v %+v", known, err, frame)
		}
		if known, err := f.number(t.Context(), "task:other", &api.Frame{Key: trials[3].TrialID}); known || err != nil {
			t.Errorf("a foreign task knows it: %v", err)
		}
	}
}
