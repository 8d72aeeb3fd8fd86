package allocator

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// drawnBy are past searches as beliefs say, with candidates in families of four.
func drawnBy(b Beliefs, rows, candidates int, seed uint64) []Row {
	r := newNormals(seed)
	normal := func(variance float64) float64 { return math.Sqrt(variance) * r.NormFloat64() }
	effect := make([]float64, candidates)
	for k := range effect {
		effect[k] = normal(b.Seconds.Candidate)
	}
	var out []Row
	for range rows {
		row := Row{Quality: map[CandidateID]float64{}, Seconds: map[CandidateID]float64{}}
		common, dear := normal(b.Variance*b.Rest), normal(b.Seconds.Search)
		own, dearer := 0.0, 0.0
		for k := range candidates {
			if k%4 == 0 {
				own, dearer = normal(b.Variance*(b.Family-b.Rest)), normal(b.Seconds.Family)
			}
			id := CandidateID(fmt.Sprintf("f%02d.%d", k/4, k%4))
			x := b.Level + common + own + normal(b.Variance*(1-b.Family)) + normal(b.Noise)
			row.Quality[id] = scale{b.Offset}.from(x)
			row.Seconds[id] = math.Exp(3 + effect[k] + dear + dearer + normal(b.Seconds.Own) + normal(b.Seconds.Noise))
		}
		out = append(out, row)
	}
	return out
}

// Beliefs are found again in what they draw.
func TestEstimateBeliefs(t *testing.T) {
	want := DefaultBeliefs()
	want.Offset, want.Level, want.Variance, want.Family, want.Rest = 1e-3, 0.5, 0.8, 0.8, 0.5
	want.Seconds.Candidate, want.Seconds.Search, want.Seconds.Family, want.Seconds.Own = 2, 0.7, 0.3, 0.2
	start := DefaultBeliefs()
	start.Offset = want.Offset
	got, err := EstimateBeliefs([][]Row{drawnBy(want, 300, 80, 1), drawnBy(want, 300, 80, 2)}, family4, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
		off       float64
	}{
		{"level", got.Level, want.Level, 0.1}, {"variance", got.Variance, want.Variance, 0.1}, {"rest", got.Rest, want.Rest, 0.06},
		{"family", got.Family, want.Family, 0.06}, {"candidate", got.Seconds.Candidate, want.Seconds.Candidate, 0.6},
		{"search", got.Seconds.Search, want.Seconds.Search, 0.1}, {"search and family", got.Seconds.Family, want.Seconds.Family, 0.06},
		{"own", got.Seconds.Own, want.Seconds.Own, 0.06},
	} {
		if math.Abs(c.got-c.want) > c.off {
			t.Errorf("%s is %.3g, made with %.3g", c.name, c.got, c.want)
		}
	}
	if got.DF < 10 {
		t.Errorf("what is Gaussian has %v degrees of freedom", got.DF)
	}
	if got.Noise != start.Noise || got.Baseline != start.Baseline || got.Seconds.Level != start.Seconds.Level {
		t.Error("what no matrix shows has changed")
	}
}

func TestEstimateBeliefsSaysWhatIsWrong(t *testing.T) {
	start := DefaultBeliefs()
	if _, err := EstimateBeliefs(nil, nil, start); err == nil {
		t.Error("estimated from nothing")
	}
	bad := [][]Row{{{Quality: map[CandidateID]float64{"a": 0.5}}}, {{Quality: map[CandidateID]float64{"a": 2}}}}
	if _, err := EstimateBeliefs(bad, nil, start); err == nil || !strings.Contains(err.Error(), "matrix 2: row 1") {
		t.Errorf("%v", err)
	}
}

func TestBeliefsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Beliefs){
		"beliefs.offset":        func(b *Beliefs) { b.Offset = 0 },
		"beliefs.family":        func(b *Beliefs) { b.Family = b.Rest / 2 },
		"beliefs.variance":      func(b *Beliefs) { b.Variance = math.NaN() },
		"beliefs.seconds.noise": func(b *Beliefs) { b.Seconds.Noise = 0 },
	} {
		b := DefaultBeliefs()
		change(&b)
		if _, err := New(Options{Beliefs: &b}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := FitPrior(history(3, newNormals(1), 0), nil, FitOptions{Beliefs: &b}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: fitted with %v", name, err)
		}
	}
}
