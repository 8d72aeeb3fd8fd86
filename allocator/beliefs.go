package allocator

import (
	"fmt"
	"slices"
)

// Beliefs are what is thought of candidates where history is silent: the whole of [DefaultPrior], and worth
// one past search in [FitPrior]. [EstimateBeliefs] finds them from matrices of past searches; those of
// [DefaultBeliefs] are its estimate from the replay's, but for three variances of the seconds (README,
// "Beliefs").
type Beliefs struct {
	// Offset is o of the qualities' scale log((q+o)/(1-q+o)).
	Offset float64 `json:"offset"`
	// Level and Variance of a candidate's quality on a data set, on that scale, and correlations between
	// candidates of one family and of two; DF are the degrees of freedom of the Student-t.
	Level    float64 `json:"level"`
	Variance float64 `json:"variance"`
	Family   float64 `json:"family"`
	Rest     float64 `json:"rest"`
	DF       float64 `json:"df"`
	Noise    float64 `json:"noise"` // variance of one observation
	// Baseline is the level of a reference line, and Reference its correlation with candidates.
	Baseline  float64 `json:"baseline"`
	Reference float64 `json:"reference"`
	// Seconds are the variances of log seconds.
	Seconds SecondsBeliefs `json:"seconds"`
}

// SecondsBeliefs are variances of the parts of log seconds,
//
//	log s(i,k) = level + candidate k + search i + (search i, family of k) + (search i, k) + noise.
type SecondsBeliefs struct {
	Level     float64 `json:"level"`     // of all
	Candidate float64 `json:"candidate"` // what a candidate adds to it, in all searches
	Search    float64 `json:"search"`
	Family    float64 `json:"family"`
	Own       float64 `json:"own"`
	Noise     float64 `json:"noise"`
	Class     float64 `json:"class"` // a search's own deviation on a device class
}

// within is the variance of one search about the candidates' means, without noise.
func (b *SecondsBeliefs) within() float64 { return b.Search + b.Family + b.Own }

// DefaultBeliefs are used where none are given. README, "Beliefs", says where each is from.
func DefaultBeliefs() Beliefs {
	return Beliefs{
		Offset: 0.02, Level: 1.3, Variance: 2.1, Family: 0.78, Rest: 0.74, DF: 2, Noise: 0.01,
		Baseline: -1.8, Reference: 0.6,
		Seconds: SecondsBeliefs{
			Level: 10, Candidate: 5, Search: 0.15, Family: 0, Own: 0.64, Noise: 0.05, Class: 0.25,
		},
	}
}

// DefaultPrior is the prior of [DefaultBeliefs].
func DefaultPrior(arms []Arm) *Prior {
	b := DefaultBeliefs()
	return b.Prior(arms)
}

// Prior is the prior when nothing else is known: candidates of one family behave alike, and all of them
// follow how hard the data is. Seconds come from the arms' estimates when a search is made. The beliefs must
// be whole, as [New] and [FitPrior] check them.
func (b *Beliefs) Prior(arms []Arm) *Prior {
	sorted := slices.CompactFunc(sortedArms(arms), func(a, b Arm) bool { return a.ID == b.ID })
	n := len(sorted)
	correlated := func(variance, rest, family, baseline float64) Symmetric {
		return newSymmetric(n, func(i, j int) float64 {
			a, b := &sorted[i], &sorted[j]
			switch {
			case i == j:
				return variance
			case a.Baseline != b.Baseline:
				return baseline
			case a.Family == b.Family && a.Family != "":
				return family
			}
			return rest
		})
	}
	s := &b.Seconds
	p := &Prior{
		Candidates: make([]PriorCandidate, n),
		Quality: QualityPrior{
			Scale: ScaleLogit, Offset: b.Offset, Mean: make([]float64, n), Noise: b.Noise, DF: b.DF,
			Floor: scale{b.Offset}.to(0),
			Cov:   correlated(b.Variance, b.Variance*b.Rest, b.Variance*b.Family, b.Variance*b.Reference),
		},
		Seconds: SecondsPrior{
			Mean: make([]float64, n), Slope: make([][2]float64, n), Noise: s.Noise, OffsetVar: s.Class,
			Cov: correlated(s.within(), s.Search, s.Search+s.Family, s.Search/2),
		},
	}
	for i := range sorted {
		p.Candidates[i] = PriorCandidate{ID: sorted[i].ID, Family: sorted[i].Family}
		p.Quality.Mean[i] = b.Level
		if sorted[i].Baseline {
			p.Quality.Mean[i] = b.Baseline
		}
	}
	sealed, err := Seal(*p)
	if err != nil { // cannot be: all numbers above are finite and in order
		panic("allocator: the prior of beliefs is not whole: " + err.Error())
	}
	return sealed
}

// check says which number cannot be.
func (b *Beliefs) check() error {
	for _, f := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"offset", b.Offset, 1e-6, 1}, {"level", b.Level, -100, 100}, {"variance", b.Variance, 1e-6, 1e6},
		{"rest", b.Rest, 0, 1}, {"family", b.Family, b.Rest, 1}, {"df", b.DF, 0.1, 1e6}, {"noise", b.Noise, 1e-9, 1e6},
		{"baseline", b.Baseline, -100, 100}, {"reference", b.Reference, 0, b.Rest},
		{"seconds.level", b.Seconds.Level, 1e-6, 1e6}, {"seconds.candidate", b.Seconds.Candidate, 1e-6, 1e6},
		{"seconds.search", b.Seconds.Search, 1e-6, 1e6}, {"seconds.family", b.Seconds.Family, 0, 1e6},
		{"seconds.own", b.Seconds.Own, 0, 1e6},
		{"seconds.noise", b.Seconds.Noise, 1e-9, 1e6}, {"seconds.class", b.Seconds.Class, 0, 1e6},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return fmt.Errorf("beliefs.%s is %v; it must lie between %v and %v", f.name, f.value, f.low, f.high)
		}
	}
	return nil
}
