package search

import (
	"math"
	"testing"
	"time"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// Two devices for four searches: each is owed half a device; one that has a whole one is twice as fast, one that has a
// quarter of the time is twice as slow.
func TestRho(t *testing.T) {
	f := newFairness()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.until(start)
	f.owes = map[string]float64{"fast": 0.5, "slow": 0.5, "none": 0.5}
	f.having = map[string]float64{"fast": 1}
	if _, ok := f.rho("slow", start); ok {
		t.Error("a search that had nothing has a ρ")
	}
	f.until(start.Add(30 * time.Second))
	f.having["slow"] = 0.5
	f.until(start.Add(60 * time.Second))
	for id, want := range map[string]float64{"fast": 0.5, "slow": 2} {
		if x, ok := f.rho(id, start.Add(60*time.Second)); !ok || math.Abs(x-want) > 1e-9 {
			t.Errorf("%s: ρ = %v, %v; it should be %v", id, x, ok, want)
		}
	}
	if x, _ := f.rho("slow", start.Add(90*time.Second)); math.Abs(x-1.5) > 1e-9 {
		t.Errorf("half a minute on: %v", x)
	}
}

// An attempt that ran into its limit is queued again, is charged for, and tells the allocator how long it ran; the seconds of
// its trial stay those of the attempt that will bring the model.
func TestPutAside(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	st := &state{Service: &Service{cfg: Config{Now: func() time.Time { return start.Add(90 * time.Second) }}}}
	attempt := store.Attempt{TrialID: "t", Number: 1, Folder: t.TempDir(), Started: start}
	v := st.judge(store.Trial{ID: "t", Candidate: "net", State: "running"}, attempt, nil, engine.Notice{Kind: engine.Ended, Code: -1, Signal: "TERM"}, leaveLate, 2, true)
	if !v.requeued || v.trial.State != "queued" || v.trial.Seconds != 0 || v.trial.Charge != 180 || v.attempt.Kind != kindLate {
		t.Fatalf("%+v", v)
	}
	want := allocator.TrialOverran{Search: "s", Candidate: "net", Class: "cpu1", Seconds: 90, Charge: 180}
	if got := back(v.trial, []store.Attempt{v.attempt}, "s", "cpu1"); got != want {
		t.Errorf("%+v", got)
	}
	paused := st.judge(store.Trial{ID: "t", Candidate: "net", State: "running"}, attempt, []trial.Event{{Type: trial.EventPaused}}, engine.Notice{Kind: engine.Ended, Code: -1, Signal: "TERM"}, leaveLate, 2, true)
	if paused.trial.State != "paused" || paused.trial.Seconds != 90 {
		t.Errorf("with a checkpoint: %+v", paused.trial)
	}
}
