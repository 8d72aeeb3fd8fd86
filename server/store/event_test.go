package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func seqs(events []Event) (list []int64) {
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

func TestEvents(t *testing.T) {
	s := open(t)
	write(t, s, func(tx *Tx) error {
		for i, topic := range []string{TopicTask("a"), TopicPool, TopicTask("b"), TopicTask("a"), TopicUser("u")} {
			seq, err := tx.Event(topic, "notice", map[string]int{"i": i})
			if err != nil || seq != int64(i+1) || tx.Seq() != seq {
				t.Errorf("event %d: seq %d, %v", i, seq, err)
			}
		}
		_, err := tx.Event(TopicPool, "notice", func() {})
		if err == nil {
			t.Error("data that is no JSON was taken")
		}
		return nil
	})
	read(t, s, func(r *Reader) error {
		for _, c := range []struct {
			after  int64
			topics []string
			limit  int
			want   []int64
		}{
			{0, []string{"task:a"}, 0, []int64{1, 4}},
			{0, []string{"task:a", "pool"}, 0, []int64{1, 2, 4}},
			{1, []string{"task:a", "pool", "user:u"}, 2, []int64{2, 4}},
			{5, []string{"task:a"}, 0, nil},
			{0, []string{"task:"}, 0, nil},
			{0, nil, 0, nil},
		} {
			events, err := r.Events(c.after, c.topics, c.limit)
			if got := seqs(events); err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("Events(%d, %v, %d) = %v, %v; want %v", c.after, c.topics, c.limit, got, err, c.want)
			}
		}
		events, err := r.AllEvents(2, 2)
		if err != nil || fmt.Sprint(seqs(events)) != "[3 4]" || string(events[0].Data) != `{"i":2}` || events[0].Topic != "task:b" || events[0].Type != "notice" {
			t.Errorf("AllEvents: %+v, %v", events, err)
		}
		same(t, "LastSeq", int64(5))(r.LastSeq())
		same(t, "OldestEvent", int64(1))(r.OldestEvent())
		return nil
	})
}

func TestTrimEvents(t *testing.T) {
	s := open(t)
	now := t0
	s.now = func() time.Time { return now }
	for range 10 { // one an hour
		write(t, s, func(tx *Tx) error {
			_, err := tx.Event(TopicPool, "notice", nil)
			return err
		})
		now = now.Add(time.Hour)
	}
	for _, c := range []struct {
		age             time.Duration
		count           int64
		removed, oldest int64
	}{
		{0, 0, 0, 1},
		{100 * time.Hour, 100, 0, 1},
		{8 * time.Hour, 0, 2, 3}, // event 3 was made eight hours ago
		{0, 7, 1, 4},
		{5 * time.Hour, 3, 4, 8},
		{time.Minute, 0, 3, 11}, // none is left: the next one will be 11
	} {
		write(t, s, func(tx *Tx) error {
			same(t, fmt.Sprintf("TrimEvents(%v, %d)", c.age, c.count), c.removed)(tx.TrimEvents(c.age, c.count))
			return nil
		})
		read(t, s, func(r *Reader) error {
			same(t, "OldestEvent", c.oldest)(r.OldestEvent())
			same(t, "LastSeq", int64(10))(r.LastSeq())
			return nil
		})
	}
	s.Close()
	s = openAt(t, s.path)
	if seq := write(t, s, func(tx *Tx) error { _, err := tx.Event(TopicPool, "notice", nil); return err }); seq != 11 {
		t.Errorf("the event after all were trimmed has seq %d, want 11: a seq is never used again", seq)
	}
}

// Whatever transactions do, and whether they end well: the log's seqs rise by
// one, and rows and events of a transaction are there together or not at all.
func TestAnyTransactions(t *testing.T) {
	s := open(t)
	type line struct{ topic, user string }
	var log []line // what must be in the log, from the first event on
	users := map[string]bool{}
	first := int64(1) // seq of log[0]
	rapid.Check(t, func(rt *rapid.T) {
		fails := rapid.Bool().Draw(rt, "fails")
		n := rapid.IntRange(0, 4).Draw(rt, "events")
		mine := errors.New("mine")
		var made []line
		changed := s.Changed()
		seq, err := s.Write(t.Context(), func(tx *Tx) error {
			for range n {
				id := newID()
				l := line{rapid.SampledFrom([]string{"pool", "task:a", "task:b"}).Draw(rt, "topic"), id}
				if err := tx.InsertUser(User{ID: id, Name: id}); err != nil {
					return err
				}
				got, err := tx.Event(l.topic, "notice", id)
				if err != nil {
					return err
				}
				made = append(made, l)
				if want := first + int64(len(log)+len(made)) - 1; got != want {
					rt.Fatalf("seq %d, want %d", got, want)
				}
			}
			if fails {
				return mine
			}
			return nil
		})
		switch {
		case fails:
			if err != mine {
				rt.Fatalf("error %v, want f's own", err)
			}
		case err != nil:
			rt.Fatal(err)
		default:
			log = append(log, made...)
			for _, l := range made {
				users[l.user] = true
			}
			if want := first + int64(len(log)) - 1; seq != want {
				rt.Fatalf("Write returned seq %d, want %d", seq, want)
			}
		}
		woken := false
		select {
		case <-changed:
			woken = true
		default:
		}
		if woken != (!fails && n > 0) {
			rt.Fatalf("readers woken: %v after %d events, failed: %v", woken, n, fails)
		}

		topics := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"pool", "task:a", "task:b"}), rapid.ID[string]).Draw(rt, "topics")
		after := rapid.Int64Range(0, first+int64(len(log))).Draw(rt, "after")
		limit := rapid.IntRange(0, 5).Draw(rt, "limit")
		in := map[string]bool{}
		for _, topic := range topics {
			in[topic] = true
		}
		err = s.Read(t.Context(), func(r *Reader) error {
			if want := first + int64(len(log)) - 1; r.Seq() != want {
				rt.Fatalf("Seq() = %d, want %d", r.Seq(), want)
			}
			events, err := r.Events(after, topics, limit)
			if err != nil {
				return err
			}
			for i, l := range log {
				seq := first + int64(i)
				if seq <= after || !in[l.topic] {
					continue
				}
				if limit > 0 && len(events) == 0 {
					break // checked below: the limit was reached
				}
				if len(events) == 0 || events[0].Seq != seq || events[0].Topic != l.topic || string(events[0].Data) != `"`+l.user+`"` {
					rt.Fatalf("event %d of %v is missing or another one", seq, topics)
				}
				events = events[1:]
			}
			if len(events) != 0 {
				rt.Fatalf("%d events too many", len(events))
			}
			list, err := r.Users()
			if err != nil {
				return err
			}
			if len(list) != len(users) {
				rt.Fatalf("%d users, want the %d that were committed", len(list), len(users))
			}
			for _, u := range list {
				if !users[u.ID] {
					rt.Fatalf("user %s was not committed", u.ID)
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d_a_commit", n), func(b *testing.B) {
			s := open(b)
			data := map[string]any{"trial": 17, "candidate": "svm-rbf.c10", "quality": 0.981, "seconds": 0.27}
			for b.Loop() {
				write(b, s, func(tx *Tx) error {
					for range n {
						if _, err := tx.Event("task:0198c0de", "trial.ended", data); err != nil {
							return err
						}
					}
					return nil
				})
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// What a stream does for each reader after each commit.
func BenchmarkReadEvents(b *testing.B) {
	s := open(b)
	write(b, s, func(tx *Tx) error {
		for i := range 100_000 {
			if _, err := tx.Event(fmt.Sprintf("task:%d", i%100), "trial.ended", i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		name   string
		after  int64
		topics []string
	}{
		{"the_last_few", 99_900, []string{"task:7", "user:u", "pool"}},
		{"nothing_new", 100_000, []string{"task:7", "user:u", "pool"}},
		{"from_the_start", 0, []string{"task:7", "user:u", "pool"}},
		{"a_silent_topic", 0, []string{"user:u"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				read(b, s, func(r *Reader) error {
					_, err := r.Events(c.after, c.topics, 100)
					return err
				})
			}
		})
	}
}
