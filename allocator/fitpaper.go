package allocator

import (
	"math"
	"sort"
)

// FitPaperPrior makes the prior that the Ease.ml paper's policies start from, for comparisons: qualities as they are
// (linear scale); a candidate is described by its qualities on history, and the covariance is a squared exponential of the
// distance, with the median squared distance as its width and the mean variance of history as its height; costs are the
// mean over history rows scaled to mean 1 and are not learned. Missing cells are replaced by the candidate's mean.
func FitPaperPrior(history []Row, family func(CandidateID) string) (*Prior, error) {
	t, err := tabulate(history, family)
	if err != nil {
		return nil, err
	}
	n := len(t.candidates)
	p := &Prior{Rows: len(history), Candidates: t.candidates}
	q := impute(t.quality)
	mean, height := make([]float64, n), 0.0
	floor := 1.0
	for k := range n {
		m, v := column(q, k)
		mean[k] = m
		height += v / float64(n)
		for i := range q {
			floor = min(floor, q[i][k])
		}
	}
	distance := func(i, j int) float64 {
		d := 0.0
		for _, r := range q {
			d += (r[i] - r[j]) * (r[i] - r[j])
		}
		return d
	}
	var positive []float64
	for i := range n {
		for j := range i {
			if d := distance(i, j); d > 0 {
				positive = append(positive, d)
			}
		}
	}
	width := 1.0
	if len(positive) > 0 {
		sort.Float64s(positive)
		h := len(positive) / 2
		width = positive[h]
		if len(positive)%2 == 0 {
			width = (positive[h-1] + positive[h]) / 2
		}
	}
	p.Quality = QualityPrior{Scale: ScaleLinear, Mean: mean, Noise: 1e-4, Floor: floor, Cov: newSymmetric(n, func(i, j int) float64 {
		v := height * math.Exp(-distance(i, j)/(2*width))
		if i == j {
			v += 1e-9
		}
		return v
	})}
	costs := scaledCosts(t)
	p.Seconds = SecondsPrior{Mean: costs, Slope: make([][2]float64, n), Cov: make(Symmetric, n*(n+1)/2), Noise: 1}
	return Seal(*p)
}

// scaledCosts is the logarithm of the mean of the candidates' seconds over rows scaled to mean 1; of a candidate that
// was never timed it is that mean.
func scaledCosts(t *table) []float64 {
	n := len(t.candidates)
	sum, count := make([]float64, n), make([]float64, n)
	for i := range t.logSeconds {
		mean, c := 0.0, 0.0
		for _, v := range t.logSeconds[i] {
			if !math.IsNaN(v) {
				mean += math.Exp(v)
				c++
			}
		}
		for k, v := range t.logSeconds[i] {
			if !math.IsNaN(v) {
				sum[k] += math.Exp(v) / (mean / c)
				count[k]++
			}
		}
	}
	out := make([]float64, n)
	for k := range n {
		if count[k] > 0 { // else the mean cost, whose logarithm is 0
			out[k] = math.Log(sum[k] / count[k])
		}
	}
	return out
}

func column(rows [][]float64, k int) (mean, variance float64) {
	for _, r := range rows {
		mean += r[k] / float64(len(rows))
	}
	for _, r := range rows {
		variance += (r[k] - mean) * (r[k] - mean) / float64(len(rows))
	}
	return mean, variance
}

// impute replaces missing cells by their column's mean, or 0 where a column is empty.
func impute(rows [][]float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i := range rows {
		out[i] = append([]float64(nil), rows[i]...)
	}
	for k := 0; len(rows) > 0 && k < len(rows[0]); k++ {
		sum, n := 0.0, 0.0
		for _, r := range rows {
			if !math.IsNaN(r[k]) {
				sum += r[k]
				n++
			}
		}
		for i := range out {
			if math.IsNaN(out[i][k]) {
				out[i][k] = sum / max(n, 1)
			}
		}
	}
	return out
}
