package allocator

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// fitter fits a Gaussian over candidates to rows with missing cells.
type fitter struct {
	families []int
	// What is believed with no history at all, worth one row.
	level, variance, rest, same float64
	centred                     bool // the rows are residuals: the mean is zero
	noises                      []float64
	gaussian                    bool    // not a Student-t
	df                          float64 // degrees of freedom tried first
	draw                        float64 // rows that a candidate's mean is drawn to its family's by; 0 = chosen among draws
	work                        triangle
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

// degrees are those of freedom among which a likelihood chooses.
var degrees = []float64{2, 3, 4, 6, 10, 20, math.Inf(1)}

// draws are the weights, in rows, by which a candidate's mean is drawn to its family's.
var draws = []float64{0.5, 1, 2, 4, 8, 16}

// fit returns mean, covariance (of a Student-t its scatter), noise, and degrees of freedom.
func (f *fitter) fit(rows [][]float64) fitted {
	rows = withCells(rows)
	if len(rows) == 0 {
		m := f.moments(nil, 0, f.df)
		return fitted{m.mean, m.shrunk(f, shape{}), f.noises[len(f.noises)-1], f.df}
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
	groups := make([][]pattern, len(test))
	for fold := range test {
		groups[fold] = byPattern(test[fold])
	}
	known := map[[2]float64][]moments{}
	heldOut := func(df float64, grid []point) []float64 {
		score := make([]float64, len(grid))
		key := [2]float64{df, f.draw}
		if known[key] == nil {
			for fold := range train {
				known[key] = append(known[key], f.moments(train[fold], 2, df))
			}
		}
		for fold := range train {
			m := &known[key][fold]
			var c Symmetric
			for g, p := range grid {
				if g == 0 || grid[g-1].shape != p.shape {
					c = m.shrunk(f, p.shape)
				}
				score[g] += f.logLikelihood(m.mean, c, p.noise, df, groups[fold])
			}
		}
		return score
	}
	// With one row nothing can be held out: half the family kernel and a moderate noise.
	best, df := point{shape{2, 0.6, true}, f.noises[len(f.noises)/2]}, f.df
	if f.gaussian {
		df = math.Inf(1)
	}
	chosen := f.draw == 0 && !f.centred
	if chosen {
		f.draw = draws[0]
	}
	if folds > 1 {
		top := f.climb(&best, func(grid []point) []float64 { return heldOut(df, grid) })
		if at := f.draw; chosen {
			for _, d := range draws[1:] {
				f.draw = d
				if x := heldOut(df, []point{best})[0]; x > top {
					top, at = x, d
				}
			}
			f.draw = at
		}
		for _, d := range degrees {
			if f.gaussian {
				break
			}
			if x := heldOut(d, []point{best})[0]; x > top {
				top, df = x, d
			}
		}
		if !f.gaussian && (df != f.df || f.draw != draws[0]) {
			f.climb(&best, func(grid []point) []float64 { return heldOut(df, grid) })
		}
	}
	m := f.moments(rows, 6, df)
	return fitted{m.mean, m.shrunk(f, best.shape), best.noise, df}
}

// point is one of the choices that the held-out likelihood decides.
type point struct {
	shape
	noise float64
}

// shape is how a covariance is shrunk: (1-weight)·S + weight·T. With pooled all candidates have one variance
// in T.
type shape struct {
	target int
	weight float64
	pooled bool
}

// climb improves a point by target and weight, then by whether variances are pooled, then by the noise, until
// that changes nothing more, and returns its score. The whole grid would find the same in nearly all cases
// and takes three times as long.
func (f *fitter) climb(best *point, score func([]point) []float64) (top float64) {
	choose := func(grid []point) {
		top = math.Inf(-1)
		for g, x := range score(grid) {
			if x > top {
				top, *best = x, grid[g]
			}
		}
	}
	for range 3 {
		var grid []point
		for t := range shrinkTargets {
			for _, w := range shrinkWeights {
				grid = append(grid, point{shape{t, w, best.pooled}, best.noise})
			}
		}
		choose(grid)
		grid = grid[:0]
		for _, pooled := range []bool{false, true} {
			grid = append(grid, point{shape{best.target, best.weight, pooled}, best.noise})
		}
		choose(grid)
		before := best.noise
		grid = grid[:0]
		for _, n := range f.noises {
			grid = append(grid, point{best.shape, n})
		}
		choose(grid)
		if best.noise == before {
			break
		}
	}
	return top
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
	at := make([]int, 0, len(row))
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

	sd              []float64 // of cov, and its mean correlations; computed when first shrunk
	within, between correlation
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

// moments computes mean and covariance. Where no cell is missing they are the plain ones, with the initial
// belief worth one row in the covariance and f.draw rows (through the family's mean) in the mean. Otherwise
// they are maximum a posteriori by expectation maximisation: missing cells are replaced by their conditional
// expectation given the row's other cells, and their conditional covariance is added.
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
		complete = complete && !slices.ContainsFunc(r, math.IsNaN)
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
		m.cov, m.sd = s, nil
	}
	return m
}

// weigh sets the rows' weights (df + cells)/(df + q), q the row's squared Mahalanobis distance: what they
// count in the maximum likelihood fit of a multivariate Student-t (Lange, Little and Taylor 1989).
func (f *fitter) weigh(weights []float64, rows [][]float64, m *moments, df float64) {
	c := m.shrunk(f, shape{1, 0.1, false})
	for _, g := range byPattern(rows) {
		if !f.work.factor(g.cells, c.At, fillNoise) {
			continue
		}
		for i, q := range f.work.distances(m.mean, &g) {
			weights[g.at[i]] = (df + float64(len(g.cells))) / (df + q)
		}
	}
}

// fillNoise keeps the solves of fill well-conditioned where arms are almost copies of each other.
const fillNoise = 1e-3

// stack collects, row upon row, the matrices W = U⁻ᵀ·cov[o, :] of rows with missing cells, cov[o, o] + noise
// = UᵀU. The sum of their conditional covariances is then R·cov - WᵀW, one product for all rows.
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

// fill completes a row by its conditional expectation, mean + Wᵀ·U⁻ᵀ·(y - mean), and puts its W on the stack.
// It tells whether cells were missing.
func (f *fitter) fill(into, row []float64, m *moments, known *stack) bool {
	copy(into, row)
	if !slices.ContainsFunc(row, math.IsNaN) {
		return false
	}
	o := observed(row)
	n := len(row)
	for k, x := range row {
		if math.IsNaN(x) {
			into[k] = m.mean[k]
		}
	}
	if !f.work.factor(o, m.cov.At, fillNoise) {
		return true // without a factor the row says nothing about what it lacks
	}
	u := f.work.upper()
	w := blas64.General{Rows: len(o), Cols: n, Stride: n, Data: make([]float64, len(o)*n)}
	d := blas64.Vector{N: len(o), Inc: 1, Data: make([]float64, len(o))}
	for a, k := range o {
		d.Data[a] = row[k] - m.mean[k]
		for j := range n {
			w.Data[a*n+j] = m.cov.At(k, j)
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, u, w)
	blas64.Trsv(blas.Trans, u, d)
	for k, x := range row {
		if math.IsNaN(x) {
			into[k] += blas64.Dot(blas64.Vector{N: len(o), Data: w.Data[k:], Inc: n}, d)
		}
	}
	known.data = append(known.data, w.Data...)
	return true
}

// triangle is an upper Cholesky factor U of cov over some candidates plus noise, in the memory of whoever
// asked for it.
type triangle struct {
	n    int
	data []float64
	rows []float64 // scratch of distances
}

// factor computes UᵀU = cov[of, of] + noise; false: it is not positive definite.
func (t *triangle) factor(of []int, cov func(i, j int) float64, noise float64) bool {
	n := len(of)
	t.n = n
	t.data = slices.Grow(t.data[:0], n*n)[:n*n]
	for a, i := range of {
		row := t.data[a*n : (a+1)*n]
		for b := a; b < n; b++ {
			row[b] = cov(of[b], i)
		}
		row[a] += noise + 1e-9
	}
	_, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: n, Data: t.data, Stride: n})
	return ok
}

func (t *triangle) upper() blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: t.n, Data: t.data, Stride: t.n}
}

// logDet is that of UᵀU.
func (t *triangle) logDet() float64 {
	sum := 0.0
	for i := range t.n {
		sum += 2 * math.Log(t.data[i*t.n+i])
	}
	return sum
}

// means are the candidates' means over the rows that have them, drawn to their family's mean by f.draw rows
// and that to the mean of all by half a candidate.
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
		out[k] = (sum[k] + f.draw*(g[0]+0.5*overall)/(g[1]+0.5)) / (count[k] + f.draw)
	}
	return out
}

// shrunk is (1-w)·S + w·T, widened for the uncertainty of a mean that was itself estimated: (R+1)/(R-1).
func (m *moments) shrunk(f *fitter, by shape) Symmetric {
	n, target, w := len(f.families), by.target, by.weight
	if m.sd == nil {
		m.sd = make([]float64, n)
		for k := range n {
			m.sd[k] = math.Sqrt(max(m.cov.At(k, k), 1e-9))
		}
		m.within, m.between = f.correlations(m.cov, m.sd)
	}
	within, between := m.within, m.between
	if target == 1 {
		all := within.sum + between.sum
		within.sum, between.sum = all, all
		pairs := within.pairs + between.pairs
		within.pairs, between.pairs = pairs, pairs
	}
	rest := min(max(between.mean(f.rest), 0), 0.98)
	same := min(max(within.mean(f.same), rest), 0.98)
	if target == 0 {
		rest, same = 0, 0
	}
	sd := m.sd
	if by.pooled {
		v := 0.0
		for _, x := range m.sd {
			v += x * x / float64(n)
		}
		sd = slices.Repeat([]float64{math.Sqrt(v)}, n)
	}
	widen := 1.0
	if m.rows > 1 {
		widen = float64(m.rows+1) / float64(m.rows-1)
	}
	raw := m.cov.RawSymmetric()
	out := make(Symmetric, 0, n*(n+1)/2)
	for i := range n {
		si := w * sd[i]
		for j := range i {
			t := rest
			if f.families[i] == f.families[j] {
				t = same
			}
			out = append(out, widen*((1-w)*raw.Data[j*raw.Stride+i]+si*t*sd[j]))
		}
		out = append(out, widen*((1-w)*raw.Data[i*raw.Stride+i]+si*sd[i]))
	}
	return out
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

// logLikelihood of rows under a Student-t with that mean, scatter cov + noise·I and degrees of freedom
// (infinite: a Gaussian), up to a constant that depends on the number of cells alone.
func (f *fitter) logLikelihood(mean []float64, cov Symmetric, noise, df float64, groups []pattern) float64 {
	sum := 0.0
	for _, g := range groups {
		if !f.work.factor(g.cells, cov.At, noise) {
			return math.Inf(-1)
		}
		n := float64(len(g.cells))
		sum -= 0.5 * float64(len(g.rows)) * f.work.logDet()
		if !math.IsInf(df, 1) {
			a, _ := math.Lgamma((df + n) / 2)
			b, _ := math.Lgamma(df / 2)
			sum += float64(len(g.rows)) * (a - b - 0.5*n*math.Log(df/2))
		}
		for _, q := range f.work.distances(mean, &g) {
			if math.IsInf(df, 1) {
				sum -= 0.5 * q
			} else {
				sum -= 0.5 * (df + n) * math.Log1p(q/df)
			}
		}
	}
	return sum
}

// distances are the squared Mahalanobis distances of the rows. With cov + noise = UᵀU they are the squared
// lengths of the columns of U⁻ᵀ·(rows - mean).
func (t *triangle) distances(mean []float64, g *pattern) []float64 {
	n, m := len(g.cells), len(g.rows)
	t.rows = slices.Grow(t.rows[:0], n*m)[:n*m]
	for a, k := range g.cells {
		for i, r := range g.rows {
			t.rows[a*m+i] = r[k] - mean[k]
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, t.upper(), blas64.General{Rows: n, Cols: m, Stride: m, Data: t.rows})
	q := make([]float64, m)
	for a := range g.cells {
		for i, x := range t.rows[a*m : (a+1)*m] {
			q[i] += x * x
		}
	}
	return q
}
