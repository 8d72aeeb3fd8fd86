package history

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/easeml/easeml/allocator"
)

// What is shipped gives a prior for tables and pictures, and one that knows what the catalogue's candidates are worth.
func TestShipped(t *testing.T) {
	histories, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{{"table", "classes"}, {"table", "numbers"}, {"image_classification", "classes"}} {
		h := histories[kind]
		if h == nil || len(h.rows) < MinSearches {
			t.Errorf("%v has no prior", kind)
			continue
		}
		p, err := allocator.FitPrior(h.rows, func(id allocator.CandidateID) string { return h.families[id] }, allocator.FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mean := func(id allocator.CandidateID) float64 {
			for k, c := range p.Candidates {
				if c.ID == id {
					return p.Quality.Mean[k]
				}
			}
			t.Fatalf("%v: the prior doesn't know %s", kind, id)
			return 0
		}
		if mean("dummy") >= mean("forest.300") {
			t.Errorf("%v: guessing is expected at %v, a forest at %v", kind, mean("dummy"), mean("forest.300"))
		}
	}
}

// The first search on a fresh server, played with what was measured: each data set in turn is left out of the prior and searched
// by it. What comes first has to be worth it, and the seconds that are thought have to be those that it takes.
func TestFirstSearchByShipped(t *testing.T) {
	histories, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	inside, of := 0, 0
	for kind, h := range histories {
		for name, i := range h.at {
			row := h.rows[i]
			prior, err := allocator.FitPrior(slices.Concat(h.rows[:i], h.rows[i+1:]), func(id allocator.CandidateID) string { return h.families[id] }, allocator.FitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := allocator.New(allocator.Options{})
			if err != nil {
				t.Fatal(err)
			}
			top, arms := 0.0, []allocator.Arm{}
			for id, q := range row.Quality {
				top = max(top, q)
				arms = append(arms, allocator.Arm{ID: id, Version: 1, Family: h.families[id], Baseline: h.families[id] == "dummy",
					Estimate: map[string]float64{"cpu1": row.Estimate[id]}})
			}
			apply := func(e allocator.Event) {
				t.Helper()
				if err := a.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			apply(allocator.PoolChanged{Devices: map[string]int{"cpu1": 1}})
			apply(allocator.SearchAdded{Search: "s", Arms: arms, Prior: prior, Examples: row.Examples, Features: row.Features})
			best, spent, tried, all := 0.0, 0.0, 0, 0.0
			var reached float64
			for _, s := range row.Seconds {
				all += s
			}
			first := []string{}
			for {
				d, ok := a.Next("cpu1")
				if !ok {
					break
				}
				took := row.Seconds[d.Candidate]
				spread := 1.2816 * math.Sqrt(math.Log1p(math.Pow(d.Reason.SecondsSD/d.Reason.Seconds, 2)))
				median := math.Log(d.Reason.Seconds) - math.Pow(spread/1.2816, 2)/2
				if of++; math.Abs(math.Log(took)-median) <= spread {
					inside++
				}
				apply(allocator.TrialStarted{Search: "s", Candidate: d.Candidate, Class: "cpu1"})
				apply(allocator.TrialEnded{Search: "s", Candidate: d.Candidate, Class: "cpu1", Outcome: allocator.OK, Quality: row.Quality[d.Candidate], Seconds: took, Charge: took})
				tried++
				if spent += took; row.Quality[d.Candidate] > best {
					best, reached = row.Quality[d.Candidate], spent
				}
				if len(first) < 5 {
					first = append(first, string(d.Candidate))
				}
			}
			t.Logf("%s, %s: %s; best %.3f of %.3f after %.1f s; %d of %d tried, %.0f %% of all seconds", kind.Template, name, strings.Join(first, " "),
				best, top, reached, tried, len(arms), 100*spent/all)
			if top-best > 0.03 {
				t.Errorf("%s ends %.3f below the best", name, top-best)
			}
		}
	}
	t.Logf("seconds: %d of %d in the range that 80 %% should be in", inside, of)
	if share := float64(inside) / float64(of); share < 0.65 || share > 0.97 {
		t.Errorf("%.0f %% of the seconds lie in the range that 80 %% should", 100*share)
	}
}
