package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/easeml/easeml/allocator"
)

// point is the state after a trial has ended. Tenants who have not come yet count with their full loss.
type point struct {
	spent, clock float64
	mean, worst  float64 // loss over tenants
}

// played is one policy on one draw.
type played struct {
	trace []point
	// when[t][j] is how long after tenant t came its loss fell to Config.Targets[j]; the end where it never did.
	when [][]float64
}

// outcome is played, with what finish-time fairness needs beside.
type outcome struct {
	played
	total float64
	// alone[t][j] is like when, with an equal share of the devices for the tenant's own.
	alone [][]float64
}

// outcome plays a policy, then each tenant alone on its equal share of the devices: one device, slowed by how many
// tenants there are for each, or as many whole devices as it is owed.
func (w *world) outcome(policy string) (outcome, error) {
	all := make([]int, len(w.tenants))
	for t := range all {
		all[t] = t
	}
	p, err := w.play(policy, all, w.times, w.config.Devices)
	if err != nil || w.config.NoRho {
		return outcome{played: p, total: w.total}, err
	}
	o := outcome{played: p, total: w.total}
	devices := max(1, w.config.Devices/len(all))
	slow := float64(len(all)*devices) / float64(w.config.Devices)
	for t := range all {
		one, err := w.play(policy, all[t:t+1], []float64{0}, devices)
		if err != nil {
			return o, err
		}
		when := one.when[0]
		for j := range when {
			when[j] *= slow
		}
		o.alone = append(o.alone, when)
	}
	return o, nil
}

// flight is a trial under the virtual clock.
type flight struct {
	tenant, arm int
	start, end  float64
	over        bool // put aside at its limit
}

// play runs one policy for some tenants, until nothing is left to lose or to run.
func (w *world) play(policy string, tenants []int, times []float64, devices int) (played, error) {
	driver, err := w.driver(policy)
	if err != nil {
		return played{}, err
	}
	goals := w.config.Targets
	best := make([]float64, len(w.tenants)) // by what was told
	loss := make([]float64, len(tenants))
	out := played{}
	at := map[int]int{}
	for i, t := range tenants {
		at[t] = i
		best[t] = math.Inf(-1)
		loss[i] = w.top(t)
		out.when = append(out.when, make([]float64, len(goals)))
		for j := range goals {
			out.when[i][j] = math.Inf(1)
		}
	}
	var flying []flight
	clock, spent, come := 0.0, 0.0, 0
	enough := 1e-12
	if w.config.Short {
		enough += slices.Min(goals)
	}
	note := func() {
		out.trace = append(out.trace, point{spent, clock, mean(loss), slices.Max(loss)})
		for i := range loss {
			for j, goal := range goals {
				if loss[i] <= goal+1e-12 && math.IsInf(out.when[i][j], 1) && i < come {
					out.when[i][j] = clock - times[i]
				}
			}
		}
	}
	note()
	for {
		for come < len(tenants) && times[come] <= clock {
			if err := driver.arrive(tenants[come]); err != nil {
				return out, err
			}
			come++
		}
		for len(flying) < devices {
			t, k, limit, ok := driver.next()
			if !ok {
				break
			}
			x := w.cost[w.tenants[t]][k]
			f := flight{tenant: t, arm: k, start: clock, end: clock + x}
			if limit > 0 && x > limit {
				f.over, f.end = true, clock+limit
			}
			flying = append(flying, f)
		}
		first := -1
		for i, f := range flying {
			if first < 0 || f.end < flying[first].end {
				first = i
			}
		}
		if first < 0 && come == len(tenants) {
			break
		}
		if come < len(tenants) && (first < 0 || times[come] < flying[first].end) {
			clock = times[come]
			continue
		}
		f := flying[first]
		flying = slices.Delete(flying, first, first+1)
		clock = f.end
		spent += f.end - f.start
		if err := driver.ended(f); err != nil {
			return out, err
		}
		if told := w.seen[f.tenant][f.arm]; told > best[f.tenant] && !f.over { // false for a failure
			best[f.tenant] = told
			loss[at[f.tenant]] = w.top(f.tenant) - w.quality[w.tenants[f.tenant]][f.arm]
		}
		running := spent
		for _, g := range flying {
			running += clock - g.start
		}
		ended := spent
		spent = running
		note()
		spent = ended
		if !w.config.Settle && slices.Max(loss) <= enough {
			break
		}
	}
	for i := range out.when {
		for j, x := range out.when[i] {
			if math.IsInf(x, 1) {
				out.when[i][j] = clock - times[i]
			}
		}
	}
	return out, nil
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// driver is how play asks a policy: who comes, what to start next, what has ended.
type driver struct {
	arrive func(tenant int) error
	next   func() (tenant, arm int, limit float64, ok bool)
	ended  func(flight) error
}

func (w *world) driver(policy string) (driver, error) {
	if policy == Clairvoyant {
		return w.clairvoyant(), nil
	}
	o, called := w.config.Options, policy
	if v, ok := w.config.Variants[policy]; ok {
		o, policy = v, allocator.PolicyDefault
	}
	o.Policy, o.Seed = policy, w.config.Seed
	o.Settle.Off = !w.config.Settle
	o.Order = nil
	for _, id := range w.config.Orders[policy] {
		o.Order = append(o.Order, allocator.CandidateID(id))
	}
	a, err := allocator.New(o)
	if err != nil {
		return driver{}, err
	}
	name := func(t int) allocator.SearchID { return allocator.SearchID(fmt.Sprintf("tenant %04d", t)) }
	number := map[allocator.SearchID]int{}
	column := map[allocator.CandidateID]int{}
	for k, id := range w.ids {
		column[id] = k
	}
	var broken error
	return driver{
		arrive: func(t int) error {
			p, err := w.prior(called, t)
			if err != nil {
				return err
			}
			size := w.size[w.tenants[t]]
			number[name(t)] = t
			return a.Apply(allocator.SearchAdded{Search: name(t), Owners: 1, Arms: w.arms, Examples: size[0], Features: size[1], Prior: p})
		},
		next: func() (int, int, float64, bool) {
			d, ok := a.Next(class)
			if !ok || broken != nil {
				return 0, 0, 0, false
			}
			broken = a.Apply(allocator.TrialStarted{Search: d.Search, Candidate: d.Candidate, Class: class})
			return number[d.Search], column[d.Candidate], d.Limit, broken == nil
		},
		ended: func(f flight) error {
			if broken != nil {
				return broken
			}
			if err := a.Apply(w.end(f, name(f.tenant))); err != nil {
				return err
			}
			for _, p := range a.LivePriors() {
				if err := a.Apply(p); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// end is what has become of a trial.
func (w *world) end(f flight, id allocator.SearchID) allocator.Event {
	t, k := f.tenant, f.arm
	if f.over {
		x := f.end - f.start
		return allocator.TrialOverran{Search: id, Candidate: w.ids[k], Class: class, Seconds: x, Charge: x}
	}
	x := w.cost[w.tenants[t]][k]
	if math.IsNaN(w.seen[t][k]) {
		return allocator.TrialEnded{Search: id, Candidate: w.ids[k], Class: class, Outcome: allocator.Failed, Charge: x}
	}
	return allocator.TrialEnded{
		Search: id, Candidate: w.ids[k], Class: class, Outcome: allocator.OK, Quality: w.seen[t][k], Seconds: x, Charge: x,
	}
}

// clairvoyant takes the cell with the largest gain in true quality per cost until no cell gains.
func (w *world) clairvoyant() driver {
	here := make([]bool, len(w.tenants))
	best := make([]float64, len(w.tenants)) // counting what is in flight
	return driver{
		arrive: func(t int) error { here[t] = true; return nil },
		next: func() (int, int, float64, bool) {
			tenant, arm, rate := -1, -1, 0.0
			for t, i := range w.tenants {
				if !here[t] {
					continue
				}
				for k, q := range w.quality[i] {
					if r := (q - best[t]) / w.cost[i][k]; r > rate {
						tenant, arm, rate = t, k, r
					}
				}
			}
			if tenant < 0 {
				return 0, 0, 0, false
			}
			best[tenant] = w.quality[w.tenants[tenant]][arm]
			return tenant, arm, 0, true
		},
		ended: func(flight) error { return nil },
	}
}
