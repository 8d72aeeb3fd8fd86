package allocator

import (
	"math"
	"sync"
)

// A trial may turn out to take far longer than expected. So a decision names a limit: a trial that reaches it
// is put aside ([TrialOverran]), its candidate stays open, and the device goes to what promises more. Let a
// trial take c seconds, log c ~ N(µ, σ²). Given up after τ it costs, per time that it ends,
//
//	E[min(c, τ)] / P(c ≤ τ) = e^µ·(e^{σ²/2}·Φ(t-σ) + e^{σt}·(1-Φ(t))) / Φ(t),   t = (log τ - µ)/σ,
//
// whose least value over τ is one over the Gittins index of a job of unknown length (Gittins 1979): its
// price. A trial that goes on after e^{µ+σt} seconds ends at the rate
//
//	h(t) = e^{-µ}·φ(t) / (σ·e^{σt}·(1-Φ(t))),
//
// which falls for good from the price's best t on, where h is one over the price. See README, "Limits".

// gauge is the price of a trial, in logarithms over e^µ, and the t it is reached at.
type gauge struct{ price, t float64 }

const (
	gaugeStep = 1.0 / 32 // of σ
	gaugeMost = 4.0      // σ; uncertainty beyond e⁴ is taken as that
	noLimit   = 6        // t: only one trial in 10⁹ reaches it
)

// gauges tabulates the price over σ, which is all it depends on; between its points it is linear.
var gauges = sync.OnceValue(func() []gauge {
	list := make([]gauge, int(gaugeMost/gaugeStep)+2)
	for i := range list {
		sd := float64(i) * gaugeStep
		list[i].price = math.Inf(1)
		for t := -gaugeMost - 1; t <= 9; t += 1.0 / 16 {
			price := math.Log(math.Exp(0.5*sd*sd)*normalCDF(t-sd)+math.Exp(sd*t)*normalCDF(-t)) - math.Log(normalCDF(t))
			if price < list[i].price-1e-12 {
				list[i] = gauge{price, t}
			}
		}
	}
	return list
})

func gaugeOf(sd float64) gauge {
	at := min(sd, gaugeMost) / gaugeStep
	list := gauges()
	x, y, w := list[int(at)], list[int(at)+1], at-math.Floor(at)
	return gauge{x.price + w*(y.price-x.price), x.t + w*(y.t-x.t)}
}

// limited tells whether arm k is given limits: only where past searches have shown how long it takes. Where
// nobody knows, not even the unit can be trusted, and trials would be put aside for no fault of theirs.
func (s *search) limited(a *Allocator, k int) bool {
	return a.opts.Policy == PolicyDefault && !a.opts.Limit.Off && s.basis.timed[k]
}

// logPrice is the logarithm of the charge of arm k on class c per time that it ends: what a gain is divided
// by.
func (s *search) logPrice(a *Allocator, k, c int) float64 {
	if !s.limited(a, k) {
		return s.logCost(a, k, c)
	}
	m, v := s.logSeconds(k, c)
	return a.classes[c].logRate + min(m+gaugeOf(math.Sqrt(v)).price, maxLogSeconds+5)
}

// limit is the seconds after which the search's best arm on class c is to be put aside: when what it still
// promises per second is below one Slack-th of the best alternative's rate, that of another search or of its
// own second arm. 0: never. It is at least twice what the arm was put aside after before, so all of its
// attempts together take at most three times as long as the last.
func (s *search) limit(a *Allocator, c int) float64 {
	p := &s.places[c]
	if p.stage > 0 || !s.limited(a, p.arm) {
		return 0
	}
	mean := a.mean()
	own, other := a.key(s, p, mean), math.Inf(-1)
	if p.second >= 0 {
		other = own - p.logScore + p.secondScore
	}
	if r := a.classes[c].rank.topBut(a, s); r != nil {
		other = max(other, a.key(r, &r.places[c], mean))
	}
	if math.IsInf(other, 0) {
		return 0
	}
	m, v := s.logSeconds(p.arm, c)
	sd := math.Sqrt(v)
	g := gaugeOf(sd)
	stop := -g.price + min(other-own, 0) - a.logSlack
	rate := func(t float64) float64 { return math.Log(hazard(t)) - sd*t - math.Log(sd) }
	low, high := g.t, float64(noLimit)
	if rate(high) >= stop {
		return 0
	}
	for range 40 {
		if mid := 0.5 * (low + high); rate(mid) > stop {
			low = mid
		} else {
			high = mid
		}
	}
	return max(math.Exp(min(m+sd*high, maxLogSeconds)), 2*s.arms[p.arm].overran)
}

// hazard is φ(x)/(1-Φ(x)).
func hazard(x float64) float64 {
	if x > 20 { // the asymptotic series of Mills' ratio
		r := 1 / (x * x)
		return x / (1 - r*(1-r*(3-15*r)))
	}
	return math.Exp(logInvSqrt2Pi-0.5*x*x) / normalCDF(-x)
}

// outlast conditions the seconds on a trial that has run longer than e^bound. With m and v what was predicted
// of its log seconds (v0 without the noise), x = (bound-m)/√v, h = φ(x)/(1-Φ(x)) and d = h·(h-x), the
// truncated normal has the mean m + √v·h and the variance v·(1-d); taking m + √v·h/d in with the variance v/d
// - v0 leads to the same moments (assumed density filtering).
func (s *search) outlast(k, c int, bound, noise float64) {
	m, v0 := s.seconds.at(k, c)
	v := v0 + noise
	sd := math.Sqrt(v)
	x := (bound - s.logSec[c][k] - m) / sd
	h := hazard(x)
	if d := h * (h - x); d > 1e-9 { // else it says nothing
		s.seconds.observe(k, c, m+sd*h/d, max(v/d-v0, noise))
	}
}
