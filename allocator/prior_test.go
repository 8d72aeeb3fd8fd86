package allocator

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func newNormals(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// drawFrom draws the qualities (on the scale) of one search from a prior.
func drawFrom(t testing.TB, p *Prior, r *rand.Rand) []float64 {
	n := len(p.Candidates)
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, p.Quality.Cov.At(i, j))
		}
		s.SetSym(i, i, s.At(i, i)+1e-9)
	}
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		t.Fatal("the prior's covariance is not positive definite")
	}
	var l mat.TriDense
	chol.LTo(&l)
	z := mat.NewVecDense(n, nil)
	for i := range n {
		z.SetVec(i, r.NormFloat64())
	}
	var f mat.VecDense
	f.MulVec(&l, z)
	out := make([]float64, n)
	for i := range n {
		out[i] = p.Quality.Mean[i] + f.AtVec(i)
	}
	return out
}

func family4(id CandidateID) string {
	if i := strings.IndexByte(string(id), '.'); i >= 0 {
		return string(id)[:i]
	}
	return string(id)
}

// world draws history from a known truth: families a and b, seconds 2·n^0.9·p^0.4 with a factor per candidate.
func history(rows int, r *rand.Rand, missing float64) []Row {
	var out []Row
	for range rows {
		row := Row{Quality: map[CandidateID]float64{}, Seconds: map[CandidateID]float64{}, Class: map[CandidateID]string{}}
		row.Examples, row.Features = int(math.Exp(4+5*r.Float64())), int(math.Exp(1+4*r.Float64()))
		common, cost := r.NormFloat64(), 0.3*r.NormFloat64()
		for _, f := range []string{"a", "b"} {
			own := 0.7 * r.NormFloat64()
			for k := range 4 {
				id := CandidateID(fmt.Sprintf("%s.%d", f, k))
				x := 1 + 0.2*float64(k) + common + own + 0.2*r.NormFloat64()
				sec := math.Exp(-6 + float64(k) + 0.9*math.Log(float64(row.Examples)) + 0.4*math.Log(float64(row.Features)) + cost + 0.1*r.NormFloat64())
				class := "cpu1"
				if r.Float64() < 0.3 {
					class, sec = "h200", sec/20
				}
				if r.Float64() >= missing {
					row.Quality[id], row.Seconds[id], row.Class[id] = scale{0.02}.from(x), sec, class
				}
			}
		}
		out = append(out, row)
	}
	return out
}

func TestFitPriorFindsWhatHistoryWasMadeOf(t *testing.T) {
	for _, missing := range []float64{0, 0.5} {
		p, err := FitPrior(history(150, newNormals(1), missing), family4, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		corr := func(x, y CandidateID) float64 {
			i, j := p.index(x), p.index(y)
			c := p.Quality.Cov
			return c.At(i, j) / math.Sqrt(c.At(i, i)*c.At(j, j))
		}
		same, rest := corr("a.0", "a.1"), corr("a.0", "b.1")
		if math.Abs(same-1.49/1.53) > 0.06 || math.Abs(rest-1/1.53) > 0.15 {
			t.Errorf("missing %g: correlations %.3f within a family, %.3f between; made with 0.974 and 0.654", missing, same, rest)
		}
		for k := range 4 {
			i := p.index(CandidateID(fmt.Sprintf("b.%d", k)))
			s := p.Seconds.Slope[i]
			if math.Abs(s[0]-0.9) > 0.1 || math.Abs(s[1]-0.4) > 0.1 {
				t.Errorf("missing %g: slopes %v, made with 0.9 and 0.4", missing, s)
			}
			if math.Abs(p.Quality.Mean[i]-1-0.2*float64(k)) > 0.3 {
				t.Errorf("missing %g: mean %g", missing, p.Quality.Mean[i])
			}
		}
		if o := p.Seconds.Offsets["h200"]; p.Seconds.Class != "cpu1" || math.Abs(o+math.Log(20)) > 0.3 {
			t.Errorf("missing %g: class %s, offset of h200 %g; made with %g", missing, p.Seconds.Class, o, -math.Log(20))
		}
	}
}

// Two candidates that were never tried together are tied by what both were tried with.
func TestFitPriorLearnsFromPartialRows(t *testing.T) {
	r := newNormals(2)
	rows := history(80, r, 0)
	for i := range rows {
		gone := CandidateID("a.0")
		if i%2 == 0 {
			gone = "b.3"
		}
		delete(rows[i].Quality, gone)
		delete(rows[i].Seconds, gone)
	}
	p, err := FitPrior(rows, func(CandidateID) string { return "" }, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := p.Quality.Cov
	i, j := p.index("a.0"), p.index("b.3")
	if r := c.At(i, j) / math.Sqrt(c.At(i, i)*c.At(j, j)); r < 0.4 || r > 0.85 {
		t.Errorf("correlation %.2f of two candidates that never met; made with 0.65", r)
	}
}

func TestFitPriorWithLittle(t *testing.T) {
	for _, rows := range []int{1, 2, 3, 6} {
		for _, missing := range []float64{0, 0.6} {
			p, err := FitPrior(history(rows, newNormals(3), missing), nil, FitOptions{})
			if err != nil {
				t.Fatal(rows, err)
			}
			a := fresh(t, Options{})
			var arms []Arm
			for _, c := range p.Candidates {
				arms = append(arms, Arm{ID: c.ID})
			}
			arms = append(arms, Arm{ID: "new", Family: "x", Estimate: map[string]float64{"cpu1": 3}}, Arm{ID: "dummy", Baseline: true})
			must(t, a, SearchAdded{Search: "s", Arms: arms, Prior: p, Examples: 1000, Features: 10})
			for range len(arms) {
				step(t, a, "cpu1")
			}
			v, _ := a.View("s")
			for _, c := range v.Candidates {
				if math.IsNaN(c.Mean) || math.IsNaN(c.SD) || c.SD <= 0 || math.IsNaN(c.Seconds["cpu1"].Seconds) {
					t.Errorf("%d rows: %+v", rows, c)
				}
			}
		}
	}
}

func TestFitPriorSaysWhatIsWrong(t *testing.T) {
	for want, rows := range map[string][]Row{
		"no trial":                        {{}},
		`row 1 of history, candidate "a"`: {{Quality: map[CandidateID]float64{"a": math.NaN()}}},
		`row 2 of history, candidate "b"`: {{}, {Seconds: map[CandidateID]float64{"b": 0}}},
		"row 1 of history: -1 examples":   {{Examples: -1}},
	} {
		if _, err := FitPrior(rows, nil, FitOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; it should name %q", err, want)
		}
	}
}

func TestPriorRoundTrip(t *testing.T) {
	p, err := FitPrior(history(12, newNormals(4), 0.2), family4, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := EncodePrior(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := DecodePrior(b)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := EncodePrior(q); !bytes.Equal(b, c) || q.ID != p.ID {
		t.Error("it changes on the way")
	}
	if _, err := DecodePrior(bytes.Replace(b, []byte(`"floor":`), []byte(`"floor":1`), 1)); err == nil || !strings.Contains(err.Error(), "id") {
		t.Errorf("a changed prior is taken: %v", err)
	}
	again, _ := FitPrior(history(12, newNormals(4), 0.2), family4, FitOptions{})
	if again.ID != p.ID {
		t.Error("the same history gives another prior")
	}
}

// A candidate that the prior doesn't know is expected where its family is, with more doubt.
func TestUnknownCandidates(t *testing.T) {
	p, err := FitPrior(history(60, newNormals(5), 0), family4, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arms := []Arm{{ID: "a.0", Family: "a"}, {ID: "a.9", Family: "a"}, {ID: "b.0", Family: "b"}, {ID: "z", Family: "z", Estimate: map[string]float64{"cpu1": 100}}}
	b := layOut(p, arms)
	sd := func(i int) float64 { return b.quality[i*4+i] }
	if !(sd(1) > sd(0)) || !(b.quality[1*4+0] > b.quality[1*4+2]) {
		t.Errorf("variance %g of an unknown, %g of a known candidate; covariance %g within, %g between families", sd(1), sd(0), b.quality[4], b.quality[6])
	}
	s := logSecondsPrior(p, b, arms, "cpu1", 1000, 10)
	if math.Abs(s[3]-math.Log(100)) > 1e-9 {
		t.Errorf("estimated at 100 s, expected at %g s", math.Exp(s[3]))
	}
	q := mat.NewSymDense(4, append([]float64(nil), b.quality...))
	var e mat.EigenSym
	if !e.Factorize(q, false) || e.Values(nil)[0] < -1e-9 {
		t.Errorf("eigenvalues %v", e.Values(nil))
	}
}

// Where history knows what the trainer had thought, seconds are learned relative to that: a candidate whose seconds grow with the
// square of the examples is expected to take so long on data a hundred times as large, and one that is new is as far off as the others.
func TestSecondsRelativeToEstimates(t *testing.T) {
	estimate := func(id CandidateID, n float64) float64 {
		return map[CandidateID]float64{"square": 1e-6 * n * n, "linear": 1e-3 * n, "new": 1e-2 * n}[id]
	}
	off := map[CandidateID]float64{"square": 2, "linear": 0.5}
	var rows []Row
	for i, n := range []float64{100, 200, 150, 300, 250, 120} {
		r := Row{Quality: map[CandidateID]float64{}, Seconds: map[CandidateID]float64{}, Estimate: map[CandidateID]float64{}, Examples: int(n), Features: 4 + i}
		for id, times := range off {
			r.Quality[id], r.Estimate[id] = 0.5, estimate(id, n)
			r.Seconds[id] = times * estimate(id, n) * math.Exp(0.1*float64(i%3-1))
		}
		rows = append(rows, r)
	}
	p, err := FitPrior(rows, nil, FitOptions{})
	if err != nil || !p.Seconds.Relative {
		t.Fatal(err, p)
	}
	var arms []Arm
	for _, id := range []CandidateID{"linear", "new", "square"} {
		arms = append(arms, Arm{ID: id, Estimate: map[string]float64{"cpu1": estimate(id, 30_000)}})
	}
	got := logSecondsPrior(p, layOut(p, arms), arms, "cpu1", 30_000, 10)
	for k, want := range []float64{0.5 * 30, 300, 2 * 900} {
		if off := got[k] - math.Log(want); math.Abs(off) > 0.7 {
			t.Errorf("%s is thought to take %.3g s, not about %.3g", arms[k].ID, math.Exp(got[k]), want)
		}
	}

	delete(rows[2].Estimate, "linear")
	if p, err = FitPrior(rows, nil, FitOptions{}); err != nil || p.Seconds.Relative {
		t.Errorf("one estimate is missing, and the others are gone by: %v", err)
	}
	rows[2].Estimate["linear"] = 0
	if _, err = FitPrior(rows, nil, FitOptions{}); err == nil || !strings.Contains(err.Error(), `row 3 of history, candidate "linear": the estimate`) {
		t.Errorf("an estimate of nothing is taken: %v", err)
	}
}

func TestPriorChanged(t *testing.T) {
	p, err := FitPrior(history(60, newNormals(6), 0), family4, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var arms []Arm
	for _, c := range p.Candidates {
		arms = append(arms, Arm{ID: c.ID, Family: c.Family})
	}
	late, early := fresh(t, Options{}), fresh(t, Options{})
	must(t, late, SearchAdded{Search: "s", Arms: arms})
	must(t, early, SearchAdded{Search: "s", Arms: arms, Prior: p})
	for _, id := range []CandidateID{"a.1", "b.2"} {
		q, s := truth("s", id)
		for _, a := range []*Allocator{late, early} {
			must(t, a, TrialStarted{"s", id, "cpu1"}, TrialEnded{Search: "s", Candidate: id, Outcome: OK, Quality: q, Seconds: s, Charge: s})
		}
	}
	must(t, late, PriorChanged{"s", p})
	v, _ := late.View("s")
	w, _ := early.View("s")
	if fmt.Sprint(v) != fmt.Sprint(w) {
		t.Errorf("a prior that comes later gives\n%v\nfrom the start\n%v", v, w)
	}
}

func FuzzDecodePrior(f *testing.F) {
	b, err := EncodePrior(DefaultPrior(catalogue(2)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"candidates":[{"id":"a"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := DecodePrior(b); err == nil {
			a := fresh(t, Options{})
			must(t, a, SearchAdded{Search: "s", Arms: catalogue(3), Prior: p})
		}
	})
}
