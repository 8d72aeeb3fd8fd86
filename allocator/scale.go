package allocator

import "math"

// scale maps a quality in [0,1] to where it is modelled as Gaussian, and back: log((q+o)/(1-q+o)), or the
// quality as it is where the offset o is 0. The offset keeps the logarithm finite at 0 and 1.
type scale struct{ offset float64 }

func (p *QualityPrior) scale() scale {
	if p.Scale == ScaleLinear {
		return scale{}
	}
	return scale{p.Offset}
}

func (s scale) linear() bool { return s.offset == 0 }

// to returns log((q+o)/(1-q+o)).
func (s scale) to(q float64) float64 {
	if s.linear() {
		return q
	}
	q = min(max(q, 0), 1)
	return math.Log((q + s.offset) / (1 - q + s.offset))
}

// from is the inverse of to, clipped to [0,1].
func (s scale) from(x float64) float64 {
	if !s.linear() {
		x = (1+2*s.offset)/(1+math.Exp(-x)) - s.offset
	}
	return min(max(x, 0), 1)
}

// slope is dq/dx at q.
func (s scale) slope(q float64) float64 {
	if s.linear() {
		return 1
	}
	q = min(max(q, 0), 1)
	return (q + s.offset) * (1 - q + s.offset) / (1 + 2*s.offset)
}
