package allocator

import (
	"fmt"
	"math"
)

// openingFactor bounds what the first model may cost: so many times the cheapest candidate of the search.
var openingFactor = math.Log(3)

// openingTries is after how many ended trials of real candidates without a result an opening is over.
const openingTries = 3

// opening says what is due in a search that has a baseline: 2, the baseline itself; 1, one cheap model, so that there is
// something to answer with; 0, nothing. A search without a baseline has no opening.
func (s *search) opening(c int) int {
	baseline, running, results, tries := false, false, 0, 0
	for k := range s.arms {
		a := &s.arms[k]
		switch {
		case a.removed:
		case a.Baseline:
			baseline = true
			if s.eligible(k, c) {
				return 2
			}
		case a.state == Running:
			running = true
		case a.state == TriedOK || a.state == TriedCensored:
			results++
		case a.state == TriedFailed || a.infeasible != 0:
			tries++
		}
	}
	if baseline && !running && results == 0 && tries < openingTries {
		return 1
	}
	return 0
}

// aside says why an untried arm is not considered on class c; "" = it is.
func (s *search) aside(a *Allocator, k, c, stage int, cheapest float64) string {
	arm := &s.arms[k]
	switch {
	case arm.allowed&(1<<c) == 0:
		return "class"
	case arm.infeasible&(1<<c) != 0:
		return "infeasible"
	case s.onlyOwed && !s.owed[k]:
		return "settled"
	case stage == 2 && !arm.Baseline, stage == 1 && s.logPrice(a, k, c) > cheapest+openingFactor:
		return "opening"
	}
	if stage < 2 && a.pool != 0 {
		here, _ := s.logSeconds(k, c)
		for o := range a.classes {
			if o == c || a.pool&arm.allowed&^arm.infeasible&(1<<o) == 0 {
				continue
			}
			if there, _ := s.logSeconds(k, o); here-there > a.logPatience {
				return fmt.Sprintf("slower elsewhere=%s times=%.0f", a.classes[o].name, math.Exp(min(here-there, 30)))
			}
		}
	}
	return ""
}

// keptForAnother is aside's last rule without its words, for the hot path.
func (s *search) keptForAnother(a *Allocator, k, c int) bool {
	arm := &s.arms[k]
	others := a.pool & arm.allowed &^ arm.infeasible &^ (1 << c)
	if others == 0 {
		return false
	}
	here, _ := s.logSeconds(k, c)
	for o := range a.classes {
		if others&(1<<o) != 0 {
			if there, _ := s.logSeconds(k, o); here-there > a.logPatience {
				return true
			}
		}
	}
	return false
}

// cheapestCost is the lowest expected log charge among the untried arms, on class c or any other known class.
func (s *search) cheapestCost(a *Allocator, c int) float64 {
	low := math.Inf(1)
	for k := range s.arms {
		arm := &s.arms[k]
		if arm.state != Untried || arm.removed {
			continue
		}
		can := arm.allowed &^ arm.infeasible & (a.known() | 1<<c)
		for o := range a.classes {
			if can&(1<<o) != 0 {
				low = min(low, s.logPrice(a, k, o))
			}
		}
	}
	return low
}

// opensOn tells whether some arm on class c is cheap enough for an opening.
func (s *search) opensOn(a *Allocator, c int, cheapest float64) bool {
	for k := range s.arms {
		if s.considered(a, k, c, 1, cheapest) {
			return true
		}
	}
	return false
}

// considered tells whether arm k takes part in the choice on class c.
func (s *search) considered(a *Allocator, k, c, stage int, cheapest float64) bool {
	if !s.eligible(k, c) {
		return false
	}
	switch {
	case stage == 2:
		return s.arms[k].Baseline // the reference line comes first, whatever is owed
	case s.onlyOwed && !s.owed[k]:
		return false
	case stage == 1 && s.logPrice(a, k, c) > cheapest+openingFactor:
		return false
	}
	return !s.keptForAnother(a, k, c)
}

// choose sets the search's place on class c: the arm with the highest expected gain in quality per charge,
//
//	log EI(k) + log slope - log price(k, c),
//
// and the one after it. Ties go to the smaller id.
func (s *search) choose(a *Allocator, c int) {
	p := &s.places[c]
	p.arm, p.second, p.logScore, p.secondScore, p.stage = -1, -1, math.Inf(-1), math.Inf(-1), 0
	if s.paused || s.finished {
		return
	}
	p.stage = s.opening(c)
	cheapest := 0.0
	if p.stage == 1 {
		cheapest = s.cheapestCost(a, c)
		if !s.opensOn(a, c, cheapest) {
			p.stage = 0 // the first model is for another class; this one is given by score
		}
	}
	for k := range s.arms {
		if !s.considered(a, k, c, p.stage, cheapest) {
			continue
		}
		switch score := s.logGain[k] - s.logPrice(a, k, c); {
		case p.arm < 0 || score > p.logScore:
			p.second, p.secondScore = p.arm, p.logScore
			p.arm, p.logScore = k, score
		case p.second < 0 || score > p.secondScore:
			p.second, p.secondScore = k, score
		}
	}
}
