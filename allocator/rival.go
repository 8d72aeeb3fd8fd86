package allocator

import (
	"math"
	"slices"
	"sort"
)

// The paper's policies and other comparators. They scan all searches for a decision; only the default policy and mm-ei
// are made for many thousands of searches.

// rivalry is what GREEDY keeps of a search.
type rivalry struct {
	bound float64 // B: the lowest upper confidence bound at which an arm was chosen so far
	gap   float64 // s = B - y of the last trial: the search's potential
}

func newRivalry() rivalry { return rivalry{bound: math.Inf(1), gap: math.Inf(1)} }

// observe is the paper's update: B_t = min(B_{t-1}, µ + sqrt(β/c)·σ at the chosen arm), gap = B_t - y.
func (r *rivalry) observe(bound, y float64) {
	r.bound = min(r.bound, bound)
	r.gap = r.bound - y
}

// hybridState is what HYBRID and round robin keep beside the searches.
type hybridState struct {
	Robin  bool     `json:"robin"` // GREEDY has frozen: round robin from here on
	Frozen int      `json:"frozen"`
	Turn   SearchID `json:"turn"` // served last
	// What GREEDY would have decided upon last time: a hash of the set V and the sum of the best qualities.
	Set uint64  `json:"set"`
	Sum float64 `json:"sum"`
}

// wake lets GREEDY try again when searches or candidates have come or gone.
func (h *hybridState) wake() { h.Robin, h.Frozen, h.Set, h.Sum = false, 0, 0, 0 }

// note follows a start that is about to happen: HYBRID counts the steps in which neither the candidate set nor the
// overall quality moved, and freezes after Frozen of them.
func (h *hybridState) note(a *Allocator, s *search, c int) {
	h.Turn = s.id
	if a.opts.Policy != PolicyHybrid || h.Robin || s.runs == 0 {
		return
	}
	set, sum := uint64(14695981039346656037), 0.0
	for _, t := range a.potential(a.runnable(c)) {
		for _, b := range []byte(t.id) {
			set = (set ^ uint64(b)) * 1099511628211 // FNV-1a
		}
		set *= 1099511628211
	}
	for _, t := range a.order {
		sum += max(t.best, 0)
	}
	if set == h.Set && sum == h.Sum {
		h.Frozen++
	} else {
		h.Frozen = 0
	}
	h.Set, h.Sum = set, sum
	h.Robin = h.Frozen >= a.opts.Hybrid.Frozen
}

// runnable lists the searches that have something to run on class c, by id.
func (a *Allocator) runnable(c int) []*search {
	var rs []*search
	for _, s := range a.order {
		if s.places[c].arm >= 0 {
			rs = append(rs, s)
		}
	}
	return rs
}

// potential is the paper's candidate set V: the searches whose gap is at least the mean gap. Searches without a result
// are not in it.
func (a *Allocator) potential(rs []*search) []*search {
	mean, n := 0.0, 0.0
	for _, s := range rs {
		if !math.IsInf(s.rival.gap, 0) {
			mean += s.rival.gap
			n++
		}
	}
	var v []*search
	for _, s := range rs {
		if !math.IsInf(s.rival.gap, 0) && s.rival.gap >= mean/n-1e-15 {
			v = append(v, s)
		}
	}
	return v
}

// confidence returns β_t and the costs' maximum for search s on class c:
//
//	β_t = m · 2·c*·log(π²·n·K·t²/(6δ)),  t = trials of the search + 1, n searches, K candidates.
//
// Costs enter only as c*/c_k, so their unit is of no account; they are divided by c* here.
func (s *search) confidence(a *Allocator, c int) (beta, logMax float64) {
	logMax = math.Inf(-1)
	for k := range s.arms {
		if !s.arms[k].removed {
			logMax = max(logMax, s.logCost(a, k, c))
		}
	}
	t := float64(s.runs + len(s.flying) + 1)
	n, arms := float64(max(len(a.order), 1)), float64(len(s.arms))
	h := a.opts.Hybrid
	return h.Beta * 2 * max(0, math.Log(math.Pi*math.Pi*n*arms*t*t/(6*h.Delta))), logMax
}

// upper is the cost-aware upper confidence bound µ(k) + sqrt(β·c*/c_k)·σ(k) on the prior's scale.
func (s *search) upper(a *Allocator, k, c int, beta, logMax float64) float64 {
	return s.quality.mu[k] + math.Sqrt(beta*math.Exp(logMax-s.logCost(a, k, c))*s.quality.v[k])
}

// bound is the upper confidence bound of an arm that is about to start; only the paper's policies need it.
func (s *search) bound(a *Allocator, k, c int) float64 {
	if a.opts.Policy == PolicyDefault || a.opts.Policy == PolicyMMEI {
		return 0
	}
	beta, logMax := s.confidence(a, c)
	return s.upper(a, k, c, beta, logMax)
}

// ucb finds the arm with the highest upper bound, and the one after it.
func (s *search) ucb(a *Allocator, c int) (p pick) {
	p = pick{search: s, arm: -1, second: -1, score: math.Inf(-1), secondScore: math.Inf(-1)}
	stage := s.places[c].stage
	cheapest := 0.0
	if stage == 1 {
		cheapest = s.cheapestCost(a, c)
	}
	beta, logMax := s.confidence(a, c)
	for k := range s.arms {
		if !s.considered(a, k, c, stage, cheapest) {
			continue
		}
		switch u := s.upper(a, k, c, beta, logMax); {
		case p.arm < 0 || u > p.score:
			p.second, p.secondScore = p.arm, p.score
			p.arm, p.score = k, u
		case p.second < 0 || u > p.secondScore:
			p.second, p.secondScore = k, u
		}
	}
	return p
}

// greedy is the paper's Algorithm 2: every search once, then, in the set V of searches with at least the mean potential,
// the one with the largest difference between its highest upper bound and its best quality.
func (a *Allocator) greedy(rs []*search, c int) pick {
	for _, s := range rs {
		if s.runs == 0 && len(s.flying) == 0 {
			p := s.ucb(a, c)
			p.turn = "first"
			return p
		}
	}
	v := a.potential(rs)
	if len(v) == 0 {
		v = rs // all first trials are still in flight
	}
	var chosen pick
	chosen.arm = -1
	largest := math.Inf(-1)
	for _, s := range v {
		p := s.ucb(a, c)
		best := 0.0
		if s.best >= 0 {
			best = s.scale.to(s.best)
		}
		if gap := p.score - best; p.arm >= 0 && (chosen.arm < 0 || gap > largest) {
			chosen, largest = p, gap
		}
	}
	chosen.turn = "gap"
	chosen.turnNumbers = []number{{"gap", largest}, {"of", float64(len(v))}}
	return chosen
}

// robin serves the searches in the order of their ids, from the one after the last served.
func (a *Allocator) robin(rs []*search, c int) pick {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].id > a.hybrid.Turn })
	p := rs[i%len(rs)].ucb(a, c)
	p.turn = "robin"
	return p
}

// habit serves the searches in turn and takes the first candidate of Options.Order that is left.
func (a *Allocator) habit(rs []*search, c int) pick {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].id > a.hybrid.Turn })
	s := rs[i%len(rs)]
	p := pick{search: s, arm: -1, second: -1, turn: "robin"}
	stage, cheapest := s.places[c].stage, 0.0
	if stage == 1 {
		cheapest = s.cheapestCost(a, c)
	}
	place := func(k int) int {
		if i := slices.Index(a.opts.Order, s.arms[k].ID); i >= 0 {
			return i
		}
		return len(a.opts.Order)
	}
	for k := range s.arms {
		switch {
		case !s.considered(a, k, c, stage, cheapest):
		case p.arm < 0 || place(k) < place(p.arm):
			p.arm, p.second = k, p.arm
		case p.second < 0 || place(k) < place(p.second):
			p.second = k
		}
	}
	p.score, p.secondScore = -float64(place(p.arm)), math.Inf(-1)
	if p.second >= 0 {
		p.secondScore = -float64(place(p.second))
	}
	return p
}

// first serves the search that came first until it has nothing left.
func (a *Allocator) first(rs []*search, c int) pick {
	chosen := rs[0]
	for _, s := range rs[1:] {
		if s.arrival < chosen.arrival {
			chosen = s
		}
	}
	p := chosen.ucb(a, c)
	p.turn = "first"
	return p
}

// random serves a search and a candidate by a hash of the seed and the number of trials started.
func (a *Allocator) random(rs []*search, c int) pick {
	x := splitMix(a.opts.Seed + uint64(a.started)*0x9e3779b97f4a7c15)
	s := rs[x%uint64(len(rs))]
	var can []int
	stage, cheapest := s.places[c].stage, 0.0
	if stage == 1 {
		cheapest = s.cheapestCost(a, c)
	}
	for k := range s.arms {
		if s.considered(a, k, c, stage, cheapest) {
			can = append(can, k)
		}
	}
	return pick{search: s, arm: can[splitMix(x)%uint64(len(can))], second: -1, turn: "random"}
}

// splitMix is Steele, Lea and Flood's SplitMix64 finaliser.
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
