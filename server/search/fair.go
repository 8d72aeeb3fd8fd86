package search

import (
	"time"

	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/store"
)

// fairness compares what each search had of the devices with what an equal share
// of its own would have given it: ρ, the finish-time fairness of Themis (Mahajan
// et al. 2020), with both cumulated as in Gavel, since the number of searches
// changes. Its rows, by search id, are those of the store: a row is written
// whenever its rates change, so what it is worth at any time outlives the server.
type fairness map[string]*store.Share

// until adds up what passed since the row's last change.
func until(x *store.Share, now time.Time) {
	if dt := now.Sub(x.At).Seconds(); dt > 0 {
		x.Owed += x.Owes * dt
		x.Had += x.Having * dt
		x.At = now
	}
}

// go on at other rates, in devices; false where they are what they were.
func (f fairness) goOn(id string, owes, having float64, now time.Time) (changed bool) {
	x := f[id]
	if x == nil {
		x = &store.Share{SearchID: id, At: now}
		f[id] = x
	}
	if x.Owes == owes && x.Having == having {
		return false
	}
	until(x, now)
	x.Owes, x.Having, x.At = owes, having, now
	return true
}

// rho is how many times slower the search got its device time than with a fair share
// of its own; false before it had a second of it.
func (f fairness) rho(id string, now time.Time) (rho float64, ok bool) {
	if f[id] == nil {
		return 0, false
	}
	x := *f[id]
	until(&x, now)
	if x.Had < 1 {
		return 0, false
	}
	return x.Owed / x.Had, true
}

// had is the device seconds that the search has had.
func (f fairness) had(id string, now time.Time) float64 {
	if f[id] == nil {
		return 0
	}
	x := *f[id]
	until(&x, now)
	return x.Had
}

// share sets anew what every search is owed, after something started or ended:
// devices by weight among the searches that go on. While a device stands idle
// nobody waits, so nobody is owed more than it has.
func (st *state) share() {
	now := st.now()
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
	having := map[string]float64{}
	for _, r := range st.runs {
		having[r.trial.SearchID]++
	}
	weights := 0.0
	for _, t := range st.tenants {
		if t.goesOn() {
			weights += t.weight()
		}
	}
	var changed []store.Share
	for id, t := range st.tenants {
		owes := 0.0
		if t.goesOn() {
			owes = devices * t.weight() / weights
			if idle {
				owes = min(owes, having[id])
			}
		}
		if st.fair.goOn(id, owes, having[id], now) {
			changed = append(changed, *st.fair[id])
		}
	}
	for id, x := range st.fair {
		if st.tenants[id] == nil {
			if st.fair.goOn(id, 0, 0, now) {
				changed = append(changed, *x)
			}
			delete(st.fair, id)
		}
	}
	st.keepShares(changed)
}

// keepShares writes rows whose rates have changed.
func (st *state) keepShares(rows []store.Share) {
	if len(rows) == 0 {
		return
	}
	if _, err := st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		for _, x := range rows {
			if err := tx.PutShare(x); err != nil {
				return err
			}
		}
		return nil
	}); err != nil && st.ctx.Err() == nil {
		st.cfg.Log.Warn("what searches had of the devices could not be noted", "error", err)
	}
}

// recoverShares takes up the rows of a server that ended at a time that only the
// attempts it left know: the last that one of them told, alive. From then on
// nobody had or was owed anything.
func (st *state) recoverShares(rows []store.Share, alive time.Time) {
	var changed []store.Share
	now := st.now()
	for i := range rows {
		x := &rows[i]
		if x.Owes == 0 && x.Having == 0 {
			continue
		}
		until(x, alive)
		x.Owes, x.Having, x.At = 0, 0, now
		changed = append(changed, *x)
	}
	st.keepShares(changed)
}

// goesOn tells whether the search could have a device.
func (t *tenant) goesOn() bool { return t.row.State == "open" && !t.paused && t.weight() > 0 }
