package history

import (
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
