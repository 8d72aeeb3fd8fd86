package search

import (
	"math"
	"testing"
	"time"

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
		working: map[string]bool{"busy": true}, place: map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}, waiting: 4, kind: "a CPU slot",
		ends: [][2]float64{{30, 90}, {5, 10}}, length: [2]float64{10, 40},
	}
	for id, want := range map[string]*Queue{
		"busy": nil,
		"a":    {WaitingFor: "a CPU slot", Position: 1, Of: 4, EtaLow: 5, EtaHigh: 10},
		"b":    {WaitingFor: "a CPU slot", Position: 2, Of: 4, EtaLow: 30, EtaHigh: 90},
		"c":    {WaitingFor: "a CPU slot", Position: 3, Of: 4, EtaLow: 15, EtaHigh: 50},
		"d":    {WaitingFor: "a CPU slot", Position: 4, Of: 4, EtaLow: 40, EtaHigh: 130},
	} {
		if q := st.queue(turns, tenantOf(id)); (q == nil) != (want == nil) || q != nil && *q != *want {
			t.Errorf("%s: %+v, not %+v", id, q, want)
		}
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
		"time goes by":    {Queue{q.WaitingFor, 2, 3, 5, 55}, 5, true},
		"another place":   {Queue{q.WaitingFor, 1, 3, 10, 60}, 0, false},
		"another waits":   {Queue{q.WaitingFor, 2, 4, 10, 60}, 0, false},
		"another reason":  {Queue{"a GPU", 2, 3, 10, 60}, 0, false},
		"it takes longer": {Queue{q.WaitingFor, 2, 3, 10, 60}, 30, false},
		"a first range":   {Queue{q.WaitingFor, 2, 3, 10, 90}, 0, false},
	} {
		if got := c.now.like(q, c.seconds); got != c.like {
			t.Errorf("%s: like is %v", name, got)
		}
	}
}
