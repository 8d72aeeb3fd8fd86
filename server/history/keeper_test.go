package history

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/easeml/easeml/server/store"
)

// kept is a keeper whose pauses the test ends.
type kept struct {
	t     *testing.T
	store *store.Store
	taken chan Priors
	pause chan chan time.Time // what the keeper waits for after a look
	made  int                 // finished trials so far
}

func keep(t *testing.T, path string) *kept {
	t.Helper()
	db, err := store.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{t: t, store: db, taken: make(chan Priors, 1), pause: make(chan chan time.Time)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	keeper := Keeper{
		Store: db, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Pause: time.Hour,
		Take: func(_ context.Context, p Priors) error { k.taken <- p; return nil },
		After: func(d time.Duration) <-chan time.Time {
			if d != time.Hour {
				t.Errorf("it waits %v, not the pause that was asked for", d)
			}
			over := make(chan time.Time, 1)
			select {
			case k.pause <- over:
			case <-ctx.Done():
			}
			return over
		},
	}
	go func() { defer close(ended); keeper.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; db.Close() })
	return k
}

// look lets the keeper look once, and gives what it has fitted then; nil where it found nothing due.
func (k *kept) look(over chan time.Time) (Priors, chan time.Time) {
	k.t.Helper()
	if over != nil {
		over <- time.Time{}
	}
	next := <-k.pause
	select {
	case p := <-k.taken:
		return p, next
	default:
		return nil, next
	}
}

// finish adds finished trials of tables, each of another data set.
func (k *kept) finish(n int) {
	k.t.Helper()
	for range n {
		k.made++
		id := fmt.Sprint(k.made)
		quality, ended := 0.5+0.4/float64(k.made), time.Unix(int64(k.made), 0)
		if _, err := k.store.Write(k.t.Context(), func(tx *store.Tx) error {
			row := store.Search{ID: id, DatasetVersion: id, Metric: "accuracy", Protocol: json.RawMessage("{}"), Template: "table",
				Target: json.RawMessage(`{"kind":"classes"}`), Profile: json.RawMessage(`{"features":3}`), Rows: 100, State: "open"}
			trial := store.Trial{ID: id, SearchID: id, Candidate: "knn.5", CandidateVersion: 1, State: "ok", Quality: &quality, Seconds: 1,
				DeviceClass: "cpu1", Ended: &ended}
			candidate := store.Candidate{SearchID: id, ID: "knn.5", Version: 1, Object: json.RawMessage(`{"family":"knn"}`)}
			for _, err := range []error{tx.InsertSearch(row), tx.InsertCandidates([]store.Candidate{candidate}), tx.InsertTrial(trial)} {
				if err != nil {
					return err
				}
			}
			_, err := tx.Event("pool", "notice", id)
			return err
		}); err != nil {
			k.t.Fatal(err)
		}
	}
}

var tables, series = Kind{"table", "classes"}, Kind{"table", "numbers"}

// A fresh server has the shipped priors; they are fitted again when finished trials have grown by a third, no sooner, and
// those that change get a version of their own.
func TestRefitAsTrialsGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "easeml.db")
	k := keep(t, path)
	before, over := k.look(nil)
	if before == nil || before[tables].Version == 0 || before[tables].Version == before[series].Version {
		t.Fatalf("at the start: %+v", before)
	}
	last := before
	for _, step := range []struct {
		more int
		fits bool
	}{{1, true}, {2, true}, {1, true}, {1, false}, {1, true}, {1, false}, {1, true}} { // in all 1, 3, 4, 5, 6, 7, 8
		k.finish(step.more)
		var now Priors
		if now, over = k.look(over); (now != nil) != step.fits {
			t.Fatalf("with %d finished trials it fits: %t", k.made, now != nil)
		}
		if now == nil {
			continue
		}
		if now[tables].Version <= last[tables].Version || now[tables].ID == last[tables].ID {
			t.Errorf("with %d trials the prior is version %d, after %d", k.made, now[tables].Version, last[tables].Version)
		}
		if now[series] != before[series] {
			t.Errorf("what taught tables of classes changed the prior of numbers: %d, %d", before[series].Version, now[series].Version)
		}
		last = now
	}

	// What was fitted is there after a restart, under its version, and no fit that gives the same makes another.
	loaded, err := Load(t.Context(), k.store)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range last {
		if got := loaded[kind]; got.Version != want.Version || got.ID != want.ID {
			t.Errorf("%v: version %d was kept, %d is loaded", kind, want.Version, got.Version)
		}
	}
	made := k.made
	k = keep(t, filepath.Join(t.TempDir(), "other.db"))
	_, over = k.look(nil)
	k.finish(made)
	first, _ := k.look(over)
	if first[tables].ID != last[tables].ID {
		t.Error("the same trials give another prior")
	}
}

// A second start fits the same and so keeps every version.
func TestRestartKeepsVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "easeml.db")
	var versions []map[Kind]int
	for range 2 {
		t.Run("start", func(t *testing.T) {
			priors, _ := keep(t, path).look(nil)
			v := map[Kind]int{}
			for kind, p := range priors {
				v[kind] = p.Version
			}
			versions = append(versions, v)
		})
	}
	if len(versions[0]) == 0 || fmt.Sprint(versions[0]) != fmt.Sprint(versions[1]) {
		t.Errorf("versions %v, then %v", versions[0], versions[1])
	}
}
