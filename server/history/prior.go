package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/server/store"
)

// MinSearches is how many searches of a kind must have finished trials before
// their history says more than the allocator's own prior from families and
// estimates.
const MinSearches = 3

// Kind is what searches must have in common to teach each other: a candidate's
// accuracy on pictures says nothing of its R² on tables.
type Kind struct {
	Template string
	Target   string // classes, numbers
}

// Fitted is a prior with the version that the store gave it, which no other ever has.
type Fitted struct {
	*allocator.Prior
	Version int
}

// Priors holds one prior a kind of search.
type Priors map[Kind]Fitted

// For is the prior of a search that begins; empty where history is too short.
func (p Priors) For(row store.Search) Fitted { return p[kindOf(row.Template, row.Target)] }

// Decode reads a prior as the store keeps it.
func Decode(row store.Prior) (Fitted, error) {
	p, err := allocator.DecodePrior(row.Body)
	return Fitted{Prior: p, Version: row.Version}, err
}

// Load reads the priors that were fitted last. One that this program can't read,
// since another one wrote it, is left out: it is fitted anew.
func Load(ctx context.Context, st *store.Store) (Priors, error) {
	var rows []store.Prior
	if err := st.Read(ctx, func(r *store.Reader) (err error) {
		rows, err = r.NewestPriors()
		return err
	}); err != nil {
		return nil, err
	}
	priors := Priors{}
	for _, row := range rows {
		if p, err := Decode(row); err == nil {
			priors[Kind{Template: row.Template, Target: row.Target}] = p
		}
	}
	return priors, nil
}

// fit makes the priors from what is shipped and the finished trials of all
// searches. What is shipped comes first, so it is what a long history drops.
func fit(finished []store.Finished) (map[Kind]*allocator.Prior, error) {
	histories, err := shipped()
	if err != nil {
		return nil, err
	}
	if err := collect(histories, finished); err != nil {
		return nil, err
	}
	priors := map[Kind]*allocator.Prior{}
	for kind, h := range histories {
		if len(h.rows) < MinSearches {
			continue
		}
		family := func(id allocator.CandidateID) string { return h.families[id] }
		if priors[kind], err = allocator.FitPrior(h.rows, family, allocator.FitOptions{}); err != nil {
			return nil, fmt.Errorf("history of %s: %w", kind.Template, err)
		}
	}
	return priors, nil
}

type history struct {
	rows     []allocator.Row
	at       map[string]int // dataset version and metric → row
	families map[allocator.CandidateID]string
}

func newHistory() *history {
	return &history{at: map[string]int{}, families: map[allocator.CandidateID]string{}}
}

// collect adds one row a dataset version and metric: equal data taught the
// same thing, however many users fed them.
func collect(histories map[Kind]*history, finished []store.Finished) error {
	for _, f := range finished {
		if f.Quality == nil || f.State != "ok" {
			continue
		}
		var candidate struct {
			Family   string `json:"family"`
			Estimate struct {
				Seconds map[string]float64 `json:"seconds"`
			} `json:"estimate"`
		}
		var profile struct {
			Features int `json:"features"`
		}
		if err := json.Unmarshal(f.Object, &candidate); err != nil {
			return fmt.Errorf("candidate %s of search %s: %w", f.Candidate, f.SearchID, err)
		}
		if err := json.Unmarshal(f.Profile, &profile); err != nil {
			return fmt.Errorf("profile of search %s: %w", f.SearchID, err)
		}
		kind := kindOf(f.Template, f.Target)
		h := histories[kind]
		if h == nil {
			h = newHistory()
			histories[kind] = h
		}
		key := f.DatasetVersion + " " + f.Metric
		i, known := h.at[key]
		if !known {
			i = len(h.rows)
			h.at[key] = i
			h.rows = append(h.rows, allocator.Row{
				Quality: map[allocator.CandidateID]float64{}, Seconds: map[allocator.CandidateID]float64{},
				Class: map[allocator.CandidateID]string{}, Estimate: map[allocator.CandidateID]float64{},
				Examples: f.Rows, Features: profile.Features,
			})
		}
		id := allocator.CandidateID(f.Candidate)
		h.families[id] = candidate.Family
		h.rows[i].Quality[id], h.rows[i].Class[id] = *f.Quality, f.DeviceClass
		if f.Seconds > 0 {
			h.rows[i].Seconds[id] = f.Seconds
			delete(h.rows[i].Estimate, id)
			e := candidate.Estimate.Seconds[f.DeviceClass]
			if e == 0 && !strings.HasPrefix(f.DeviceClass, "cpu") {
				e = candidate.Estimate.Seconds["gpu"] // of a card of any class
			}
			if e > 0 {
				h.rows[i].Estimate[id] = e
			}
		}
	}
	return nil
}

func kindOf(template string, target json.RawMessage) Kind {
	var t struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(target, &t) // a search's target is always written by us
	return Kind{Template: template, Target: t.Kind}
}

// ordered are the kinds by name, so that versions are given in one order.
func ordered(priors map[Kind]*allocator.Prior) []Kind {
	return slices.SortedFunc(maps.Keys(priors), func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.Template, b.Template), strings.Compare(a.Target, b.Target))
	})
}
