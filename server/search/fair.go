package search

import (
	"time"

	"github.com/easeml/easeml/gpu"
)

// fairness compares what each search had of the devices with what an equal share
// of its own would have given it: ρ, the finish-time fairness of Themis (Mahajan
// et al. 2020), with both cumulated as in Gavel, since the number of searches
// changes. It is kept in memory, so it begins anew with the server.
type fairness struct {
	at     time.Time
	owed   map[string]float64 // device seconds, by search
	had    map[string]float64
	owes   map[string]float64 // devices, since at
	having map[string]float64
}

func newFairness() fairness {
	return fairness{owed: map[string]float64{}, had: map[string]float64{}, owes: map[string]float64{}, having: map[string]float64{}}
}

// until adds up what passed since the last change.
func (f *fairness) until(now time.Time) {
	if dt := now.Sub(f.at).Seconds(); dt > 0 && !f.at.IsZero() {
		for id, n := range f.owes {
			f.owed[id] += n * dt
		}
		for id, n := range f.having {
			f.had[id] += n * dt
		}
	}
	f.at = now
}

// rho is how many times slower the search got its device time than with a fair share
// of its own; false before it had a second of it.
func (f *fairness) rho(id string, now time.Time) (rho float64, ok bool) {
	dt := max(now.Sub(f.at).Seconds(), 0)
	had := f.had[id] + f.having[id]*dt
	if had < 1 {
		return 0, false
	}
	return (f.owed[id] + f.owes[id]*dt) / had, true
}

// share sets anew what every search is owed, after something started or ended:
// devices by weight among the searches that go on. While a device stands idle
// nobody waits, so nobody is owed more than it has.
func (st *state) share() {
	f := &st.fair
	f.until(st.now())
	clear(f.owes)
	clear(f.having)
	devices, idle := 0.0, false
	for _, d := range st.pool.Snapshot() {
		switch d.State {
		case gpu.Lost, gpu.Draining, gpu.Busy:
		case gpu.Free:
			idle = true
			devices++
		default:
			devices++
		}
	}
	for _, r := range st.runs {
		f.having[r.trial.SearchID]++
	}
	weights := 0.0
	for _, t := range st.tenants {
		if t.goesOn() {
			weights += t.weight()
		}
	}
	for id, t := range st.tenants {
		if !t.goesOn() {
			continue
		}
		f.owes[id] = devices * t.weight() / weights
		if idle {
			f.owes[id] = min(f.owes[id], f.having[id])
		}
	}
	for id := range f.had {
		if st.tenants[id] == nil {
			delete(f.had, id)
			delete(f.owed, id)
		}
	}
}

// goesOn tells whether the search could have a device.
func (t *tenant) goesOn() bool { return t.row.State == "open" && !t.paused && t.weight() > 0 }
