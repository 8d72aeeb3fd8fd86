package allocator

import (
	"fmt"
	"math"
	"slices"
)

// Apply takes an event in. An impossible event (unknown search, double end, a number that is not finite) is an error
// and changes nothing.
func (a *Allocator) Apply(e Event) error {
	err := a.apply(e)
	if a.stale {
		a.stale = false
		for _, s := range a.order {
			a.refresh(s)
		}
	}
	return err
}

func (a *Allocator) apply(e Event) error {
	switch e := e.(type) {
	case SearchAdded:
		return a.addSearch(&e)
	case ArmsChanged:
		return a.with(e.Search, func(s *search) error { return a.changeArms(s, &e) })
	case SearchRemoved:
		s, ok := a.searches[e.Search]
		if !ok {
			return unknown(e.Search)
		}
		a.remove(s)
		a.hybrid.wake()
		return nil
	case SearchPaused:
		return a.with(e.Search, func(s *search) error { s.paused = true; return nil })
	case SearchResumed:
		return a.with(e.Search, func(s *search) error {
			s.insisted = s.insisted || s.finished
			s.paused = false
			return nil
		})
	case OwnersChanged:
		return a.with(e.Search, func(s *search) error {
			w, err := weight(e.Owners)
			if err == nil {
				s.owners = w
			}
			return err
		})
	case TrialStarted:
		return a.with(e.Search, func(s *search) error { return a.start(s, &e) })
	case TrialProgress:
		return a.with(e.Search, func(s *search) error { return s.progress(&e) })
	case TrialEnded:
		return a.End(&e)
	case TrialLost:
		return a.with(e.Search, func(s *search) error { return a.lose(s, &e) })
	case TrialOverran:
		return a.with(e.Search, func(s *search) error { return a.overrun(s, &e) })
	case Rescored:
		return a.with(e.Search, func(s *search) error { return a.rescore(s, &e) })
	case PriorChanged:
		return a.with(e.Search, func(s *search) error { return a.changePrior(s, &e) })
	case PoolChanged:
		return a.changePool(&e)
	}
	return fmt.Errorf("%T is not an event of the allocator", e)
}

// End is Apply for a trial's end, without putting the event into an interface: from one result to the next decision
// nothing is allocated.
func (a *Allocator) End(e *TrialEnded) error {
	s, ok := a.searches[e.Search]
	if !ok {
		return unknown(e.Search)
	}
	if err := a.end(s, e); err != nil {
		return fmt.Errorf("search %s: %w", e.Search, err)
	}
	a.refresh(s)
	return nil
}

// with runs a change on a search and refreshes it. A change that fails must not have changed anything.
func (a *Allocator) with(id SearchID, change func(*search) error) error {
	s, ok := a.searches[id]
	if !ok {
		return unknown(id)
	}
	if err := change(s); err != nil {
		return fmt.Errorf("search %s: %w", id, err)
	}
	a.refresh(s)
	return nil
}

func unknown(id SearchID) error { return fmt.Errorf("there is no search %q", id) }

func weight(w float64) (float64, error) {
	if w == 0 {
		return 1, nil
	}
	if !(w > 0) || math.IsInf(w, 0) {
		return 0, fmt.Errorf("the owners' weight is %v; it must be a positive number", w)
	}
	return w, nil
}

func charge(x float64) error {
	if !(x >= 0) || math.IsInf(x, 0) {
		return fmt.Errorf("the charge is %v; it must be a number that is not negative", x)
	}
	return nil
}

func checkQuality(q float64) error {
	if !(q >= 0 && q <= 1) {
		return fmt.Errorf("the quality is %v; it must lie between 0 and 1", q)
	}
	return nil
}

func checkSeconds(x float64) error {
	if !(x >= 0) || math.IsInf(x, 0) {
		return fmt.Errorf("the seconds are %v; they must be a positive number, or 0 for unknown", x)
	}
	return nil
}

func checkArms(arms []Arm) error {
	known := make(map[CandidateID]bool, len(arms))
	for i := range arms {
		m := &arms[i]
		if m.ID == "" {
			return fmt.Errorf("candidate %d of the list has no id", i+1)
		}
		if known[m.ID] {
			return fmt.Errorf("candidate %q is listed twice", m.ID)
		}
		known[m.ID] = true
		for class, e := range m.Estimate {
			if !(e > 0) || math.IsInf(e, 0) {
				return fmt.Errorf("candidate %q is estimated at %v s on %q; an estimate must be a positive number", m.ID, e, class)
			}
		}
	}
	return nil
}

// seeArms makes the classes known that arms are bound to.
func (a *Allocator) seeArms(arms []Arm) error {
	for i := range arms {
		if err := a.see(arms[i].Classes...); err != nil {
			return err
		}
	}
	return nil
}

func (a *Allocator) newArm(m Arm) arm {
	return arm{Arm: &m, state: Untried, allowed: a.allowed(&m), quality: -1}
}

func (a *Allocator) addSearch(e *SearchAdded) error {
	if _, ok := a.searches[e.Search]; ok {
		return fmt.Errorf("search %q is there already", e.Search)
	}
	w, err := weight(e.Owners)
	if err != nil {
		return fmt.Errorf("search %s: %w", e.Search, err)
	}
	if err := checkArms(e.Arms); err != nil {
		return fmt.Errorf("search %s: %w", e.Search, err)
	}
	if e.Examples < 0 || e.Features < 0 || !(e.Resolution >= 0) || e.Resolution > 1 {
		return fmt.Errorf("search %s: examples %d, features %d and resolution %v must not be negative, and the resolution at most 1", e.Search, e.Examples, e.Features, e.Resolution)
	}
	if e.Prior != nil {
		if err := a.checkPrior(e.Prior); err != nil {
			return fmt.Errorf("search %s: %w", e.Search, err)
		}
	}
	for _, o := range e.Inherited {
		if err := checkQuality(o.Quality); err != nil {
			return fmt.Errorf("search %s: inherited trial of %q: %w", e.Search, o.Candidate, err)
		}
		if err := checkSeconds(o.Seconds); err != nil {
			return fmt.Errorf("search %s: inherited trial of %q: %w", e.Search, o.Candidate, err)
		}
	}
	if err := a.seeArms(e.Arms); err != nil {
		return fmt.Errorf("search %s: %w", e.Search, err)
	}
	s := &search{
		id: e.Search, arrival: a.arrivals, owners: w, examples: e.Examples, features: e.Features,
		resolution: e.Resolution, prior: e.Prior, best: -1, rival: newRivalry(),
	}
	if s.prior == nil || len(s.prior.Candidates) == 0 {
		s.prior = a.opts.Beliefs.Prior(e.Arms)
	}
	s.base = s.prior
	for _, m := range sortedArms(e.Arms) {
		s.arms = append(s.arms, a.newArm(m))
	}
	s.inherit(a, e.Inherited)
	a.arrivals++
	s.rebuild(a)
	a.insert(s)
	a.hybrid.wake()
	a.refresh(s)
	return nil
}

// inherit turns observations of the search before into notes, with the seconds brought to this search's size of data.
func (s *search) inherit(a *Allocator, observations []Observation) {
	for _, o := range sortedObservations(observations) {
		n := note{Candidate: o.Candidate, Class: o.Class, Quality: o.Quality, QNoise: inheritedQuality, SNoise: inheritedSeconds}
		if k := s.prior.index(o.Candidate); o.Seconds > 0 && a.classIndex(o.Class) >= 0 {
			x := math.Log(o.Seconds)
			if k >= 0 && o.Examples > 0 && s.examples > 0 {
				x += s.prior.Seconds.sizeTerm(k, s.examples, s.features) - s.prior.Seconds.sizeTerm(k, o.Examples, o.Features)
			}
			n.LogSec, n.Timed = x, true
		}
		s.log = append(s.log, n)
	}
}

func sortedObservations(os []Observation) []Observation {
	s := append([]Observation(nil), os...)
	slices.SortStableFunc(s, func(x, y Observation) int {
		switch {
		case x.Candidate != y.Candidate:
			return compare(string(x.Candidate), string(y.Candidate))
		case x.Class != y.Class:
			return compare(x.Class, y.Class)
		case x.Quality != y.Quality:
			return compare(x.Quality, y.Quality)
		}
		return compare(x.Seconds, y.Seconds)
	})
	return s
}

func compare[T string | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// checkPrior checks a prior once; a value that a search holds already is known to be whole.
func (a *Allocator) checkPrior(p *Prior) error {
	for _, s := range a.order {
		if s.prior == p {
			return nil
		}
	}
	return p.Check()
}

func (a *Allocator) changePrior(s *search, e *PriorChanged) error {
	p := e.Prior
	if p == nil || len(p.Candidates) == 0 {
		p = a.opts.Beliefs.Prior(s.plain())
	} else if err := a.checkPrior(p); err != nil {
		return err
	}
	if p.Quality.Scale != s.prior.Quality.Scale {
		return fmt.Errorf("its prior is on the %s scale; one on the %s scale cannot take its place", s.prior.Quality.Scale, p.Quality.Scale)
	}
	if p.Base == "" {
		s.base = p
	} else if p.Base != s.base.ID {
		return fmt.Errorf("open searches taught prior %.19s…, and it started from %.19s…", p.Base, s.base.ID)
	}
	s.prior = p
	s.rebuild(a)
	return nil
}

func (a *Allocator) changePool(e *PoolChanged) error {
	for class, n := range e.Devices {
		if n < 0 {
			return fmt.Errorf("the pool has %d devices of class %q; a count is not negative", n, class)
		}
	}
	names := sortedKeys(e.Devices)
	if err := a.see(names...); err != nil {
		return err
	}
	first, before := a.devices == nil, a.pool
	a.devices, a.pool = map[string]int{}, 0
	for _, class := range names {
		a.devices[class] = e.Devices[class]
		if e.Devices[class] > 0 {
			a.pool |= 1 << a.classIndex(class)
		}
	}
	if !first && a.pool == before {
		return nil // other counts of the same classes weigh on nothing
	}
	for _, s := range a.order {
		a.refresh(s)
	}
	return nil
}
