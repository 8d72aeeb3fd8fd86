package allocator

import (
	"fmt"
	"math"
	"slices"
)

// EstimateBeliefs finds beliefs from several matrices of past searches, each of its own kind, which count
// alike. Levels, variances and correlations are moments; the degrees of freedom have the highest likelihood
// given those. What no matrix shows is left as it is in start: the offset, the noise of one observation, the
// baseline, the level of all seconds and the device classes.
//
// family may be nil. The error says which cell cannot be, or that there is nothing to estimate from.
func EstimateBeliefs(matrices [][]Row, family func(CandidateID) string, start Beliefs) (Beliefs, error) {
	if len(matrices) == 0 {
		return start, fmt.Errorf("there is no matrix to estimate beliefs from")
	}
	var tables []*table
	for i, rows := range matrices {
		t, err := tabulate(rows, family)
		if err != nil {
			return start, fmt.Errorf("matrix %d: %w", i+1, err)
		}
		tables = append(tables, t)
	}
	b := start
	var level, variance, rest, same, candidate, search, within, own average
	for _, t := range tables {
		x := t.logits(scale{b.Offset})
		m := momentsOf(x, t.families)
		level.add(m.mean)
		variance.add(m.variance)
		rest.add(m.between / m.variance)
		if m.pairs > 0 {
			same.add(min(max((m.within-m.between)/(m.variance-m.between), 0), 1))
		}
		p := partsOf(t.logSeconds, t.families)
		candidate.add(p.candidate)
		search.add(p.search)
		within.add(p.rest)
		if p.pairs > 0 {
			own.add(min(max(1-p.family/p.rest, 0), 1))
		}
	}
	b.Level, b.Variance = level.mean(start.Level), max(variance.mean(start.Variance)-b.Noise, b.Noise)
	b.Rest = min(max(rest.mean(start.Rest), 0), 0.98)
	b.Family = b.Rest + (1-b.Rest)*min(max(same.mean((start.Family-start.Rest)/(1-start.Rest)), 0), 0.98)
	b.Reference = min(b.Reference, b.Rest)
	s := &b.Seconds
	s.Candidate, s.Search = max(candidate.mean(s.Candidate), 0.01), search.mean(s.Search)
	left := max(within.mean(s.Family+s.Own+s.Noise)-s.Noise, 0)
	share := own.mean(s.Own / (s.Own + s.Family))
	s.Own, s.Family = left*share, left*(1-share)

	top := math.Inf(-1)
	for _, df := range degrees {
		sum := 0.0
		for _, t := range tables {
			f := fitter{families: t.families, level: b.Level, variance: b.Variance, rest: b.Rest, same: b.Family}
			m := f.initial()
			cov := newSymmetric(len(t.families), m.cov.At)
			cells := 0
			rows := withCells(t.logits(scale{b.Offset}))
			for _, r := range rows {
				cells += len(observed(r))
			}
			sum += f.logLikelihood(m.mean, cov, b.Noise, df, byPattern(rows)) / float64(cells)
		}
		if sum > top {
			top, b.DF = sum, df
		}
	}
	if math.IsInf(b.DF, 1) {
		b.DF = 1e6
	}
	return b, b.check()
}

type average struct{ sum, n float64 }

func (a *average) add(x float64) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		a.sum, a.n = a.sum+x, a.n+1
	}
}

func (a *average) mean(none float64) float64 {
	if a.n == 0 {
		return none
	}
	return a.sum / a.n
}

// cellMoments are those of the cells of a matrix about the mean of all: variance, and mean covariance of two
// cells of one row, within and between families.
type cellMoments struct{ mean, variance, within, between, pairs float64 }

func momentsOf(rows [][]float64, families []int) cellMoments {
	var m cellMoments
	n := 0.0
	for _, r := range rows {
		for _, k := range observed(r) {
			m.mean += r[k]
			n++
		}
	}
	m.mean /= n
	others := 0.0
	count := slices.Max(families) + 1
	for _, r := range rows {
		sums := make([]float64, count)
		sizes := make([]float64, count)
		squares := make([]float64, count)
		for _, k := range observed(r) {
			d := r[k] - m.mean
			sums[families[k]] += d
			squares[families[k]] += d * d
			sizes[families[k]]++
		}
		sum, size, square, pairs := 0.0, 0.0, 0.0, 0.0
		for f := range sums {
			m.variance += squares[f]
			m.within += sums[f]*sums[f] - squares[f]
			m.pairs += sizes[f] * (sizes[f] - 1)
			sum, size = sum+sums[f], size+sizes[f]
			square, pairs = square+sums[f]*sums[f], pairs+sizes[f]*sizes[f]
		}
		m.between += sum*sum - square
		others += size*size - pairs
	}
	m.variance /= n
	m.within /= m.pairs
	m.between /= others
	return m
}

// variances are the parts of a two-way layout: of the columns' effects, of the rows', of what is left, and of
// what is left in common within a family.
type variances struct{ candidate, search, rest, family, pairs float64 }

func partsOf(rows [][]float64, families []int) variances {
	r, c := len(rows), len(families)
	row, column := make([]float64, r), make([]float64, c)
	mean := average{}
	cells := 0.0
	for _, x := range rows {
		for _, k := range observed(x) {
			mean.add(x[k])
			cells++
		}
	}
	mu := mean.mean(0)
	for range 50 { // by turns, since cells may be missing
		for i, x := range rows {
			a := average{}
			for _, k := range observed(x) {
				a.add(x[k] - mu - column[k])
			}
			row[i] = a.mean(0)
		}
		for k := range column {
			a := average{}
			for i, x := range rows {
				a.add(x[k] - mu - row[i])
			}
			column[k] = a.mean(0)
		}
	}
	var v variances
	left := make([][]float64, r)
	for i, x := range rows {
		left[i] = make([]float64, c)
		for k := range x {
			left[i][k] = x[k] - mu - row[i] - column[k]
			if !math.IsNaN(x[k]) {
				v.rest += left[i][k] * left[i][k]
			}
		}
	}
	v.rest /= max(cells-float64(r+c-1), 1)
	m := momentsOf(left, families)
	v.family, v.pairs = m.within, m.pairs
	_, spreadOf := variance(row)
	v.search = max(spreadOf-v.rest*float64(r)/cells, 0)
	_, spreadOf = variance(column)
	v.candidate = max(spreadOf-v.rest*float64(c)/cells, 0)
	return v
}

// variance is the unbiased one.
func variance(xs []float64) (mean, v float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		v += (x - mean) * (x - mean) / max(float64(len(xs)-1), 1)
	}
	return mean, v
}
