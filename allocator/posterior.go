package allocator

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// minVariance keeps rounding from making a variance zero or negative.
const minVariance = 1e-12

// posterior is an exact Gaussian posterior over n arms and, for the seconds, over the search's own deviation on each
// device class. An observation is y = f[k] (+ o[c]) + noise.
//
// It is lazy: the n×n covariance is never formed. Held are mean and variance of every coordinate and one scaled column
// w_r per observation, so that the posterior covariance is P - Σ w_r·w_rᵀ with the shared prior P. Observing costs
// O(t·n) after t observations, with no factorisation and no solve:
//
//	u = P·h - Σ_r (w_rᵀh)·w_r,  d = hᵀu + noise,  µ += u·(y - hᵀµ)/d,  w = u/√d,  var -= w²,   h = e_k (+ e_c)
//
// This is the rank-one form of the Kalman update; the tests hold it against gonum's Cholesky to 1e-8.
type posterior struct {
	n      int
	prior  []float64 // n×n, row-major, shared between searches
	offVar []float64 // prior variance of o[c], per class
	mu     []float64 // n arms, then the classes
	v      []float64
	cols   [][]float64 // w_r; a column is shorter than mu where classes came later: its tail is zero
	cross  [][]float64 // per class: posterior covariance of o[c] with every arm
	bare   []float64   // v without the fantasies, while there are some
	fake   int         // how many of the last columns are fantasies
}

func newPosterior(mean, cov []float64) *posterior {
	n := len(mean)
	p := &posterior{n: n, prior: cov, mu: append(make([]float64, 0, n+2), mean...), v: make([]float64, n, n+2)}
	for i := range n {
		p.v[i] = max(cov[i*n+i], minVariance)
	}
	return p
}

// addClass appends a class with the given prior variance of the search's deviation on it.
func (p *posterior) addClass(variance float64) {
	p.offVar = append(p.offVar, variance)
	p.mu = append(p.mu, 0)
	p.v = append(p.v, variance)
	p.cross = append(p.cross, make([]float64, p.n))
}

// mean and variance of f[k] + o[c]; c < 0 means f[k] alone.
func (p *posterior) at(k, c int) (mean, variance float64) {
	if c < 0 {
		return p.mu[k], p.v[k]
	}
	return p.mu[k] + p.mu[p.n+c], max(p.v[k]+p.v[p.n+c]+2*p.cross[c][k], minVariance)
}

// column computes the scaled column of an observation of (k, c) and its predictive variance.
func (p *posterior) column(k, c int, noise float64) (w []float64, d float64) {
	n := p.n
	w = make([]float64, len(p.mu))
	copy(w, p.prior[k*n:(k+1)*n])
	if c >= 0 {
		w[n+c] = p.offVar[c]
	}
	for _, r := range p.cols {
		a := r[k]
		if c >= 0 && n+c < len(r) {
			a += r[n+c]
		}
		if a != 0 {
			blas64.Axpy(-a, blas64.Vector{N: len(r), Data: r, Inc: 1}, blas64.Vector{N: len(r), Data: w, Inc: 1})
		}
	}
	d = w[k]
	if c >= 0 {
		d += w[n+c]
	}
	return w, max(d, 0) + noise
}

// observe takes y = f[k] (+ o[c]) + noise in and returns the standardised residual (y - prediction)/sd.
func (p *posterior) observe(k, c int, y, noise float64) float64 {
	p.forgetFantasies()
	w, d := p.column(k, c, noise)
	mean, _ := p.at(k, c)
	residual := y - mean
	blas64.Axpy(residual/d, blas64.Vector{N: len(w), Data: w, Inc: 1}, blas64.Vector{N: len(w), Data: p.mu, Inc: 1})
	p.push(w, d)
	return residual / math.Sqrt(d)
}

// push scales the column, keeps it and lowers the variances.
func (p *posterior) push(w []float64, d float64) {
	blas64.Scal(1/math.Sqrt(d), blas64.Vector{N: len(w), Data: w, Inc: 1})
	for i, x := range w {
		p.v[i] = max(p.v[i]-x*x, minVariance)
	}
	for c := range p.cross {
		if x := w[p.n+c]; x != 0 {
			blas64.Axpy(-x, blas64.Vector{N: p.n, Data: w, Inc: 1}, blas64.Vector{N: p.n, Data: p.cross[c], Inc: 1})
		}
	}
	p.cols = append(p.cols, w)
}

// fantasise conditions on an arm in flight as if it had ended at its posterior mean: means stay, variances fall. Only
// for posteriors without classes. Fantasies are undone by the next observation or by forgetFantasies.
func (p *posterior) fantasise(k int, noise float64) {
	if p.fake == 0 {
		p.bare = append(p.bare[:0], p.v...)
	}
	p.push(p.column(k, -1, noise))
	p.fake++
}

// forgetFantasies takes all fantasies back, exactly.
func (p *posterior) forgetFantasies() {
	if p.fake == 0 {
		return
	}
	copy(p.v, p.bare)
	p.cols = p.cols[:len(p.cols)-p.fake]
	p.fake = 0
}

// bareVariance is the variance of arm k without the fantasies.
func (p *posterior) bareVariance(k int) float64 {
	if p.fake > 0 {
		return p.bare[k]
	}
	return p.v[k]
}
