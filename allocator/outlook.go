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
// validation examples (15 % of all from 1,000 examples on, below that the folds together: 80 %), at the best quality.
func (s *search) resolutionAt(best float64) float64 {
	if s.resolution > 0 {
		return s.resolution
	}
	if s.examples == 0 {
		return 0.005
	}
	n := 0.15 * float64(s.examples)
	if s.examples < 1000 {
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
			low = min(low, s.logPrice(a, k, c))
		}
	}
	return math.Exp(low)
}

// variety tells whether enough distinct families have a result: SettleOptions.Families of them, or all there are.
func (s *search) variety(a *Allocator) bool {
	const tried, left = 1, 2
	s.marks = append(s.marks[:0], make([]uint8, s.families)...)
	results, real := 0, 0
	for k := range s.arms {
		arm := &s.arms[k]
		if arm.removed || arm.Baseline {
			continue
		}
		real++
		switch {
		case arm.state == TriedOK || arm.state == TriedCensored:
			results++
			s.marks[s.family[k]] |= tried
		case s.open(a, k, true) && !arm.invited:
			s.marks[s.family[k]] |= left
		}
	}
	have, all := 0, 0
	for _, m := range s.marks {
		if m&tried != 0 {
			have++
		}
		if m != 0 {
			all++
		}
	}
	want := a.opts.Settle.Families
	return have >= min(want, all) && results >= min(want, real/2)
}

// lacking marks the candidates that are owed a trial before the search can be likely final, however little they promise:
// those whose trial was lost, which was to be queued again; those of families without a result while there is no variety;
// and one of each family that was added after the search had begun. variety must have been called just before.
func (s *search) lacking(a *Allocator, variety bool) bool {
	answered := func(k int) bool { // of what was added, one of this family has been started
		for j := range s.arms {
			if s.arms[j].invited && s.family[j] == s.family[k] && s.arms[j].state != Untried {
				return true
			}
		}
		return false
	}
	any := false
	s.owed = s.owed[:0]
	for k := range s.arms {
		arm := &s.arms[k]
		owed := s.open(a, k, false) && (arm.lost || arm.invited && !answered(k) || !variety && !arm.Baseline && s.marks[s.family[k]]&1 == 0)
		s.owed = append(s.owed, owed)
		any = any || owed
	}
	return any
}

// settle applies the stopping rule: what is left is not worth a trial, and nothing is owed one.
func (s *search) settle(a *Allocator) {
	s.finished, s.onlyOwed = false, false
	if s.insisted || a.opts.Settle.Off || a.opts.Policy != PolicyDefault || !s.spent(a, false) {
		return
	}
	variety := s.variety(a)
	switch owed := s.lacking(a, variety); {
	case owed:
		s.onlyOwed = true
	case variety:
		s.finished = true
	}
}

// likelyFinal is settle's verdict for people: trials in flight count as left.
func (s *search) likelyFinal(a *Allocator) bool {
	if !s.spent(a, true) {
		return false
	}
	variety := s.variety(a)
	return variety && !s.lacking(a, variety)
}

// spent is the heart of the stopping rule: little is left to chance, and nothing that is left is worth its price. With
// running, trials in flight count as left. It asks two things:
//
//  1. Σ_k P(q_k > best + resolution) <= Chance, a union bound over what is left;
//  2. Pandora's rule: for every k left, E[(q_k - best)+] <= λ·c_k, with the price λ = Price·resolution/(attained + c_k).
func (s *search) spent(a *Allocator, running bool) bool {
	if s.best < 0 {
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
		// The slope at the best overstates the gain above it, where the scale flattens; no quality exceeds 1.
		gain := min(slope*expectedGain(s.quality.mu[k], s.sd(k, w), best), (1-s.best)*s.beats(k, s.best, w))
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
	o.LikelyFinal = s.likelyFinal(a)
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
