package allocator

import (
	"fmt"
	"math"
)

// Row is one past search: what was measured in it. Cells may be missing.
type Row struct {
	Quality            map[CandidateID]float64
	Seconds            map[CandidateID]float64
	Class              map[CandidateID]string  // device class of Seconds; missing = unknown
	Estimate           map[CandidateID]float64 // what the trainer had thought the seconds would be, there; missing = unknown
	Examples, Features int                     // 0 = unknown
}

// FitOptions choose what is fitted; the zero value is right for history of this service.
type FitOptions struct {
	// MaxRows bounds the work: only the last so many rows are used; 0 = 300 (a few seconds at 200
	// candidates).
	MaxRows int
	// Beliefs weigh as much as one past search; nil = DefaultBeliefs.
	Beliefs *Beliefs
}

// FitPrior makes a prior from past searches. Both covariances are
//
//	(1-w)·S + w·T,
//
// S the covariance of history (missing cells by expectation maximisation), T the nearest of three simple
// targets: its diagonal, one common correlation, or a family kernel (one correlation within families, one
// between). w, T and the noise have the highest likelihood of held-out rows (5 folds; leave one out below 5
// rows). The qualities' distribution is a multivariate Student-t, since data sets differ in how far apart
// candidates lie on them; its degrees of freedom are chosen likewise. Qualities are modelled on the logit
// scale, seconds as logarithms after a ridge regression on the logarithms of examples and features.
//
// family may be nil. The error says which cell cannot be, or that there is nothing to fit.
func FitPrior(history []Row, family func(CandidateID) string, opts FitOptions) (*Prior, error) {
	if opts.MaxRows == 0 {
		opts.MaxRows = 300
	}
	if len(history) > opts.MaxRows {
		history = history[len(history)-opts.MaxRows:]
	}
	b := DefaultBeliefs()
	if opts.Beliefs != nil {
		b = *opts.Beliefs
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	t, err := tabulate(history, family)
	if err != nil {
		return nil, err
	}
	p := &Prior{Rows: len(history), Candidates: t.candidates}
	sc := scale{b.Offset}
	p.Quality = QualityPrior{Scale: ScaleLogit, Offset: b.Offset, Floor: math.Inf(1)}
	logits := t.logits(sc)
	for _, row := range logits {
		for _, k := range observed(row) {
			p.Quality.Floor = min(p.Quality.Floor, row[k])
		}
	}
	if math.IsInf(p.Quality.Floor, 0) {
		p.Quality.Floor = sc.to(0)
	}
	f := fitter{families: t.families, level: b.Level, variance: b.Variance, rest: b.Rest, same: b.Family, df: b.DF, noises: []float64{1e-4, 1e-3, 1e-2, 3e-2}}
	q := f.fit(logits)
	p.Quality.Mean, p.Quality.Cov, p.Quality.Noise = q.mean, q.cov, q.noise
	if !math.IsInf(q.df, 1) {
		p.Quality.DF = q.df
	}

	fitSeconds(t, &b.Seconds, &p.Seconds)
	return Seal(*p)
}

// table is history as matrices, NaN where nothing was measured.
type table struct {
	candidates []PriorCandidate
	families   []int
	quality    [][]float64
	logSeconds [][]float64
	class      [][]string
	size       [][2]float64 // log(examples+1), log(features+1); NaN = unknown
	relative   bool         // logSeconds are of seconds over estimates, which all have
}

// logits are the qualities on a scale.
func (t *table) logits(sc scale) [][]float64 {
	out := make([][]float64, len(t.quality))
	for i, row := range t.quality {
		out[i] = make([]float64, len(row))
		for k, q := range row {
			out[i][k] = math.NaN()
			if !math.IsNaN(q) {
				out[i][k] = sc.to(q)
			}
		}
	}
	return out
}

func tabulate(history []Row, family func(CandidateID) string) (*table, error) {
	all := map[CandidateID]bool{}
	for i, r := range history {
		for id, q := range r.Quality {
			if err := checkQuality(q); err != nil {
				return nil, fmt.Errorf("row %d of history, candidate %q: %w", i+1, id, err)
			}
			all[id] = true
		}
		for id, s := range r.Seconds {
			if !(s > 0) || math.IsInf(s, 0) {
				return nil, fmt.Errorf("row %d of history, candidate %q: the seconds are %v; they must be a positive number", i+1, id, s)
			}
			if e, ok := r.Estimate[id]; ok && (!(e > 0) || math.IsInf(e, 0)) {
				return nil, fmt.Errorf("row %d of history, candidate %q: the estimate of the seconds is %v; it must be a positive number", i+1, id, e)
			}
			all[id] = true
		}
		if r.Examples < 0 || r.Features < 0 {
			return nil, fmt.Errorf("row %d of history: %d examples, %d features; they must not be negative", i+1, r.Examples, r.Features)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("history has no trial to fit a prior from; use DefaultPrior")
	}
	t := &table{relative: true}
	for _, r := range history {
		for id := range r.Seconds {
			t.relative = t.relative && r.Estimate[id] > 0
		}
	}
	numbers := map[string]int{}
	for _, id := range sortedKeys(all) {
		c := PriorCandidate{ID: id}
		if family != nil {
			c.Family = family(id)
		}
		for _, r := range history {
			if _, ok := r.Quality[id]; ok {
				c.Rows++
			}
			if _, ok := r.Seconds[id]; ok {
				c.Timed++
			}
		}
		f, ok := numbers[c.Family]
		if !ok {
			f = len(numbers)
			numbers[c.Family] = f
		}
		t.candidates = append(t.candidates, c)
		t.families = append(t.families, f)
	}
	n := len(t.candidates)
	for _, r := range history {
		q, s, classes := make([]float64, n), make([]float64, n), make([]string, n)
		for k := range t.candidates {
			id := t.candidates[k].ID
			q[k], s[k] = math.NaN(), math.NaN()
			if x, ok := r.Quality[id]; ok {
				q[k] = x
			}
			if x, ok := r.Seconds[id]; ok {
				s[k] = math.Log(x)
				if t.relative {
					s[k] -= math.Log(r.Estimate[id])
				}
				classes[k] = r.Class[id]
			}
		}
		size := [2]float64{math.NaN(), math.NaN()}
		for d, x := range []int{r.Examples, r.Features} {
			if x > 0 {
				size[d] = math.Log(float64(x) + 1)
			}
		}
		t.quality, t.logSeconds, t.class, t.size = append(t.quality, q), append(t.logSeconds, s), append(t.class, classes), append(t.size, size)
	}
	return t, nil
}
