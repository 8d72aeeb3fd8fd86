package allocator

import "math"

// open tells whether arm k can still bring something: untried, and allowed somewhere; or running.
func (s *search) open(a *Allocator, k int, running bool) bool {
	arm := &s.arms[k]
	switch {
	case arm.removed:
		return false
	case arm.state == Running:
		return running
	case arm.state != Untried:
		return false
	}
	can := arm.allowed &^ arm.infeasible
	if known := a.known(); known != 0 {
		can &= known
	}
	return can != 0
}

// resolutionAt is the difference of quality that counts: as given, else one standard error of a share measured on the
// validation examples (15 % of all from 300 examples on, below that the folds together: 80 %), at the best quality.
func (s *search) resolutionAt(best float64) float64 {
	if s.resolution > 0 {
		return s.resolution
	}
	if s.examples == 0 {
		return 0.005
	}
	n := 0.15 * float64(s.examples)
	if s.examples < 300 {
		n = 0.8 * float64(s.examples)
	}
	n = max(n, 5)
	q := (max(best, 0)*n + 1) / (n + 2)
	return math.Sqrt(q * (1 - q) / n)
}

// spreads says how wide the qualities are taken: the inflation of the standard deviation, and whether trials in flight
// have been conditioned on (then they are not among what is left).
type spreads struct {
	tail        float64
	conditioned bool
}

func (s *search) sd(k int, w spreads) float64 {
	if w.conditioned {
		return math.Sqrt(s.quality.v[k]) * w.tail
	}
	return math.Sqrt(s.quality.bareVariance(k)) * w.tail
}

// beats is the probability that arm k's quality exceeds q.
func (s *search) beats(k int, q float64, w spreads) float64 {
	if q >= 1 {
		return 0
	}
	return normalCDF((s.quality.mu[k] - s.scale.to(q)) / s.sd(k, w))
}

// cheapest is the lowest expected charge of arm k over the known classes it can run on.
func (s *search) cheapest(a *Allocator, k int) float64 {
	can := s.arms[k].allowed &^ s.arms[k].infeasible
	if known := a.known(); known != 0 {
		can &= known
	}
	low := math.Inf(1)
	for c := range a.classes {
		if can&(1<<c) != 0 {
			low = min(low, s.logCost(a, k, c))
		}
	}
	return math.Exp(low)
}

// variety tells whether enough distinct families have a result: SettleOptions.Families of them, or all there are; and
// one of each family among candidates that were added later.
func (s *search) variety(a *Allocator) bool {
	const tried, left, invited, answered = 1, 2, 4, 8
	s.marks = append(s.marks[:0], make([]uint8, s.families)...)
	results, real := 0, 0
	for k := range s.arms {
		arm := &s.arms[k]
		if arm.removed || arm.Baseline {
			continue
		}
		real++
		m := &s.marks[s.family[k]]
		switch {
		case arm.state == TriedOK || arm.state == TriedCensored:
			results++
			*m |= tried
		case s.open(a, k, true):
			*m |= left
		}
		if arm.invited {
			*m |= invited
			if arm.state != Untried || !s.open(a, k, true) {
				*m |= answered
			}
		}
	}
	have, all := 0, 0
	for _, m := range s.marks {
		if m&invited != 0 && m&answered == 0 {
			return false
		}
		if m&tried != 0 {
			have++
		}
		if m&(tried|left) != 0 {
			all++
		}
	}
	want := a.opts.Settle.Families
	return have >= min(want, all) && results >= min(want, real/2)
}

// likelyFinal is the stopping rule: nothing that is left is worth its price, and little is left to chance. With
// running, trials in flight count as left. It asks three things:
//
//  1. enough distinct families have a result;
//  2. Σ_k P(q_k > best + resolution) <= Chance, a union bound over what is left;
//  3. Pandora's rule: for every k left, E[(q_k - best)+] <= λ·c_k, with the price λ = Price·resolution/(attained + c_k).
func (s *search) likelyFinal(a *Allocator, running bool) bool {
	if s.best < 0 || !s.variety(a) {
		return false
	}
	w, resolution := spreads{s.tail(), !running}, s.resolutionAt(s.best)
	best := s.scale.to(s.best)
	slope := s.scale.slope(s.best)
	chance := 0.0
	for k := range s.arms {
		if !s.open(a, k, running) {
			continue
		}
		chance += s.beats(k, s.best+resolution, w)
		if chance > a.opts.Settle.Chance {
			return false
		}
		if s.arms[k].state == Running {
			continue // paid for already
		}
		gain := slope * expectedGain(s.quality.mu[k], s.sd(k, w), best)
		c := s.cheapest(a, k)
		if gain > a.opts.Settle.Price*resolution*c/(s.attained+c) {
			return false
		}
	}
	return true
}

// outlook says what the search may still bring; running trials count.
func (s *search) outlook(a *Allocator) Outlook {
	o := Outlook{Resolution: s.resolutionAt(s.best)}
	left, flying := 0, false
	for k := range s.arms {
		if s.open(a, k, true) {
			left++
			if s.arms[k].state == Untried {
				o.Untried++
			} else {
				flying = true
			}
		}
	}
	o.Exhausted = o.Untried == 0 && !flying && len(s.flying) == 0
	if left == 0 {
		o.LikelyFinal = s.best >= 0
		return o
	}
	if s.best < 0 {
		o.Chance, o.ExpectedGain = 1, 1
		return o
	}
	o.LikelyFinal = s.likelyFinal(a, true)
	w := spreads{tail: s.tail()}
	o.Chance = min(1, s.anyBeats(a, s.best+o.Resolution, w))
	// E[(max q - best)+] = ∫ P(max q > x) dx from best to 1, by the midpoint rule.
	const steps = 64
	for i := range steps {
		x := s.best + (1-s.best)*(float64(i)+0.5)/steps
		o.ExpectedGain += min(1, s.anyBeats(a, x, w)) * (1 - s.best) / steps
	}
	return o
}

// anyBeats is the union bound on the probability that anything left exceeds q.
func (s *search) anyBeats(a *Allocator, q float64, w spreads) float64 {
	sum := 0.0
	for k := range s.arms {
		if s.open(a, k, true) {
			sum += s.beats(k, q, w)
		}
	}
	return sum
}
