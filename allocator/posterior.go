package allocator

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// minVariance keeps rounding from making a variance zero or negative.
const minVariance = 1e-12

// posterior is an exact Gaussian posterior over n arms and, for the seconds, over the search's own deviation on each
// device class. An observation is y = f[k] (+ o[c]) + noise.
//
// It is lazy: the n×n covariance is never formed. Held are mean and variance of every coordinate and the Cholesky factor L
// of the observations' covariance H·P·Hᵀ + noise, one row more per observation; P is the prior that searches share. With
// h = e_k (+ e_c) the next observation, observing costs O(t·n) after t observations and t(t+1)/2 numbers of memory:
//
//	c = H·P·h,  y = L⁻¹·c,  α = L⁻ᵀ·y,  u = P·h - P·Hᵀ·α,  d = hᵀP·h - yᵀy + noise,
//	µ += u·(z - hᵀµ)/d,  var -= u²/d,  L gains the row (y, √d)
//
// This is exact conditioning; the tests hold it against gonum's Cholesky to 1e-8.
type posterior struct {
	n      int
	prior  []float64 // n×n, row-major, shared between searches
	offVar []float64 // prior variance of o[c], per class
	mu     []float64 // n arms, then the classes
	v      []float64
	seen   []sight
	chol   []float64   // L, row by row
	cross  [][]float64 // per class: posterior covariance of o[c] with every arm
	bare   []float64   // v without the fantasies, while there are some
	fake   int         // how many of the last observations are fantasies
	work   *workspace
}

// sight is what was observed: arm k, on class c or on none (-1).
type sight struct{ k, c int32 }

// workspace is scratch that the posteriors of an allocator share.
type workspace struct{ u, y, alpha []float64 }

func newPosterior(mean, cov []float64) *posterior {
	n := len(mean)
	p := &posterior{work: &workspace{}, n: n, prior: cov, mu: append(make([]float64, 0, n+2), mean...), v: make([]float64, n, n+2)}
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

// reserve makes room for so many observations more, so that taking them in allocates nothing.
func (p *posterior) reserve(more int) {
	p.seen = slices.Grow(p.seen, more)
	t := len(p.seen) + more
	p.chol = slices.Grow(p.chol, t*(t+1)/2-len(p.chol))
	p.bare = slices.Grow(p.bare[:0], len(p.v))
	p.work.fit(len(p.mu), t)
}

func (w *workspace) fit(n, t int) {
	if len(w.u) < n {
		w.u = make([]float64, n)
	}
	if len(w.y) < t {
		w.y, w.alpha = make([]float64, 2*t), make([]float64, 2*t)
	}
}

// column computes P·h - P·Hᵀ·α and the predictive variance of an observation of (k, c), and leaves y in the workspace.
func (p *posterior) column(k, c int, noise float64) (u []float64, d float64) {
	n, t := p.n, len(p.seen)
	p.work.fit(len(p.mu), t)
	u, y := p.work.u[:len(p.mu)], p.work.y[:t]
	copy(u, p.prior[k*n:(k+1)*n])
	clear(u[n:])
	d = u[k]
	if c >= 0 {
		u[n+c] = p.offVar[c]
		d += p.offVar[c]
	}
	for r, o := range p.seen {
		x := u[o.k]
		if c >= 0 && int(o.c) == c {
			x += p.offVar[c]
		}
		row := p.chol[r*(r+1)/2 : (r+1)*(r+2)/2]
		for q := range r {
			x -= row[q] * y[q]
		}
		y[r] = x / row[r]
		d -= y[r] * y[r]
	}
	alpha := p.work.alpha
	for r := t - 1; r >= 0; r-- {
		a := y[r]
		for q := r + 1; q < t; q++ {
			a -= p.chol[q*(q+1)/2+r] * alpha[q]
		}
		a /= p.chol[r*(r+1)/2+r]
		alpha[r] = a
		o := p.seen[r]
		if a == 0 {
			continue
		}
		blas64.Axpy(-a, blas64.Vector{N: n, Data: p.prior[int(o.k)*n : (int(o.k)+1)*n], Inc: 1}, blas64.Vector{N: n, Data: u[:n], Inc: 1})
		if o.c >= 0 {
			u[n+int(o.c)] -= a * p.offVar[o.c]
		}
	}
	return u, max(d, 0) + noise
}

// observe takes y = f[k] (+ o[c]) + noise in and returns the standardised residual (y - prediction)/sd.
func (p *posterior) observe(k, c int, y, noise float64) float64 {
	p.forgetFantasies()
	u, d := p.column(k, c, noise)
	mean, _ := p.at(k, c)
	residual := y - mean
	blas64.Axpy(residual/d, blas64.Vector{N: len(u), Data: u, Inc: 1}, blas64.Vector{N: len(u), Data: p.mu, Inc: 1})
	p.push(k, c, u, d)
	return residual / math.Sqrt(d)
}

// push appends what column has computed and lowers the variances.
func (p *posterior) push(k, c int, u []float64, d float64) {
	root := math.Sqrt(d)
	t := len(p.seen)
	p.chol = append(append(p.chol, p.work.y[:t]...), root)
	p.seen = append(p.seen, sight{int32(k), int32(c)})
	blas64.Scal(1/root, blas64.Vector{N: len(u), Data: u, Inc: 1})
	for i, x := range u {
		p.v[i] = max(p.v[i]-x*x, minVariance)
	}
	for c := range p.cross {
		if x := u[p.n+c]; x != 0 {
			blas64.Axpy(-x, blas64.Vector{N: p.n, Data: u, Inc: 1}, blas64.Vector{N: p.n, Data: p.cross[c], Inc: 1})
		}
	}
}

// fantasise conditions on an arm in flight as if it had ended at its posterior mean: means stay, variances fall. Only
// for posteriors without classes. Fantasies are undone by the next observation or by forgetFantasies.
func (p *posterior) fantasise(k int, noise float64) {
	if p.fake == 0 {
		p.bare = append(p.bare[:0], p.v...)
	}
	u, d := p.column(k, -1, noise)
	p.push(k, -1, u, d)
	p.fake++
}

// forgetFantasies takes all fantasies back, exactly.
func (p *posterior) forgetFantasies() {
	if p.fake == 0 {
		return
	}
	copy(p.v, p.bare)
	t := len(p.seen) - p.fake
	p.seen, p.chol = p.seen[:t], p.chol[:t*(t+1)/2]
	p.fake = 0
}

// bareVariance is the variance of arm k without the fantasies.
func (p *posterior) bareVariance(k int) float64 {
	if p.fake > 0 {
		return p.bare[k]
	}
	return p.v[k]
}
