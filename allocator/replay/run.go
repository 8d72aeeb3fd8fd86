package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/easeml/easeml/allocator"
)

// class is the one device class of a replay.
const class = "device"

// Run replays every policy on the same draws.
func Run(c Config) (Report, error) {
	c, err := c.filled()
	if err != nil {
		return Report{}, err
	}
	d, err := c.load()
	if err != nil {
		return Report{}, err
	}
	r := Report{Config: c, Rows: len(d.rows), Candidates: len(d.ids), Notes: d.notes}
	traces := make([][]trace, len(c.Policies))
	for n := range c.Repeats {
		w, err := d.draw(&c, n)
		if err != nil {
			return Report{}, fmt.Errorf("draw %d: %w", n+1, err)
		}
		for i, policy := range c.Policies {
			t, err := w.play(policy)
			if err != nil {
				return Report{}, fmt.Errorf("draw %d, policy %s: %w", n+1, policy, err)
			}
			traces[i] = append(traces[i], t)
		}
	}
	for i, policy := range c.Policies {
		r.Policies = append(r.Policies, summarise(policy, traces[i], c.Targets))
	}
	return r, nil
}

// world is one draw: the tenants' rows and what is known beforehand.
type world struct {
	*data
	config  *Config
	tenants []int
	history []allocator.Row
	arms    []allocator.Arm
	fitted  *allocator.Prior
	paper   *allocator.Prior
	total   float64     // cost of all cells of the tenants
	seen    [][]float64 // what a trial tells: quality plus noise, per tenant
}

func (d *data) draw(c *Config, n int) (*world, error) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(n)))
	order := r.Perm(len(d.rows))
	w := &world{data: d, config: c, tenants: order[:c.Tenants]}
	rest := order[c.Tenants:]
	switch {
	case c.History < 0:
		rest = nil
	case c.History > 0 && c.History < len(rest):
		rest = rest[:c.History]
	}
	for _, i := range rest {
		w.history = append(w.history, d.row(i))
	}
	for _, id := range d.ids {
		w.arms = append(w.arms, allocator.Arm{ID: id, Family: c.Family(id)})
	}
	for _, i := range w.tenants {
		told := make([]float64, len(d.ids))
		for k := range told {
			told[k] = min(max(d.quality[i][k]+c.Noise*r.NormFloat64(), 0), 1)
			if !math.IsNaN(d.cost[i][k]) {
				w.total += d.cost[i][k]
			}
		}
		w.seen = append(w.seen, told)
	}
	return w, w.fit()
}

// row is a row of the matrices as history.
func (d *data) row(i int) allocator.Row {
	r := allocator.Row{
		Quality: map[allocator.CandidateID]float64{}, Seconds: map[allocator.CandidateID]float64{}, Class: map[allocator.CandidateID]string{},
		Examples: d.size[i][0], Features: d.size[i][1],
	}
	for k, id := range d.ids {
		if !math.IsNaN(d.quality[i][k]) {
			r.Quality[id], r.Seconds[id], r.Class[id] = d.quality[i][k], d.cost[i][k], class
		}
	}
	return r
}

// fit makes the priors that the policies of this replay need.
func (w *world) fit() error {
	if len(w.history) == 0 {
		return nil
	}
	var err error
	for _, p := range w.config.Policies {
		switch {
		case p == Clairvoyant:
		case ofPaper(p) && w.paper == nil:
			w.paper, err = allocator.FitPaperPrior(w.history, w.config.Family)
		case !ofPaper(p) && w.fitted == nil:
			w.fitted, err = allocator.FitPrior(w.history, w.config.Family, allocator.FitOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofPaper tells which policies start from the paper's prior: a linear scale and costs that are a mean over history.
func ofPaper(policy string) bool {
	return policy != allocator.PolicyDefault && policy != allocator.PolicyMMEI
}

// prior is what tenant t starts from under a policy; nil = families alone.
func (w *world) prior(policy string, tenant int) (*allocator.Prior, error) {
	p := w.fitted
	if ofPaper(policy) {
		p = w.paper
	}
	if !w.config.KnownCosts {
		return p, nil
	}
	if p == nil {
		p = allocator.DefaultPrior(w.arms)
	}
	known := *p
	n := len(known.Candidates)
	known.Candidates = slices.Clone(p.Candidates)
	s := allocator.SecondsPrior{Mean: make([]float64, n), Slope: make([][2]float64, n), Cov: make(allocator.Symmetric, n*(n+1)/2), Noise: 1}
	for j, c := range known.Candidates {
		known.Candidates[j].Timed = 1
		k := slices.Index(w.ids, c.ID)
		if x := w.cost[w.tenants[tenant]][k]; !math.IsNaN(x) {
			s.Mean[j] = math.Log(x)
		}
	}
	known.Seconds = s
	return allocator.Seal(known)
}

// point is the state after a trial has ended.
type point struct{ share, loss float64 }

// trace is the mean loss over the share of the total cost.
type trace []point

// flight is a trial under the virtual clock.
type flight struct {
	tenant, arm int
	start, end  float64
}

// play runs one policy to the smallest target.
func (w *world) play(policy string) (trace, error) {
	next, ended, err := w.chooser(policy)
	if err != nil {
		return nil, err
	}
	goal := slices.Min(w.config.Targets)
	best := make([]float64, len(w.tenants)) // by what was told
	loss := make([]float64, len(w.tenants))
	for t := range w.tenants {
		best[t] = math.Inf(-1)
		loss[t] = w.top(t)
	}
	var flying []flight
	clock, spent := 0.0, 0.0
	out := trace{{0, mean(loss)}}
	for {
		for len(flying) < w.config.Devices {
			t, k, ok := next()
			if !ok {
				break
			}
			flying = append(flying, flight{t, k, clock, clock + w.cost[w.tenants[t]][k]})
		}
		if len(flying) == 0 {
			return out, nil
		}
		first := 0
		for i, f := range flying {
			if f.end < flying[first].end {
				first = i
			}
		}
		f := flying[first]
		flying = slices.Delete(flying, first, first+1)
		clock = f.end
		spent += f.end - f.start
		if err := ended(f.tenant, f.arm); err != nil {
			return nil, err
		}
		if told := w.seen[f.tenant][f.arm]; told > best[f.tenant] {
			best[f.tenant] = told
			loss[f.tenant] = w.top(f.tenant) - w.quality[w.tenants[f.tenant]][f.arm]
		}
		x := clock
		if w.config.Metric == MetricCost {
			x = spent
			for _, g := range flying {
				x += clock - g.start
			}
		}
		out = append(out, point{x / w.total, mean(loss)})
		if !w.config.Settle && out[len(out)-1].loss <= goal+1e-12 {
			return out, nil
		}
	}
}

// top is the best quality in a tenant's row.
func (w *world) top(t int) float64 {
	top := 0.0
	for _, q := range w.quality[w.tenants[t]] {
		if q > top {
			top = q
		}
	}
	return top
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// chooser gives the two seams of play: what to start next, and what has ended.
func (w *world) chooser(policy string) (next func() (tenant, arm int, ok bool), ended func(tenant, arm int) error, err error) {
	if policy == Clairvoyant {
		return w.clairvoyant()
	}
	o := w.config.Options
	o.Policy, o.Seed = policy, w.config.Seed
	o.Settle.Off = !w.config.Settle
	a, err := allocator.New(o)
	if err != nil {
		return nil, nil, err
	}
	name := func(t int) allocator.SearchID { return allocator.SearchID(fmt.Sprintf("tenant %04d", t)) }
	number := map[allocator.SearchID]int{}
	for t, i := range w.tenants {
		p, err := w.prior(policy, t)
		if err != nil {
			return nil, nil, err
		}
		e := allocator.SearchAdded{Search: name(t), Owners: 1, Examples: w.size[i][0], Features: w.size[i][1], Prior: p}
		for k := range w.arms {
			if !math.IsNaN(w.quality[i][k]) {
				e.Arms = append(e.Arms, w.arms[k])
			}
		}
		if err := a.Apply(e); err != nil {
			return nil, nil, err
		}
		number[e.Search] = t
	}
	var broken error
	next = func() (int, int, bool) {
		d, ok := a.Next(class)
		if !ok || broken != nil {
			return 0, 0, false
		}
		broken = a.Apply(allocator.TrialStarted{Search: d.Search, Candidate: d.Candidate, Class: class})
		return number[d.Search], slices.Index(w.ids, d.Candidate), broken == nil
	}
	ended = func(t, k int) error {
		if broken != nil {
			return broken
		}
		x := w.cost[w.tenants[t]][k]
		return a.Apply(allocator.TrialEnded{
			Search: name(t), Candidate: w.ids[k], Class: class, Outcome: allocator.OK, Quality: w.seen[t][k], Seconds: x, Charge: x,
		})
	}
	return next, ended, nil
}

// clairvoyant takes the cell with the largest gain in true quality per cost until no cell gains.
func (w *world) clairvoyant() (next func() (int, int, bool), ended func(int, int) error, err error) {
	best := make([]float64, len(w.tenants)) // counting what is in flight
	next = func() (int, int, bool) {
		tenant, arm, rate := -1, -1, 0.0
		for t, i := range w.tenants {
			for k, q := range w.quality[i] {
				if r := (q - best[t]) / w.cost[i][k]; r > rate {
					tenant, arm, rate = t, k, r
				}
			}
		}
		if tenant < 0 {
			return 0, 0, false
		}
		best[tenant] = w.quality[w.tenants[tenant]][arm]
		return tenant, arm, true
	}
	return next, func(int, int) error { return nil }, nil
}
