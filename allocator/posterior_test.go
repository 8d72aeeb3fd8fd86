package allocator

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// randomCovariance is positive definite with strong correlations.
func randomCovariance(r *rand.Rand, n int) []float64 {
	b := mat.NewDense(n, n/2+1, nil)
	for i := range n {
		for j := range n/2 + 1 {
			b.Set(i, j, r.NormFloat64()/math.Sqrt(float64(n)))
		}
	}
	var c mat.Dense
	c.Mul(b, b.T())
	for i := range n {
		c.Set(i, i, c.At(i, i)+0.05)
	}
	return append([]float64(nil), c.RawMatrix().Data...)
}

// exact conditions by gonum's Cholesky: mean and covariance of the coordinates given H·f + noise = y.
func exact(mean []float64, cov *mat.SymDense, h *mat.Dense, y, noise []float64) (*mat.VecDense, *mat.Dense) {
	t, n := h.Dims()
	var ph, s mat.Dense
	ph.Mul(cov, h.T())
	s.Mul(h, &ph)
	sym := mat.NewSymDense(t, nil)
	for i := range t {
		for j := range i + 1 {
			v := s.At(i, j)
			if i == j {
				v += noise[i]
			}
			sym.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(sym) {
		panic("not positive definite")
	}
	m := mat.NewVecDense(n, mean)
	var hm mat.VecDense
	hm.MulVec(h, m)
	r := mat.NewVecDense(t, nil)
	r.SubVec(mat.NewVecDense(t, y), &hm)
	var x, dm mat.VecDense
	if err := chol.SolveVecTo(&x, r); err != nil {
		panic(err)
	}
	dm.MulVec(&ph, &x)
	out := mat.NewVecDense(n, nil)
	out.AddVec(m, &dm)
	var g, dc, post mat.Dense
	if err := chol.SolveTo(&g, ph.T()); err != nil {
		panic(err)
	}
	dc.Mul(&ph, &g)
	post.Sub(cov, &dc)
	return out, &post
}

func TestPosteriorEqualsCholesky(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 3, 20, 120} {
		cov := randomCovariance(r, n)
		mean := make([]float64, n)
		for i := range mean {
			mean[i] = r.NormFloat64()
		}
		p := newPosterior(mean, cov)
		order := r.Perm(n)
		h := mat.NewDense(n, n, nil)
		var y, noise []float64
		for i, k := range order {
			h.Set(i, k, 1)
			y = append(y, r.NormFloat64())
			noise = append(noise, 1e-3+r.Float64())
			p.observe(k, -1, y[i], noise[i])
		}
		m, c := exact(mean, mat.NewSymDense(n, cov), h, y, noise)
		for k := range n {
			if d := math.Abs(p.mu[k] - m.AtVec(k)); d > 1e-8 {
				t.Errorf("n=%d: mean of %d is off by %g", n, k, d)
			}
			if d := math.Abs(p.v[k] - c.At(k, k)); d > 1e-8 {
				t.Errorf("n=%d: variance of %d is off by %g", n, k, d)
			}
		}
	}
}

// With classes, one joint posterior over arms and class offsets, classes coming up in the middle.
func TestPosteriorWithClassesEqualsCholesky(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, classes = 30, 3
	cov := randomCovariance(r, n)
	offVar := []float64{0.5, 0, 1.5}
	p := newPosterior(make([]float64, n), cov)
	p.addClass(offVar[0])
	h := mat.NewDense(n, n+classes, nil)
	var y, noise []float64
	for i, k := range r.Perm(n) {
		if i == 5 || i == 11 {
			p.addClass(offVar[len(p.offVar)])
		}
		c := r.IntN(len(p.offVar))
		h.Set(i, k, 1)
		h.Set(i, n+c, 1)
		y, noise = append(y, r.NormFloat64()), append(noise, 0.01+r.Float64())
		p.observe(k, c, y[i], noise[i])
	}
	joint := mat.NewSymDense(n+classes, nil)
	for i := range n {
		for j := range i + 1 {
			joint.SetSym(i, j, cov[i*n+j])
		}
	}
	for c, v := range offVar {
		joint.SetSym(n+c, n+c, v)
	}
	m, post := exact(make([]float64, n+classes), joint, h, y, noise)
	for k := range n {
		for c := range classes {
			mean, v := p.at(k, c)
			wantMean := m.AtVec(k) + m.AtVec(n+c)
			wantVar := post.At(k, k) + post.At(n+c, n+c) + 2*post.At(k, n+c)
			if math.Abs(mean-wantMean) > 1e-8 || math.Abs(v-wantVar) > 1e-8 {
				t.Errorf("arm %d class %d: N(%g, %g), want N(%g, %g)", k, c, mean, v, wantMean, wantVar)
			}
		}
	}
}

func TestFantasies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 12
	cov := randomCovariance(r, n)
	p := newPosterior(make([]float64, n), cov)
	p.observe(3, -1, 1, 0.1)
	mu, v := append([]float64(nil), p.mu...), append([]float64(nil), p.v...)
	p.fantasise(5, 0.1)
	p.fantasise(7, 0.1)

	q := newPosterior(make([]float64, n), cov)
	q.observe(3, -1, 1, 0.1)
	q.observe(5, -1, q.mu[5], 0.1)
	q.observe(7, -1, q.mu[7], 0.1)
	for k := range n {
		if p.mu[k] != mu[k] || math.Abs(p.v[k]-q.v[k]) > 1e-12 {
			t.Errorf("arm %d: fantasies give N(%g, %g), observing the means N(%g, %g)", k, p.mu[k], p.v[k], q.mu[k], q.v[k])
		}
		if p.bareVariance(k) != v[k] {
			t.Errorf("arm %d: the bare variance is %g, was %g", k, p.bareVariance(k), v[k])
		}
	}
	p.forgetFantasies()
	for k := range n {
		if p.v[k] != v[k] {
			t.Errorf("arm %d: variance %g after forgetting, was %g", k, p.v[k], v[k])
		}
	}
}

// The golden file holds posteriors of scikit-learn's GaussianProcessRegressor with a fixed kernel.
func TestPosteriorEqualsScikitLearn(t *testing.T) {
	b, err := os.ReadFile("testdata/sklearn_posterior.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Cov      []float64
			Noise    float64
			Arms     []int
			Y        []float64
			Mean, SD []float64
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 3 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, g := range golden.Cases {
		p := newPosterior(make([]float64, len(g.Mean)), g.Cov)
		for j, k := range g.Arms {
			p.observe(k, -1, g.Y[j], g.Noise)
		}
		for k := range g.Mean {
			if math.Abs(p.mu[k]-g.Mean[k]) > 1e-8 || math.Abs(math.Sqrt(p.v[k])-g.SD[k]) > 1e-8 {
				t.Errorf("case %d, arm %d: %g ± %g, scikit-learn has %g ± %g", i, k, p.mu[k], math.Sqrt(p.v[k]), g.Mean[k], g.SD[k])
			}
		}
	}
}

func TestLogUnitGain(t *testing.T) {
	// Values of log(φ(z) + zΦ(z)) by 50-digit arithmetic (mpmath).
	for z, want := range map[float64]float64{
		5: 1.6094379231264314, 0: -0.91893853320467274, -1: -2.4851210257126413, -10: -55.553122036122356,
		-19.9: -204.91288769492169, -20.1: -208.93274041662459, -30: -457.724653760598, -100: -5010.1295788002498,
	} {
		if got := logUnitGain(z); math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("logUnitGain(%g) = %.12g, want %.12g", z, got, want)
		}
	}
	last := math.Inf(-1)
	for z := -40.0; z < 10; z += 0.01 {
		if g := logUnitGain(z); g <= last {
			t.Fatalf("not increasing at %g", z)
		} else {
			last = g
		}
	}
}
