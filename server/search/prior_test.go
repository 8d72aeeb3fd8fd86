package search

import (
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/history"
	"github.com/easeml/easeml/server/store"
)

// A search goes by one prior from its first result on, whatever is fitted meanwhile and also after a restart; one without results
// takes the newest.
func TestPriorOfASearch(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "easeml.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fitted := func(quality float64) *allocator.Prior {
		rows := []allocator.Row{}
		for i := range 4 {
			rows = append(rows, allocator.Row{Quality: map[allocator.CandidateID]float64{"dummy": 0.1, "knn.5": quality + 0.01*float64(i)},
				Seconds: map[allocator.CandidateID]float64{"dummy": 0.1, "knn.5": 1}, Examples: 100, Features: 4})
		}
		p, err := allocator.FitPrior(rows, nil, allocator.FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	kind := history.Kind{Template: "table", Target: "classes"}
	var kept []history.Fitted
	quality := 0.1
	if _, err := db.Write(t.Context(), func(tx *store.Tx) error {
		for _, q := range []float64{0.8, 0.7, 0.6} {
			p := fitted(q)
			body, err := allocator.EncodePrior(p)
			if err != nil {
				return err
			}
			version, err := tx.InsertPrior(store.Prior{Template: kind.Template, Target: kind.Target, ID: p.ID, Body: body})
			if err != nil {
				return err
			}
			kept = append(kept, history.Fitted{Prior: p, Version: version})
		}
		for _, id := range []string{"begun", "fresh"} {
			if err := errors.Join(tx.InsertSearch(store.Search{ID: id, DatasetVersion: id, Protocol: []byte("{}"), Template: "table",
				Target: json.RawMessage(`{"kind":"classes"}`), Profile: json.RawMessage(`{"features":4}`), Rows: 100, State: "open"}),
				tx.InsertCandidates([]store.Candidate{
					{SearchID: id, ID: "dummy", Version: 1, Object: json.RawMessage(`{"id":"dummy","version":1,"family":"dummy","baseline":true,"devices":["cpu"]}`)},
					{SearchID: id, ID: "knn.5", Version: 1, Object: json.RawMessage(`{"id":"knn.5","version":1,"family":"knn","devices":["cpu"]}`)}})); err != nil {
				return err
			}
		}
		reason, err := json.Marshal(decided{Reason: allocator.Reason{Prior: kept[0].ID}, Earlier: 4, Version: kept[0].Version})
		if err != nil {
			return err
		}
		return tx.InsertTrial(store.Trial{ID: "1", SearchID: "begun", Candidate: "dummy", CandidateVersion: 1, State: "ok", Quality: &quality,
			Seconds: 0.1, Reason: reason})
	}); err != nil {
		t.Fatal(err)
	}
	pool, err := gpu.NewPool([]gpu.Device{{ID: "cpu0", Class: "cpu1", Kind: gpu.CPU}})
	if err != nil {
		t.Fatal(err)
	}
	alloc, err := allocator.New(allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{cfg: Config{Store: db, Log: slog.New(slog.DiscardHandler), Priors: history.Priors{kind: kept[1]}},
		inbox: make(chan func(*state)), done: make(chan struct{})}
	st := &state{Service: s, ctx: t.Context(), alloc: alloc, pool: pool, runs: map[string]*run{}, tenants: map[string]*tenant{}, fair: fairness{}}
	if err := db.Read(t.Context(), func(r *store.Reader) error {
		for _, id := range []string{"begun", "fresh"} {
			row, err := r.SearchByID(id)
			if err != nil {
				return err
			}
			if _, err := st.enlist(r, row); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	check := func(when, id string, want history.Fitted) {
		t.Helper()
		view, _ := alloc.View(allocator.SearchID(id))
		if st.tenants[id].prior.Version != want.Version || view.Prior != want.ID {
			t.Errorf("%s: %s goes by prior %d, not %d", when, id, st.tenants[id].prior.Version, want.Version)
		}
	}
	check("after a restart", "begun", kept[0])
	check("after a restart", "fresh", kept[1])
	go func() { (<-s.inbox)(st) }()
	if err := s.SetPriors(t.Context(), history.Priors{kind: kept[2]}); err != nil {
		t.Fatal(err)
	}
	check("after a fit", "begun", kept[0])
	check("after a fit", "fresh", kept[2])
}
