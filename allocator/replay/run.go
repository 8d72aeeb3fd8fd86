package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/easeml/easeml/allocator"
)

// class is the one device class of a replay.
const class = "device"

// Run replays every policy on the same draws. Draws run side by side on the processors there are; the report doesn't
// depend on how many.
func Run(c Config) (Report, error) {
	c, err := c.filled()
	if err != nil {
		return Report{}, err
	}
	d, err := c.load()
	if err != nil {
		return Report{}, err
	}
	outcomes := make([][]outcome, c.Repeats) // per draw and policy
	failed := make([]error, c.Repeats)
	var wg sync.WaitGroup
	work := make(chan int)
	for range min(runtime.GOMAXPROCS(0), c.Repeats) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range work {
				outcomes[n], failed[n] = d.replay(&c, n)
			}
		}()
	}
	for n := range c.Repeats {
		work <- n
	}
	close(work)
	wg.Wait()
	for n, err := range failed {
		if err != nil {
			return Report{}, fmt.Errorf("draw %d: %w", n+1, err)
		}
	}
	r := Report{Settings: Settings{Config: c, Rows: len(d.rows), Candidates: len(d.ids), Notes: d.notes}}
	for i, policy := range c.Policies {
		of := make([]outcome, c.Repeats)
		for n := range of {
			of[n] = outcomes[n][i]
		}
		r.Policies = append(r.Policies, summarise(policy, of, &c))
	}
	return r, nil
}

// Rows are all rows of a configuration's matrices, as history.
func Rows(c Config) ([]allocator.Row, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	d, err := c.load()
	if err != nil {
		return nil, err
	}
	rows := make([]allocator.Row, len(d.rows))
	for i := range rows {
		rows[i] = d.row(i)
	}
	return rows, nil
}

// replay plays all policies on draw n.
func (d *data) replay(c *Config, n int) ([]outcome, error) {
	w, err := d.draw(c, n)
	if err != nil {
		return nil, err
	}
	var out []outcome
	for _, policy := range c.Policies {
		o, err := w.outcome(policy)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", policy, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// world is one draw: the tenants' rows and what is known beforehand.
type world struct {
	*data
	config  *Config
	tenants []int
	times   []float64 // when they come
	history []allocator.Row
	arms    []allocator.Arm
	fitted  map[allocator.Beliefs]*allocator.Prior // by what they started from
	paper   *allocator.Prior
	total   float64     // cost of all cells of the tenants
	seen    [][]float64 // what a trial tells: quality plus noise, per tenant; NaN: it fails
}

func (d *data) draw(c *Config, n int) (*world, error) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(n)))
	w := &world{data: d, config: c, fitted: map[allocator.Beliefs]*allocator.Prior{}}
	if c.Rename {
		w.rename(rand.New(rand.NewPCG(c.Seed+1, uint64(n))).Perm(len(d.ids)))
	}
	for _, id := range w.ids {
		w.arms = append(w.arms, allocator.Arm{ID: id, Family: w.family(id)})
	}
	var rest []int
	w.tenants, w.times, rest = d.seat(r.Perm(len(d.rows)), c.Tenants)
	switch {
	case c.History < 0:
		rest = nil
	case c.History > 0 && c.History < len(rest):
		rest = rest[:c.History]
	}
	for _, i := range rest {
		w.history = append(w.history, w.row(i))
	}
	for _, i := range w.tenants {
		told := make([]float64, len(d.ids))
		for k := range told {
			told[k] = d.quality[i][k]
			if e := c.Noise * r.NormFloat64(); !math.IsNaN(told[k]) {
				told[k] = min(max(told[k]+e, 0), 1)
			}
			w.total += d.cost[i][k]
		}
		w.seen = append(w.seen, told)
	}
	return w, w.fit()
}

// rename puts each candidate's place in an order before its id.
func (w *world) rename(order []int) {
	d := *w.data
	d.ids = make([]allocator.CandidateID, len(order))
	for k, id := range w.ids {
		d.ids[k] = allocator.CandidateID(fmt.Sprintf("%04d ", order[k])) + id
	}
	w.data = &d
}

// family is that of the candidate's id in the matrix.
func (w *world) family(id allocator.CandidateID) string {
	if w.config.Rename {
		id = id[strings.IndexByte(string(id), ' ')+1:]
	}
	return w.config.Family(id)
}

// row is a row of the matrices as history.
func (d *data) row(i int) allocator.Row {
	r := allocator.Row{
		Quality: map[allocator.CandidateID]float64{}, Seconds: map[allocator.CandidateID]float64{}, Class: map[allocator.CandidateID]string{},
		Examples: d.size[i][0], Features: d.size[i][1],
	}
	for k, id := range d.ids {
		if !math.IsNaN(d.quality[i][k]) {
			r.Quality[id] = d.quality[i][k]
		}
		r.Seconds[id], r.Class[id] = d.cost[i][k], class
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
		b := w.config.beliefs(p)
		switch {
		case p == Clairvoyant:
		case w.config.ofPaper(p) && w.paper == nil:
			w.paper, err = allocator.FitPaperPrior(w.history, w.family)
		case !w.config.ofPaper(p) && w.fitted[b] == nil:
			w.fitted[b], err = allocator.FitPrior(w.history, w.family, allocator.FitOptions{Beliefs: &b})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofPaper tells which policies start from the paper's prior: a linear scale and costs that are a mean over history.
func (c *Config) ofPaper(policy string) bool {
	if _, ok := c.Variants[policy]; ok {
		return false
	}
	return policy != allocator.PolicyDefault && policy != allocator.PolicyMMEI
}

// beliefs are those that a policy starts from.
func (c *Config) beliefs(policy string) allocator.Beliefs {
	o := c.Options
	if v, ok := c.Variants[policy]; ok {
		o = v
	}
	if o.Beliefs == nil {
		return allocator.DefaultBeliefs()
	}
	return *o.Beliefs
}

// prior is what tenant t starts from under a policy; nil = families alone.
func (w *world) prior(policy string, tenant int) (*allocator.Prior, error) {
	b := w.config.beliefs(policy)
	p := w.fitted[b]
	if w.config.ofPaper(policy) {
		p = w.paper
	}
	if !w.config.KnownCosts {
		return p, nil
	}
	if p == nil {
		p = b.Prior(w.arms)
	}
	known := *p
	n := len(known.Candidates)
	known.Candidates = slices.Clone(p.Candidates)
	s := allocator.SecondsPrior{Mean: make([]float64, n), Slope: make([][2]float64, n), Cov: make(allocator.Symmetric, n*(n+1)/2), Noise: 1}
	for j, c := range known.Candidates {
		known.Candidates[j].Timed = 1
		s.Mean[j] = math.Log(w.cost[w.tenants[tenant]][slices.Index(w.ids, c.ID)])
	}
	known.Seconds = s
	return allocator.Seal(known)
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
