package allocator

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Allocator holds the state. It is not safe for use by several goroutines at once.
type Allocator struct {
	opts     Options
	searches map[SearchID]*search
	order    []*search // by id
	arrivals int
	started  int // trials started, of all classes
	bases    map[string]*basis
	classes  []class
	seen     uint64 // classes that events have named, as bits
	stale    bool   // a class was named for the first time: what is open may differ everywhere
	pool     uint64 // classes with devices, after PoolChanged
	devices  map[string]int

	loads  float64 // sum of the active searches' loads
	actors int     // how many are active
	low    float64 // the mean load the keys in the rank heaps were computed with; at most the mean

	hybrid      hybridState
	work        workspace
	logPatience float64
	logSlack    float64
}

// class is a device class with the two orders in which its runnable searches stand.
type class struct {
	name    string
	logRate float64
	started int    // trials started on it
	rank    ladder // by score: whose turn
	wait    ladder // by waiting time: who is overdue
}

// New makes an empty allocator, or says which option is wrong.
func New(opts Options) (*Allocator, error) {
	o, err := opts.filled()
	if err != nil {
		return nil, err
	}
	return &Allocator{
		opts: o, logPatience: math.Log(o.Patience), logSlack: math.Log(o.Limit.Slack),
		searches: map[SearchID]*search{}, bases: map[string]*basis{},
	}, nil
}

// Options returns the options in force, defaults filled in.
func (a *Allocator) Options() Options { return a.opts }

// Searches lists the searches, sorted by id.
func (a *Allocator) Searches() []SearchID {
	ids := make([]SearchID, len(a.order))
	for i, s := range a.order {
		ids[i] = s.id
	}
	return ids
}

// classIndex finds a class and makes it known to every search if it is new. That is bookkeeping, not state: a class
// weighs on decisions only once an event has named it. -1: there are too many.
func (a *Allocator) classIndex(name string) int {
	for c := range a.classes {
		if a.classes[c].name == name {
			return c
		}
	}
	if len(a.classes) == maxClasses {
		return -1
	}
	c := len(a.classes)
	a.classes = append(a.classes, class{name: name, logRate: math.Log(a.opts.rate(name))})
	a.classes[c].rank = ladder{class: c}
	a.classes[c].wait = ladder{class: c, waiting: true}
	for _, s := range a.order {
		s.growClasses(a)
		for k := range s.arms {
			s.arms[k].allowed = a.allowed(s.arms[k].Arm)
		}
		a.rechoose(s, c)
	}
	return c
}

// see is classIndex for a class that an event names.
func (a *Allocator) see(names ...string) error {
	for _, n := range names {
		if a.classIndex(n) < 0 {
			return fmt.Errorf("device class %q would be the %dth; an allocator can tell %d apart", n, maxClasses+1, maxClasses)
		}
	}
	for _, n := range names {
		if bit := uint64(1) << a.classIndex(n); a.seen&bit == 0 {
			a.seen |= bit
			a.stale = true
		}
	}
	return nil
}

// allowed is the set of classes an arm may run on.
func (a *Allocator) allowed(arm *Arm) uint64 {
	if len(arm.Classes) == 0 {
		return ^uint64(0)
	}
	var bits uint64
	for c := range a.classes {
		if slices.Contains(arm.Classes, a.classes[c].name) {
			bits |= 1 << c
		}
	}
	return bits
}

// known is the set of classes on which something can be expected to run: the pool's, else those that were named.
func (a *Allocator) known() uint64 {
	if a.devices != nil {
		return a.pool
	}
	return a.seen
}

func (a *Allocator) basisFor(p *Prior, arms []Arm) *basis {
	key := basisKey(p, arms)
	b, ok := a.bases[key]
	if !ok {
		b = layOut(p, arms)
		a.bases[key] = b
	}
	b.users++
	return b
}

func (a *Allocator) release(b *basis) {
	if b == nil {
		return
	}
	if b.users--; b.users == 0 {
		delete(a.bases, b.key)
	}
}

func (a *Allocator) insert(s *search) {
	a.searches[s.id] = s
	i := sort.Search(len(a.order), func(i int) bool { return a.order[i].id >= s.id })
	a.order = slices.Insert(a.order, i, s)
}

func (a *Allocator) remove(s *search) {
	for c := range a.classes {
		a.classes[c].rank.drop(s)
		a.classes[c].wait.drop(s)
	}
	a.settleLoad(s, false)
	a.release(s.basis)
	delete(a.searches, s.id)
	i := sort.Search(len(a.order), func(i int) bool { return a.order[i].id >= s.id })
	a.order = slices.Delete(a.order, i, i+1)
	a.keepKeys()
}

// refresh brings everything that is derived from one search up to date; only the changed search is touched.
func (a *Allocator) refresh(s *search) {
	s.quality.forgetFantasies()
	for _, f := range s.flying {
		if !s.arms[f.arm].removed {
			s.quality.fantasise(f.arm, s.prior.Quality.Noise)
		}
	}
	incumbent, logSlope := s.incumbent()
	tail := s.tail()
	for k := range s.arms {
		if s.arms[k].state == Untried && !s.arms[k].removed {
			sd := math.Sqrt(s.quality.v[k]) * tail
			s.logGain[k] = math.Log(sd) + logUnitGain((s.quality.mu[k]-incumbent)/sd) + logSlope
		}
	}
	s.settle(a)
	for c := range a.classes {
		a.rechoose(s, c)
	}
	active := len(s.flying) > 0
	for k := 0; !active && !s.paused && !s.finished && k < len(s.arms); k++ {
		active = s.open(a, k, false)
	}
	s.load = a.settleLoad(s, active)
	a.keepKeys()
}

// rechoose finds the search's best arm on a class and puts the search where it belongs in the class's orders.
func (a *Allocator) rechoose(s *search, c int) {
	p := &s.places[c]
	before := p.arm >= 0 && p.rank >= 0
	s.choose(a, c)
	if p.arm < 0 {
		a.classes[c].rank.drop(s)
		a.classes[c].wait.drop(s)
		return
	}
	p.key = a.key(s, p, a.low)
	a.classes[c].rank.put(s)
	if !before {
		p.since = a.classes[c].started
	}
	a.classes[c].wait.put(s)
}

// settleLoad replaces a search's part in the mean load and returns its new load.
func (a *Allocator) settleLoad(s *search, active bool) float64 {
	if s.active {
		a.loads -= s.load
		a.actors--
	}
	load := (s.attained + s.expected) / s.owners
	if active {
		a.loads += load
		a.actors++
	}
	s.active = active
	return load
}

// mean is the mean load of the active searches.
func (a *Allocator) mean() float64 {
	if a.actors == 0 {
		return 0
	}
	return max(a.loads/float64(a.actors), 0)
}

// keepKeys keeps the rank heaps' keys upper bounds of the scores: they are computed with a mean load that is at most
// the present one. It recomputes all of them when the mean has fallen below that or has left it far behind, which
// happens a logarithmic number of times while work adds up.
func (a *Allocator) keepKeys() {
	m := a.mean()
	if m >= a.low && (a.low > 0 || m == 0) && m <= 2*a.low {
		return
	}
	a.loads, a.actors = 0, 0
	for _, s := range a.order {
		if s.active {
			a.loads += s.load
			a.actors++
		}
	}
	a.low = 0.8 * a.mean()
	for c := range a.classes {
		a.classes[c].rank.rekey(a)
	}
}
