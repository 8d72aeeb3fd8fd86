package allocator

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// fitter fits a Gaussian over candidates to rows with missing cells.
type fitter struct {
	families []int
	// What is believed with no history at all, worth one row.
	level, variance, rest, same float64
	centred                     bool // the rows are residuals: the mean is zero
	noises                      []float64
}

// The grid of the held-out search.
var shrinkWeights = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1}

const shrinkTargets = 3 // diagonal, common correlation, family kernel

// fit returns mean, covariance and noise.
func (f *fitter) fit(rows [][]float64) (mean []float64, cov Symmetric, noise float64) {
	rows = withCells(rows)
	if len(rows) == 0 {
		m := f.moments(nil, 0)
		return m.mean, m.shrunk(f, 0, 0), f.noises[len(f.noises)-1]
	}
	folds := min(5, len(rows))
	type point struct {
		target int
		weight float64
		noise  float64
	}
	var grid []point
	for t := range shrinkTargets {
		for _, w := range shrinkWeights {
			for _, s := range f.noises {
				grid = append(grid, point{t, w, s})
			}
		}
	}
	score := make([]float64, len(grid))
	for fold := 0; folds > 1 && fold < folds; fold++ {
		var train, test [][]float64
		for i, r := range rows {
			if i%folds == fold {
				test = append(test, r)
			} else {
				train = append(train, r)
			}
		}
		m := f.moments(train, 2)
		groups := byPattern(test)
		var c Symmetric
		for g, p := range grid {
			if g == 0 || grid[g-1].target != p.target || grid[g-1].weight != p.weight {
				c = m.shrunk(f, p.target, p.weight)
			}
			score[g] += logLikelihood(m.mean, c, p.noise, groups)
		}
	}
	// With one row nothing can be held out: half the family kernel and a moderate noise.
	best := point{2, 0.6, f.noises[len(f.noises)/2]}
	if folds > 1 {
		top := math.Inf(-1)
		for g, p := range grid {
			if score[g] > top {
				top, best = score[g], p
			}
		}
	}
	m := f.moments(rows, 6)
	return m.mean, m.shrunk(f, best.target, best.weight), best.noise
}

// withCells drops rows without a single cell.
func withCells(rows [][]float64) [][]float64 {
	var kept [][]float64
	for _, r := range rows {
		if len(observed(r)) > 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

func observed(row []float64) []int {
	var at []int
	for k, x := range row {
		if !math.IsNaN(x) {
			at = append(at, k)
		}
	}
	return at
}

// moments are mean and covariance of rows, before shrinking.
type moments struct {
	mean []float64
	cov  *mat.SymDense
	rows int
}

// initial is what is believed before the rows.
func (f *fitter) initial() moments {
	n := len(f.families)
	m := moments{mean: make([]float64, n), cov: mat.NewSymDense(n, nil)}
	for i := range n {
		if !f.centred {
			m.mean[i] = f.level
		}
		for j := 0; j <= i; j++ {
			v := f.variance
			switch {
			case i == j:
			case f.families[i] == f.families[j]:
				v *= f.same
			default:
				v *= f.rest
			}
			m.cov.SetSym(i, j, v)
		}
	}
	return m
}

// moments computes mean and covariance. Where no cell is missing they are the plain ones, with the initial belief worth
// one row in the covariance and half a row (through the family's mean) in the mean. Otherwise they are maximum a
// posteriori by expectation maximisation: missing cells are replaced by their conditional expectation given the row's
// other cells, and their conditional covariance is added.
func (f *fitter) moments(rows [][]float64, iterations int) moments {
	n := len(f.families)
	m := f.initial()
	prior := m.cov
	m.rows = len(rows)
	if len(rows) == 0 {
		return m
	}
	if !f.centred {
		m.mean = f.means(rows)
	}
	complete := true
	for _, r := range rows {
		complete = complete && len(observed(r)) == n
	}
	if complete {
		iterations = 1
	}
	for range iterations {
		filled := mat.NewDense(len(rows), n, nil)
		extra := mat.NewSymDense(n, nil)
		known := &stack{columns: n}
		partial := 0
		for i, r := range rows {
			if f.fill(filled.RawRowView(i), r, &m, known) {
				partial++
			}
		}
		if partial > 0 {
			extra.ScaleSym(float64(partial), m.cov)
			known.subtract(extra)
		}
		if !f.centred && !complete {
			sum := make([][]float64, len(rows))
			for i := range rows {
				sum[i] = filled.RawRowView(i)
			}
			m.mean = f.means(sum)
		}
		for i := range rows {
			x := filled.RawRowView(i)
			for k := range x {
				x[k] -= m.mean[k]
			}
		}
		s := mat.NewSymDense(n, nil)
		s.SymOuterK(1, filled.T())
		s.AddSym(s, extra)
		s.AddSym(s, prior)
		s.ScaleSym(1/float64(len(rows)+1), s)
		m.cov = s
	}
	return m
}

// fillNoise keeps the solves of fill well-conditioned where arms are almost copies of each other.
const fillNoise = 1e-3

// stack collects, row upon row, the matrices W = U⁻ᵀ·cov[o, :] of rows with missing cells, cov[o, o] + noise = UᵀU. The
// sum of their conditional covariances is then R·cov - WᵀW, one product for all rows.
type stack struct {
	columns int
	data    []float64
}

func (w *stack) subtract(from *mat.SymDense) {
	r := len(w.data) / w.columns
	if r == 0 {
		return
	}
	blas64.Syrk(blas.Trans, -1, blas64.General{Rows: r, Cols: w.columns, Stride: w.columns, Data: w.data}, 1, from.RawSymmetric())
}

// fill completes a row by its conditional expectation, mean + Wᵀ·U⁻ᵀ·(y - mean), and puts its W on the stack. It tells
// whether cells were missing.
func (f *fitter) fill(into, row []float64, m *moments, known *stack) bool {
	copy(into, row)
	o := observed(row)
	n := len(row)
	if len(o) == n {
		return false
	}
	for k, x := range row {
		if math.IsNaN(x) {
			into[k] = m.mean[k]
		}
	}
	chol, ok := factor(o, m.cov.At, fillNoise)
	if !ok {
		return true // without a factor the row says nothing about what it lacks
	}
	var u mat.TriDense
	chol.UTo(&u)
	w := blas64.General{Rows: len(o), Cols: n, Stride: n, Data: make([]float64, len(o)*n)}
	d := blas64.Vector{N: len(o), Inc: 1, Data: make([]float64, len(o))}
	for a, k := range o {
		d.Data[a] = row[k] - m.mean[k]
		for j := range n {
			w.Data[a*n+j] = m.cov.At(k, j)
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, u.RawTriangular(), w)
	blas64.Trsv(blas.Trans, u.RawTriangular(), d)
	for k, x := range row {
		if math.IsNaN(x) {
			into[k] += blas64.Dot(blas64.Vector{N: len(o), Data: w.Data[k:], Inc: n}, d)
		}
	}
	known.data = append(known.data, w.Data...)
	return true
}

// factor is the Cholesky factor of cov over the given candidates plus noise.
func factor(of []int, cov func(i, j int) float64, noise float64) (*mat.Cholesky, bool) {
	s := mat.NewSymDense(len(of), nil)
	for a, i := range of {
		for b := 0; b <= a; b++ {
			v := cov(i, of[b])
			if a == b {
				v += noise + 1e-9
			}
			s.SetSym(a, b, v)
		}
	}
	var chol mat.Cholesky
	ok := chol.Factorize(s)
	return &chol, ok
}

// means are the candidates' means over the rows that have them, drawn to their family's mean by half a row and that to
// the mean of all by half a row.
func (f *fitter) means(rows [][]float64) []float64 {
	n := len(f.families)
	sum, count := make([]float64, n), make([]float64, n)
	total := [2]float64{}
	family := map[int]*[2]float64{}
	for _, fam := range f.families {
		family[fam] = &[2]float64{}
	}
	for _, r := range rows {
		for k, x := range r {
			if !math.IsNaN(x) {
				sum[k] += x
				count[k]++
			}
		}
	}
	for k := range n {
		if count[k] > 0 {
			mean := sum[k] / count[k]
			total[0], total[1] = total[0]+mean, total[1]+1
			g := family[f.families[k]]
			g[0], g[1] = g[0]+mean, g[1]+1
		}
	}
	overall := (total[0] + 0.5*f.level) / (total[1] + 0.5)
	out := make([]float64, n)
	for k := range n {
		g := family[f.families[k]]
		out[k] = (sum[k] + 0.5*(g[0]+0.5*overall)/(g[1]+0.5)) / (count[k] + 0.5)
	}
	return out
}

// shrunk is (1-w)·S + w·T, widened for the uncertainty of a mean that was itself estimated: (R+1)/(R-1).
func (m *moments) shrunk(f *fitter, target int, w float64) Symmetric {
	n := len(f.families)
	sd := make([]float64, n)
	for k := range n {
		sd[k] = math.Sqrt(max(m.cov.At(k, k), 1e-9))
	}
	within, between := f.correlations(m.cov, sd)
	if target == 1 {
		all := within.sum + between.sum
		within.sum, between.sum = all, all
		pairs := within.pairs + between.pairs
		within.pairs, between.pairs = pairs, pairs
	}
	rest := min(max(between.mean(f.rest), 0), 0.98)
	same := min(max(within.mean(f.same), rest), 0.98)
	widen := 1.0
	if m.rows > 1 {
		widen = float64(m.rows+1) / float64(m.rows-1)
	}
	return newSymmetric(n, func(i, j int) float64 {
		t := 0.0
		switch {
		case i == j:
			t = sd[i] * sd[i]
		case target == 0:
		case f.families[i] == f.families[j]:
			t = same * sd[i] * sd[j]
		default:
			t = rest * sd[i] * sd[j]
		}
		return widen * ((1-w)*m.cov.At(i, j) + w*t)
	})
}

type correlation struct{ sum, pairs float64 }

// mean is the mean correlation, with the believed one worth five pairs.
func (c correlation) mean(believed float64) float64 { return (c.sum + 5*believed) / (c.pairs + 5) }

func (f *fitter) correlations(cov *mat.SymDense, sd []float64) (within, between correlation) {
	for i := range sd {
		for j := range i {
			r := cov.At(i, j) / (sd[i] * sd[j])
			if f.families[i] == f.families[j] {
				within.sum += r
				within.pairs++
			} else {
				between.sum += r
				between.pairs++
			}
		}
	}
	return within, between
}

// pattern is a set of rows in which the same cells were measured: they share a factorisation.
type pattern struct {
	cells []int
	rows  [][]float64
}

func byPattern(rows [][]float64) []pattern {
	var ps []pattern
	at := map[string]int{}
	for _, r := range rows {
		key := make([]byte, len(r))
		for k, x := range r {
			if !math.IsNaN(x) {
				key[k] = 1
			}
		}
		i, ok := at[string(key)]
		if !ok {
			i = len(ps)
			at[string(key)] = i
			ps = append(ps, pattern{cells: observed(r)})
		}
		ps[i].rows = append(ps[i].rows, r)
	}
	return ps
}

// logLikelihood of rows under N(mean, cov + noise·I), up to a constant.
func logLikelihood(mean []float64, cov Symmetric, noise float64, groups []pattern) float64 {
	sum := 0.0
	for _, g := range groups {
		chol, ok := factor(g.cells, cov.At, noise)
		if !ok {
			return math.Inf(-1)
		}
		// With cov + noise = UᵀU, the quadratic forms are the squared columns of U⁻ᵀ·(rows - mean).
		z := blas64.General{Rows: len(g.cells), Cols: len(g.rows), Stride: len(g.rows), Data: make([]float64, len(g.cells)*len(g.rows))}
		for a, k := range g.cells {
			for i, r := range g.rows {
				z.Data[a*z.Stride+i] = r[k] - mean[k]
			}
		}
		var u mat.TriDense
		chol.UTo(&u)
		blas64.Trsm(blas.Left, blas.Trans, 1, u.RawTriangular(), z)
		sum -= 0.5 * (blas64.Dot(flat(z), flat(z)) + float64(len(g.rows))*chol.LogDet())
	}
	return sum
}

func flat(m blas64.General) blas64.Vector {
	return blas64.Vector{N: len(m.Data), Data: m.Data, Inc: 1}
}
