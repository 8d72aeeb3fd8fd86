package search

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/store"
)

func TestRange80(t *testing.T) {
	for _, c := range []struct{ expected, deviation, low, high float64 }{
		{10, 0, 10, 10}, {0, 5, 0, 0}, {10, 10, 3.44, 29.06}, // sigma² = log 2
	} {
		low, high := (&run{expected: c.expected, deviation: c.deviation}).range80()
		if math.Abs(low-c.low) > 0.01 || math.Abs(high-c.high) > 0.01 {
			t.Errorf("%g ± %g s: %g to %g, not %g to %g", c.expected, c.deviation, low, high, c.low, c.high)
		}
	}
}

// A queue of four on two devices: who comes when.
func TestTurnsInTheQueue(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	st := &state{Service: &Service{cfg: Config{Now: func() time.Time { return now }}}, ready: true}
	tenantOf := func(id string) *tenant {
		return &tenant{row: store.Search{ID: id, State: "open"}, tasks: map[string]store.Task{id: {ID: id}}}
	}
	turns := &turns{
		working: map[string]gpu.Kind{"busy": gpu.GPU}, place: map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}, waiting: 4, kind: "a CPU slot",
		next: map[string]string{}, inWay: map[gpu.Kind]InTheWay{},
		ends: [][2]float64{{30, 90}, {5, 10}}, length: [2]float64{10, 40},
	}
	for id, want := range map[string]*Queue{
		"busy": nil,
		"a":    {WaitingFor: "a CPU slot", Position: 1, Of: 4, EtaLow: 5, EtaHigh: 10},
		"b":    {WaitingFor: "a CPU slot", Position: 2, Of: 4, EtaLow: 30, EtaHigh: 90},
		"c":    {WaitingFor: "a CPU slot", Position: 3, Of: 4, EtaLow: 15, EtaHigh: 50},
		"d":    {WaitingFor: "a CPU slot", Position: 4, Of: 4, EtaLow: 40, EtaHigh: 130},
	} {
		q := st.queue(turns, tenantOf(id))
		if (q == nil) != (want == nil) || q != nil && !reflect.DeepEqual(*q, *want) {
			t.Errorf("%s: %+v, not %+v", id, q, want)
		}
	}
	// Who trains a light candidate and could have a GPU waits for that.
	st.tenants = map[string]*tenant{"a": tenantOf("a")}
	turns.working["light"], turns.place["light"], turns.next["light"] = gpu.CPU, 2, "a"
	turns.inWay[gpu.GPU] = InTheWay{Working: 1, Outside: 2}
	st.fair = fairness{"a": {Had: 5}, "light": {Had: 7}}
	q := st.queue(turns, tenantOf("light"))
	if q.WaitingFor != "a GPU" || !q.Light || q.Ahead == nil || q.Ahead.Task.ID != "a" || q.Ahead.Had != 5 || q.Ahead.Mine != 7 {
		t.Errorf("light: %+v", q)
	}
	if q.InTheWay != turns.inWay[gpu.GPU] {
		t.Errorf("in the way of a GPU: %+v", q.InTheWay)
	}
	turns.ends = nil
	if q := st.queue(turns, tenantOf("a")); q.EtaHigh != 0 {
		t.Errorf("with nothing at work there is no estimate, not %+v", q)
	}
	st.ready = false
	if q := st.queue(turns, tenantOf("a")); q.Position != 0 || q.WaitingFor != "the trainer, which is starting" {
		t.Errorf("before the trainer: %+v", q)
	}
	stopped := tenantOf("a")
	stopped.paused = true
	if q := st.queue(turns, stopped); q != nil {
		t.Errorf("a stopped search waits: %+v", q)
	}
}

// A queue is said again only where people would read something else.
func TestQueueIsNews(t *testing.T) {
	q := Queue{WaitingFor: "a CPU slot", Position: 2, Of: 3, EtaLow: 10, EtaHigh: 60}
	for name, c := range map[string]struct {
		now     Queue
		seconds float64
		like    bool
	}{
		"the same":        {q, 0, true},
		"time goes by":    {Queue{WaitingFor: q.WaitingFor, Position: 2, Of: 3, EtaLow: 5, EtaHigh: 55}, 5, true},
		"another place":   {Queue{WaitingFor: q.WaitingFor, Position: 1, Of: 3, EtaLow: 10, EtaHigh: 60}, 0, false},
		"another waits":   {Queue{WaitingFor: q.WaitingFor, Position: 2, Of: 4, EtaLow: 10, EtaHigh: 60}, 0, false},
		"another reason":  {Queue{WaitingFor: "a GPU", Position: 2, Of: 3, EtaLow: 10, EtaHigh: 60}, 0, false},
		"it takes longer": {Queue{WaitingFor: q.WaitingFor, Position: 2, Of: 3, EtaLow: 10, EtaHigh: 60}, 30, false},
		"a first range":   {Queue{WaitingFor: q.WaitingFor, Position: 2, Of: 3, EtaLow: 10, EtaHigh: 90}, 0, false},
	} {
		if got := c.now.like(q, c.seconds); got != c.like {
			t.Errorf("%s: like is %v", name, got)
		}
	}
}

// What was first said of waits is held against how long they were, and outlives the server with the decisions that ended them.
func TestWaitsHeld(t *testing.T) {
	now := start
	st := &state{Service: &Service{cfg: Config{Now: func() time.Time { return now }}}}
	var reasons []json.RawMessage
	for _, c := range []struct{ low, high, took float64 }{
		{10, 60, 30}, {10, 60, 9.2}, {10, 60, 61}, {10, 60, 70}, {10, 60, 3}, {0, 1, 0.5}, {0, 1, 20},
	} {
		s := &tenant{wait: &wait{Low: c.low, High: c.high, since: now}}
		now = now.Add(time.Duration(c.took * float64(time.Second)))
		text, err := json.Marshal(decided{Wait: st.served(s)})
		if err != nil || s.wait != nil {
			t.Fatal(err, s.wait)
		}
		reasons = append(reasons, text)
	}
	if st.served(&tenant{}) != nil {
		t.Error("a search that did not wait has ended a wait")
	}
	held, all := st.waits.held()
	if held != 3 || all != 6 {
		t.Errorf("%d of %d held, not 3 of 6: the short one is left out", held, all)
	}
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "easeml.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Write(t.Context(), func(tx *store.Tx) error {
		err := tx.InsertSearch(store.Search{ID: "s", DatasetVersion: "s", Protocol: []byte("{}"), State: "open"})
		for i, text := range reasons {
			err = errors.Join(err, tx.InsertTrial(store.Trial{ID: string(rune('a' + i)), SearchID: "s", Candidate: string(rune('a' + i)), State: "ok", Reason: text}))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	again := &state{}
	if err := db.Read(t.Context(), again.recoverWaits); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.waits, func() waits {
		w := append(waits{}, st.waits...)
		for i := range w {
			w[i].since = time.Time{}
		}
		return w
	}()) {
		t.Errorf("after a restart %+v, before %+v", again.waits, st.waits)
	}
}
