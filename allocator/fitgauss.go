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
	gaussian                    bool // not a Student-t
}

// The grid of the held-out search.
var shrinkWeights = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1}

const shrinkTargets = 3 // diagonal, common correlation, family kernel

// fitted is what a fitter finds.
type fitted struct {
	mean  []float64
	cov   Symmetric
	noise float64
	df    float64
}

// degrees are those of freedom among which the held-out likelihood chooses, after firstDegrees.
var degrees = []float64{2, 3, 6, 10, 20, math.Inf(1)}

const firstDegrees = 4

// fit returns mean, covariance (of a Student-t its scatter), noise, and degrees of freedom.
func (f *fitter) fit(rows [][]float64) fitted {
	rows = withCells(rows)
	if len(rows) == 0 {
		m := f.moments(nil, 0, firstDegrees)
		return fitted{m.mean, m.shrunk(f, 0, 0), f.noises[len(f.noises)-1], firstDegrees}
	}
	folds := min(5, len(rows))
	var train, test [][][]float64
	for fold := 0; folds > 1 && fold < folds; fold++ {
		var a, b [][]float64
		for i, r := range rows {
			if i%folds == fold {
				b = append(b, r)
			} else {
				a = append(a, r)
			}
		}
		train, test = append(train, a), append(test, b)
	}
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
	heldOut := func(df float64, grid []point) []float64 {
		score := make([]float64, len(grid))
		for fold := range train {
			m := f.moments(train[fold], 2, df)
			groups := byPattern(test[fold])
			var c Symmetric
			for g, p := range grid {
				if g == 0 || grid[g-1].target != p.target || grid[g-1].weight != p.weight {
					c = m.shrunk(f, p.target, p.weight)
				}
				score[g] += logLikelihood(m.mean, c, p.noise, df, groups)
			}
		}
		return score
	}
	// With one row nothing can be held out: half the family kernel and a moderate noise.
	best, df := point{2, 0.6, f.noises[len(f.noises)/2]}, float64(firstDegrees)
	if f.gaussian {
		df = math.Inf(1)
	}
	if folds > 1 {
		choose := func(score []float64) (top float64) {
			top = math.Inf(-1)
			for g, p := range grid {
				if score[g] > top {
					top, best = score[g], p
				}
			}
			return top
		}
		top := choose(heldOut(df, grid))
		for _, d := range degrees {
			if f.gaussian {
				break
			}
			if x := heldOut(d, []point{best})[0]; x > top {
				top, df = x, d
			}
		}
		if !f.gaussian && df != firstDegrees {
			choose(heldOut(df, grid))
		}
	}
	m := f.moments(rows, 6, df)
	return fitted{m.mean, m.shrunk(f, best.target, best.weight), best.noise, df}
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
func (f *fitter) moments(rows [][]float64, iterations int, df float64) moments {
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
	switch {
	case !math.IsInf(df, 1):
		iterations += 2
	case complete:
		iterations = 1
	}
	weights := make([]float64, len(rows))
	for i := range weights {
		weights[i] = 1
	}
	for round := range iterations {
		if round > 0 && !math.IsInf(df, 1) {
			f.weigh(weights, rows, &m, df)
			m.mean = f.weightedMeans(rows, weights)
		}
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
			root := math.Sqrt(weights[i])
			for k := range x {
				x[k] = root * (x[k] - m.mean[k])
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

// weigh sets the rows' weights (df + cells)/(df + q), q the row's squared Mahalanobis distance: what they count in the
// maximum likelihood fit of a multivariate Student-t (Lange, Little and Taylor 1989).
func (f *fitter) weigh(weights []float64, rows [][]float64, m *moments, df float64) {
	c := m.shrunk(f, 1, 0.1)
	for _, g := range byPattern(rows) {
		chol, ok := factor(g.cells, c.At, fillNoise)
		if !ok {
			continue
		}
		for i, q := range distances(m.mean, chol, &g) {
			weights[g.at[i]] = (df + float64(len(g.cells))) / (df + q)
		}
	}
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
func (f *fitter) means(rows [][]float64) []float64 { return f.weightedMeans(rows, nil) }

func (f *fitter) weightedMeans(rows [][]float64, weights []float64) []float64 {
	if f.centred {
		return make([]float64, len(f.families))
	}
	n := len(f.families)
	sum, count := make([]float64, n), make([]float64, n)
	total := [2]float64{}
	family := map[int]*[2]float64{}
	for _, fam := range f.families {
		family[fam] = &[2]float64{}
	}
	for i, r := range rows {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		for k, x := range r {
			if !math.IsNaN(x) {
				sum[k] += w * x
				count[k] += w
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
	at    []int // which rows they are
}

func byPattern(rows [][]float64) []pattern {
	var ps []pattern
	known := map[string]int{}
	for at, r := range rows {
		key := make([]byte, len(r))
		for k, x := range r {
			if !math.IsNaN(x) {
				key[k] = 1
			}
		}
		i, ok := known[string(key)]
		if !ok {
			i = len(ps)
			known[string(key)] = i
			ps = append(ps, pattern{cells: observed(r)})
		}
		ps[i].rows = append(ps[i].rows, r)
		ps[i].at = append(ps[i].at, at)
	}
	return ps
}

// logLikelihood of rows under a Student-t with that mean, scatter cov + noise·I and degrees of freedom (infinite: a
// Gaussian), up to a constant that depends on the number of cells alone.
func logLikelihood(mean []float64, cov Symmetric, noise, df float64, groups []pattern) float64 {
	sum := 0.0
	for _, g := range groups {
		chol, ok := factor(g.cells, cov.At, noise)
		if !ok {
			return math.Inf(-1)
		}
		n := float64(len(g.cells))
		sum -= 0.5 * float64(len(g.rows)) * chol.LogDet()
		if !math.IsInf(df, 1) {
			a, _ := math.Lgamma((df + n) / 2)
			b, _ := math.Lgamma(df / 2)
			sum += float64(len(g.rows)) * (a - b - 0.5*n*math.Log(df/2))
		}
		for _, q := range distances(mean, chol, &g) {
			if math.IsInf(df, 1) {
				sum -= 0.5 * q
			} else {
				sum -= 0.5 * (df + n) * math.Log1p(q/df)
			}
		}
	}
	return sum
}

// distances are the squared Mahalanobis distances of the rows. With cov + noise = UᵀU they are the squared lengths of
// the columns of U⁻ᵀ·(rows - mean).
func distances(mean []float64, chol *mat.Cholesky, g *pattern) []float64 {
	z := blas64.General{Rows: len(g.cells), Cols: len(g.rows), Stride: len(g.rows), Data: make([]float64, len(g.cells)*len(g.rows))}
	for a, k := range g.cells {
		for i, r := range g.rows {
			z.Data[a*z.Stride+i] = r[k] - mean[k]
		}
	}
	var u mat.TriDense
	chol.UTo(&u)
	blas64.Trsm(blas.Left, blas.Trans, 1, u.RawTriangular(), z)
	q := make([]float64, len(g.rows))
	for a := range g.cells {
		for i, x := range z.Data[a*z.Stride : (a+1)*z.Stride] {
			q[i] += x * x
		}
	}
	return q
}
