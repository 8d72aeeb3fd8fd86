package allocator

import "math"

// logitOffset keeps log(q/(1-q)) finite at 0 and 1. Between 0.005 and 0.05 it hardly matters (README, "scale").
const logitOffset = 0.02

// scale maps a quality in [0,1] to where it is modelled as Gaussian, and back.
type scale struct{ linear bool }

func scaleOf(name string) scale { return scale{linear: name == ScaleLinear} }

// to returns log((q+o)/(1-q+o)).
func (s scale) to(q float64) float64 {
	if s.linear {
		return q
	}
	q = min(max(q, 0), 1)
	return math.Log((q + logitOffset) / (1 - q + logitOffset))
}

// from is the inverse of to, clipped to [0,1].
func (s scale) from(x float64) float64 {
	if !s.linear {
		x = (1+2*logitOffset)/(1+math.Exp(-x)) - logitOffset
	}
	return min(max(x, 0), 1)
}

// slope is dq/dx at q.
func (s scale) slope(q float64) float64 {
	if s.linear {
		return 1
	}
	q = min(max(q, 0), 1)
	return (q + logitOffset) * (1 - q + logitOffset) / (1 + 2*logitOffset)
}
