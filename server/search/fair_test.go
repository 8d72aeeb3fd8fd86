package search

import (
	"log/slog"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Two devices for four searches: each is owed half a device; one that has a whole one is twice as fast, one that has a
// quarter of the time is twice as slow.
func TestRho(t *testing.T) {
	f := fairness{}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	f.goOn("fast", 0.5, 1, at(0))
	f.goOn("slow", 0.5, 0, at(0))
	if _, ok := f.rho("slow", at(10)); ok {
		t.Error("a search that had nothing has a ρ")
	}
	if f.goOn("slow", 0.5, 0, at(20)) {
		t.Error("the same rates are a change")
	}
	f.goOn("slow", 0.5, 0.5, at(30))
	for id, want := range map[string]float64{"fast": 0.5, "slow": 2} {
		if x, ok := f.rho(id, at(60)); !ok || math.Abs(x-want) > 1e-9 {
			t.Errorf("%s: ρ = %v, %v; it should be %v", id, x, ok, want)
		}
	}
	if x, _ := f.rho("slow", at(90)); math.Abs(x-1.5) > 1e-9 {
		t.Errorf("half a minute on: %v", x)
	}
}

// A server that ends without a word leaves ρ as it was when a trial told something last; the time until the next one starts
// counts for nobody.
func TestRhoOutlivesTheServer(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "easeml.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := start
	open := func() *state {
		pool, err := gpu.NewPool([]gpu.Device{{ID: "cpu0", Class: "cpu1", Kind: gpu.CPU}})
		if err != nil {
			t.Fatal(err)
		}
		st := &state{Service: &Service{cfg: Config{Store: db, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}},
			ctx: t.Context(), pool: pool, runs: map[string]*run{}, tenants: map[string]*tenant{}, fair: fairness{}}
		for _, id := range []string{"a", "b"} {
			st.tenants[id] = &tenant{row: store.Search{ID: id, Rows: 1, State: "open"}, tasks: map[string]store.Task{id: {ID: id}}}
		}
		return st
	}
	if _, err := db.Write(t.Context(), func(tx *store.Tx) error {
		for _, id := range []string{"a", "b"} {
			if err := tx.InsertSearch(store.Search{ID: id, DatasetVersion: id, Protocol: []byte("{}"), State: "open"}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	st := open()
	take := func(search string) {
		st.runs = map[string]*run{"folder": {trial: store.Trial{SearchID: search}}}
		st.share()
	}
	if _, err := st.pool.Acquire("cpu0", "trial"); err != nil {
		t.Fatal(err)
	}
	take("a")
	now = now.Add(30 * time.Second)
	take("b")
	now = now.Add(10 * time.Second) // a had 30 s and b 10 s, each was owed 20 s
	want := map[string]float64{"a": 20.0 / 30, "b": 2}
	alive := now

	now = now.Add(time.Hour)
	st = open()
	var rows []store.Share
	if err := db.Read(t.Context(), func(r *store.Reader) (err error) {
		rows, err = r.Shares()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	st.recoverShares(rows, alive)
	if err := db.Read(t.Context(), func(r *store.Reader) error {
		for id := range want {
			x, err := r.Share(id)
			if err != nil {
				return err
			}
			st.fair[id] = &x
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	st.share()
	for id, w := range want {
		if x, ok := st.fair.rho(id, now.Add(time.Minute)); !ok || math.Abs(x-w) > 1e-9 {
			t.Errorf("%s: ρ = %v, %v; before it was %v", id, x, ok, w)
		}
	}
}

// An attempt that ran into its limit is queued again, is charged for, and tells the allocator how long it ran; the seconds of
// its trial stay those of the attempt that will bring the model.
func TestPutAside(t *testing.T) {
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
