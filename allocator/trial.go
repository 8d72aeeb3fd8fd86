package allocator

import (
	"fmt"
	"math"
	"slices"
)

func (a *Allocator) start(s *search, e *TrialStarted) error {
	k := s.find(e.Candidate)
	if k < 0 || s.arms[k].removed {
		return fmt.Errorf("there is no candidate %q to start", e.Candidate)
	}
	if st := s.arms[k].state; st != Untried {
		return fmt.Errorf("candidate %q cannot start: it is %s", e.Candidate, st)
	}
	c := a.classIndex(e.Class)
	if c >= 0 && !s.eligible(k, c) {
		return fmt.Errorf("candidate %q cannot start on %q: it may not or could not run there", e.Candidate, e.Class)
	}
	if err := a.see(e.Class); err != nil {
		return err
	}
	a.hybrid.note(a, s, c)
	f := flight{arm: k, class: c, charge: math.Exp(s.logPrice(a, k, c)), bound: s.bound(a, k, c)}
	s.flying = append(s.flying, f)
	slices.SortFunc(s.flying, func(x, y flight) int { return x.arm - y.arm })
	s.arms[k].state, s.arms[k].lost = Running, false
	s.expect()
	s.quality.forgetFantasies()
	s.log = slices.Grow(s.log, 1) // room for the end
	s.quality.reserve(1 + len(s.flying))
	s.seconds.reserve(1)
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

// charged finds the flight of a trial that is taken off, and checks its charge.
func (s *search) charged(a *Allocator, candidate CandidateID, class string, cost float64) (int, error) {
	i, err := s.running(a, candidate, class)
	if err != nil {
		return 0, err
	}
	if err := charge(cost); err != nil {
		return 0, fmt.Errorf("candidate %q: %w", candidate, err)
	}
	return i, nil
}

func (a *Allocator) end(s *search, e *TrialEnded) error {
	i, err := s.charged(a, e.Candidate, e.Class, e.Charge)
	if err != nil {
		return err
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
	n := note{Candidate: arm.ID, Class: a.classes[f.class].name, Quality: e.Quality, Own: true}
	if e.Outcome == Censored {
		n.QNoise, n.SNoise = censoredQuality, censoredSeconds
	}
	if e.Seconds > 0 {
		x := math.Log(e.Seconds)
		// A trial that was stopped early says only that it would have taken longer.
		if m, _ := s.logSeconds(f.arm, f.class); e.Outcome == OK || x > m {
			n.LogSec, n.Timed = x, true
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
	i, err := s.charged(a, e.Candidate, e.Class, e.Charge)
	if err != nil {
		return err
	}
	arm := &s.arms[s.land(i, e.Charge).arm]
	arm.state, arm.lost = Untried, true
	return nil
}

// overrun puts a trial aside that has reached its limit.
func (a *Allocator) overrun(s *search, e *TrialOverran) error {
	i, err := s.charged(a, e.Candidate, e.Class, e.Charge)
	if err != nil {
		return err
	}
	if !(e.Seconds > 0) || math.IsInf(e.Seconds, 0) {
		return fmt.Errorf("candidate %q: it was put aside after %v s; that must be a positive number", e.Candidate, e.Seconds)
	}
	f := s.land(i, e.Charge)
	arm := &s.arms[f.arm]
	arm.state = Untried
	if arm.removed {
		return nil
	}
	n := note{Candidate: arm.ID, Class: a.classes[f.class].name, LogSec: math.Log(e.Seconds), Longer: true, Own: true}
	s.log = append(s.log, n)
	s.learn(a, &n)
	return nil
}

func (a *Allocator) rescore(s *search, e *Rescored) error {
	if err := checkQuality(e.Quality); err != nil {
		return err
	}
	q := e.Quality
	n := note{Candidate: e.Candidate, Quality: q, QNoise: rescoredQuality}
	s.log = append(s.log, n)
	s.learn(a, &n)
	if q > s.best {
		s.best, s.bestArm = q, e.Candidate
	}
	return nil
}
