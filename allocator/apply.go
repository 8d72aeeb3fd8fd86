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
		return a.with(e.Search, func(s *search) error { return a.end(s, &e) })
	case TrialLost:
		return a.with(e.Search, func(s *search) error { return a.lose(s, &e) })
	case Rescored:
		return a.with(e.Search, func(s *search) error { return a.rescore(s, &e) })
	case PriorChanged:
		return a.with(e.Search, func(s *search) error { return a.changePrior(s, &e) })
	case PoolChanged:
		return a.changePool(&e)
	}
	return fmt.Errorf("%T is not an event of the allocator", e)
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
	for i := range arms {
		m := &arms[i]
		if m.ID == "" {
			return fmt.Errorf("candidate %d of the list has no id", i+1)
		}
		for j := range i {
			if arms[j].ID == m.ID {
				return fmt.Errorf("candidate %q is listed twice", m.ID)
			}
		}
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
	return arm{Arm: m, state: Untried, allowed: a.allowed(&m), quality: -1}
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
		s.prior = DefaultPrior(e.Arms)
	}
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
		q := o.Quality
		n := note{Candidate: o.Candidate, Class: o.Class, Quality: &q, QNoise: inheritedQuality, SNoise: inheritedSeconds}
		if k := s.prior.index(o.Candidate); o.Seconds > 0 && a.classIndex(o.Class) >= 0 {
			x := math.Log(o.Seconds)
			if k >= 0 && o.Examples > 0 && s.examples > 0 {
				x += s.prior.Seconds.sizeTerm(k, s.examples, s.features) - s.prior.Seconds.sizeTerm(k, o.Examples, o.Features)
			}
			n.LogSec = &x
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

func (a *Allocator) changeArms(s *search, e *ArmsChanged) error {
	if err := checkArms(e.Added); err != nil {
		return err
	}
	for _, m := range e.Added {
		k := s.find(m.ID)
		if k < 0 || s.arms[k].removed && s.arms[k].Version == m.Version && s.arms[k].state != Running {
			continue
		}
		if s.arms[k].state == Running {
			return fmt.Errorf("candidate %q is running; it can be replaced when it has ended", m.ID)
		}
		if s.arms[k].Version >= m.Version {
			return fmt.Errorf("candidate %q is there already in version %d; another meaning needs a higher version than that, not %d", m.ID, s.arms[k].Version, m.Version)
		}
	}
	for _, id := range e.Removed {
		if k := s.find(id); k < 0 || s.arms[k].removed {
			return fmt.Errorf("candidate %q cannot be removed: it is not there", id)
		}
		if slices.ContainsFunc(e.Added, func(m Arm) bool { return m.ID == id }) {
			return fmt.Errorf("candidate %q is both added and removed", id)
		}
	}
	if err := a.seeArms(e.Added); err != nil {
		return err
	}
	for _, id := range e.Removed {
		s.arms[s.find(id)].removed = true
	}
	s.insisted = false
	if len(e.Added) == 0 {
		return nil
	}
	fresh := make([]arm, 0, len(s.arms)+len(e.Added))
	for k := range s.arms {
		if !slices.ContainsFunc(e.Added, func(m Arm) bool { return m.ID == s.arms[k].ID }) {
			fresh = append(fresh, s.arms[k])
		}
	}
	for _, m := range e.Added {
		next := a.newArm(m)
		next.invited = s.runs > 0
		if k := s.find(m.ID); k >= 0 {
			if s.arms[k].Version == m.Version { // back again: what was tried stays tried
				next = s.arms[k]
				next.Arm, next.removed, next.allowed = m, false, a.allowed(&m)
			} else {
				next.charge = s.arms[k].charge
				s.disown(m.ID)
			}
		}
		fresh = append(fresh, next)
	}
	slices.SortFunc(fresh, func(x, y arm) int { return compare(string(x.ID), string(y.ID)) })
	flying := make([]CandidateID, len(s.flying))
	for i, f := range s.flying {
		flying[i] = s.arms[f.arm].ID
	}
	s.arms = fresh
	for i := range s.flying {
		s.flying[i].arm = s.find(flying[i])
	}
	if s.prior.Rows == 0 { // a prior from families alone knows exactly the arms it was made for
		s.prior = DefaultPrior(s.plain())
	}
	s.rebuild(a)
	a.hybrid.wake()
	return nil
}

// disown turns the notes of a candidate whose meaning has changed into inherited ones.
func (s *search) disown(id CandidateID) {
	for i := range s.log {
		if n := &s.log[i]; n.Candidate == id && n.Own {
			n.Own = false
			n.QNoise += inheritedQuality
			n.SNoise += inheritedSeconds
		}
	}
}

func (a *Allocator) start(s *search, e *TrialStarted) error {
	k := s.find(e.Candidate)
	if k < 0 || s.arms[k].removed {
		return fmt.Errorf("there is no candidate %q to start", e.Candidate)
	}
	if st := s.arms[k].state; st != Untried {
		return fmt.Errorf("candidate %q cannot start: it is %s", e.Candidate, st)
	}
	if err := a.see(e.Class); err != nil {
		return err
	}
	c := a.classIndex(e.Class)
	if !s.eligible(k, c) {
		return fmt.Errorf("candidate %q cannot start on %q: it may not or could not run there", e.Candidate, e.Class)
	}
	a.hybrid.note(a, s, c)
	f := flight{arm: k, class: c, charge: math.Exp(s.logCost(a, k, c)), bound: s.bound(a, k, c)}
	s.flying = append(s.flying, f)
	slices.SortFunc(s.flying, func(x, y flight) int { return x.arm - y.arm })
	s.arms[k].state = Running
	s.expect()
	a.started++
	a.classes[c].started++
	s.places[c].since = a.classes[c].started
	return nil
}

// expect sums what is in flight.
func (s *search) expect() {
	s.expected = 0
	for _, f := range s.flying {
		s.expected += f.charge
	}
}

// running finds the flight of a candidate, on the class that the event names.
func (s *search) running(a *Allocator, id CandidateID, class string) (int, error) {
	k := s.find(id)
	if k < 0 {
		return 0, fmt.Errorf("there is no candidate %q", id)
	}
	i := s.flightOf(k)
	if i < 0 {
		return 0, fmt.Errorf("candidate %q is not running, it is %s", id, s.arms[k].state)
	}
	if on := a.classes[s.flying[i].class].name; class != "" && class != on {
		return 0, fmt.Errorf("candidate %q runs on %q, not on %q", id, on, class)
	}
	return i, nil
}

func (s *search) progress(e *TrialProgress) error {
	if err := charge(e.Charge); err != nil {
		return err
	}
	k := s.find(e.Candidate)
	i := -1
	if k >= 0 {
		i = s.flightOf(k)
	}
	if i < 0 {
		return fmt.Errorf("candidate %q is not running", e.Candidate)
	}
	s.flying[i].charge = max(s.flying[i].charge, e.Charge)
	s.expect()
	return nil
}

// land takes a flight off and counts its charge.
func (s *search) land(i int, cost float64) flight {
	f := s.flying[i]
	s.flying = slices.Delete(s.flying, i, i+1)
	s.expect()
	s.attained += cost
	s.arms[f.arm].charge += cost
	return f
}

func (a *Allocator) end(s *search, e *TrialEnded) error {
	i, err := s.running(a, e.Candidate, e.Class)
	if err != nil {
		return err
	}
	if err := charge(e.Charge); err != nil {
		return fmt.Errorf("candidate %q: %w", e.Candidate, err)
	}
	var state ArmState
	switch e.Outcome {
	case OK, Censored:
		if err := checkQuality(e.Quality); err != nil {
			return fmt.Errorf("candidate %q: %w", e.Candidate, err)
		}
		if err := checkSeconds(e.Seconds); err != nil {
			return fmt.Errorf("candidate %q: %w", e.Candidate, err)
		}
		state = TriedOK
		if e.Outcome == Censored {
			state = TriedCensored
		}
	case Infeasible:
		state = Untried // elsewhere
	case Failed:
		state = TriedFailed
	default:
		return fmt.Errorf("candidate %q: %q is no outcome; there are ok, censored, infeasible and failed", e.Candidate, e.Outcome)
	}
	f := s.land(i, e.Charge)
	arm := &s.arms[f.arm]
	arm.state = state
	if e.Outcome == Infeasible {
		arm.infeasible |= 1 << f.class
		return nil
	}
	if e.Outcome == Failed || arm.removed {
		return nil
	}
	arm.quality = e.Quality
	n := note{Candidate: arm.ID, Class: a.classes[f.class].name, Quality: &e.Quality, Own: true}
	if e.Outcome == Censored {
		n.QNoise, n.SNoise = censoredQuality, censoredSeconds
	}
	if e.Seconds > 0 {
		x := math.Log(e.Seconds)
		// A trial that was stopped early says only that it would have taken longer.
		if m, _ := s.logSeconds(f.arm, f.class); e.Outcome == OK || x > m {
			n.LogSec = &x
		}
	}
	s.log = append(s.log, n)
	s.learn(a, &n)
	if e.Quality > s.best {
		s.best, s.bestArm = e.Quality, arm.ID
	}
	s.rival.observe(f.bound, s.scale.to(e.Quality))
	return nil
}

func (a *Allocator) lose(s *search, e *TrialLost) error {
	i, err := s.running(a, e.Candidate, e.Class)
	if err != nil {
		return err
	}
	if err := charge(e.Charge); err != nil {
		return fmt.Errorf("candidate %q: %w", e.Candidate, err)
	}
	s.arms[s.land(i, e.Charge).arm].state = Untried
	return nil
}

func (a *Allocator) rescore(s *search, e *Rescored) error {
	if err := checkQuality(e.Quality); err != nil {
		return err
	}
	q := e.Quality
	n := note{Candidate: e.Candidate, Quality: &q, QNoise: rescoredQuality}
	s.log = append(s.log, n)
	s.learn(a, &n)
	if q > s.best {
		s.best, s.bestArm = q, e.Candidate
	}
	return nil
}

func (a *Allocator) changePrior(s *search, e *PriorChanged) error {
	p := e.Prior
	if p == nil || len(p.Candidates) == 0 {
		p = DefaultPrior(s.plain())
	} else if err := a.checkPrior(p); err != nil {
		return err
	}
	if p.Quality.Scale != s.prior.Quality.Scale {
		return fmt.Errorf("its prior is on the %s scale; one on the %s scale cannot take its place", s.prior.Quality.Scale, p.Quality.Scale)
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
	a.devices, a.pool = map[string]int{}, 0
	for _, class := range names {
		a.devices[class] = e.Devices[class]
		if e.Devices[class] > 0 {
			a.pool |= 1 << a.classIndex(class)
		}
	}
	for _, s := range a.order {
		a.refresh(s)
	}
	return nil
}
