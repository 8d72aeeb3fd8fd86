package allocator

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// coldScene has searches without history, each with the same candidates, and the trials that have ended in them.
func coldScene(t *testing.T) *Allocator {
	t.Helper()
	a, err := New(Options{Settle: SettleOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	arms := []Arm{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "told", Estimate: map[string]float64{"cpu1": 3}}}
	for i := range 3 {
		must(t, a, SearchAdded{Search: SearchID(fmt.Sprint("s", i)), Owners: 1, Arms: arms})
	}
	for i, x := range []struct {
		search    SearchID
		candidate CandidateID
		seconds   float64
	}{{"s0", "a", 2}, {"s0", "b", 50}, {"s1", "a", 3}, {"s1", "told", 4}} {
		must(t, a, TrialStarted{x.search, x.candidate, "cpu1"})
		must(t, a, TrialEnded{Search: x.search, Candidate: x.candidate, Class: "cpu1", Outcome: OK, Quality: 0.5 + 0.05*float64(i), Seconds: x.seconds, Charge: x.seconds})
	}
	return a
}

// What searches teach each other is the exact posterior, here by the covariance of the observations themselves.
func TestLivePriorsEqualExactConditioning(t *testing.T) {
	a := coldScene(t)
	changes := a.LivePriors()
	if len(changes) != 3 {
		t.Fatalf("%d searches change their prior, not 3", len(changes))
	}
	p := changes[0].Prior
	seen := []struct {
		search, candidate int
		y                 float64
	}{{0, 0, math.Log(2)}, {0, 1, math.Log(50)}, {1, 0, math.Log(3)}}
	n := len(seen)
	believed := DefaultBeliefs().Seconds
	between := func(i, j int) float64 { // covariance of two candidates' effects
		if i == j {
			return believed.Level + believed.Candidate
		}
		return believed.Level
	}
	cov, y := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, s := range seen {
		y.SetVec(i, s.y)
		for j, o := range seen[:i+1] {
			v := between(s.candidate, o.candidate)
			if s.search == o.search {
				v += believed.Search + believed.Class
			}
			if i == j {
				v += believed.Family + believed.Own + believed.Noise
			}
			cov.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		t.Fatal("not definite")
	}
	base := DefaultPrior([]Arm{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "told"}})
	gain := func(k int) *mat.VecDense {
		v, x := mat.NewVecDense(n, nil), new(mat.VecDense)
		for i, s := range seen {
			v.SetVec(i, between(k, s.candidate))
		}
		if err := chol.SolveVecTo(x, v); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for k := range 3 {
		if !p.Candidates[k].Live {
			t.Fatalf("candidate %s is not learned", p.Candidates[k].ID)
		}
		if want := mat.Dot(gain(k), y); math.Abs(p.Seconds.Mean[k]-want) > 1e-9 {
			t.Errorf("candidate %d: mean %v, not %v", k, p.Seconds.Mean[k], want)
		}
		for j := range k + 1 {
			want := base.Seconds.Cov.At(k, j) + between(k, j)
			for i, s := range seen {
				want -= gain(k).AtVec(i) * between(j, s.candidate)
			}
			if got := p.Seconds.Cov.At(k, j); math.Abs(got-want) > 1e-9 {
				t.Errorf("candidates %d, %d: covariance %v, not %v", k, j, got, want)
			}
		}
	}
	if p.Candidates[3].Live || p.Seconds.Cov.At(3, 3) != base.Seconds.Cov.At(3, 3) {
		t.Error("a candidate with an estimate was changed")
	}
}

func TestLivePriorsComeSeldomAndSurviveASnapshot(t *testing.T) {
	a := coldScene(t)
	before, _ := a.View("s2")
	for _, e := range a.LivePriors() {
		must(t, a, e)
	}
	after, _ := a.View("s2")
	if x, y := before.Candidates[1].Seconds["cpu1"], after.Candidates[1].Seconds["cpu1"]; !(y.Seconds > 5*x.Seconds) {
		t.Errorf("b took 50 s elsewhere, and is expected to take %.3g s after %.3g s", y.Seconds, x.Seconds)
	}
	if again := a.LivePriors(); again != nil {
		t.Errorf("nothing has ended since, and %d searches change their prior", len(again))
	}
	s, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Restore(s)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		x, more := a.Next("cpu1")
		y, alike := b.Next("cpu1")
		if more != alike || x.Search != y.Search || x.Candidate != y.Candidate || x.Reason.Prior != y.Reason.Prior {
			t.Fatalf("decision %d: %v %v, restored %v %v", n, x.Search, x.Candidate, y.Search, y.Candidate)
		}
		if !more {
			break
		}
		for _, of := range []*Allocator{a, b} {
			must(t, of, TrialStarted{x.Search, x.Candidate, "cpu1"})
			must(t, of, TrialEnded{Search: x.Search, Candidate: x.Candidate, Class: "cpu1", Outcome: OK, Quality: 0.6, Seconds: 1, Charge: 1})
			for _, e := range of.LivePriors() {
				must(t, of, e)
			}
		}
	}
	s, err = a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.Snapshot(); err != nil || !bytes.Equal(r, s) {
		t.Errorf("the snapshots differ in the end (%v)", err)
	}
}

func TestLivePriorsLeaveOtherPoliciesAlone(t *testing.T) {
	for _, policy := range []string{PolicyRoundRobin, PolicyMMEI} {
		a, err := New(Options{Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		must(t, a, SearchAdded{Search: "s", Owners: 1, Arms: []Arm{{ID: "a"}, {ID: "b"}}})
		must(t, a, TrialStarted{"s", "a", "cpu1"})
		must(t, a, TrialEnded{Search: "s", Candidate: "a", Class: "cpu1", Outcome: OK, Quality: 0.5, Seconds: 1, Charge: 1})
		if got := a.LivePriors(); got != nil {
			t.Errorf("%s: %d changes", policy, len(got))
		}
	}
}

// twoSearches are s0 and s1, with all candidates of a prior.
func twoSearches(t *testing.T, p *Prior) (*Allocator, []Arm) {
	t.Helper()
	a := fresh(t, Options{Settle: SettleOptions{Off: true}})
	var arms []Arm
	for _, c := range p.Candidates {
		arms = append(arms, Arm{ID: c.ID, Family: c.Family})
	}
	must(t, a, SearchAdded{Search: "s0", Arms: arms, Prior: p}, SearchAdded{Search: "s1", Arms: arms, Prior: p})
	return a, arms
}

// Open searches also correct what past ones say, the less the more there were.
func TestLivePriorsFadeWithHistory(t *testing.T) {
	moved := func(rows int) float64 {
		r := newNormals(3)
		past := history(rows, r, 0)
		p, err := FitPrior(past, family4, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, arms := twoSearches(t, p)
		for i := range 4 { // everything takes e² times as long as the past says
			k := CandidateID(fmt.Sprintf("a.%d", i))
			at := p.index(k)
			sec := math.Exp(p.Seconds.Mean[at] + 2)
			must(t, a, TrialStarted{"s0", k, "cpu1"}, TrialEnded{Search: "s0", Candidate: k, Outcome: OK, Quality: 0.7, Seconds: sec, Charge: sec})
		}
		changes := a.LivePriors()
		if len(changes) != 2 || changes[0].Prior != changes[1].Prior || changes[0].Prior.Base != p.ID {
			t.Fatalf("%d rows: %d changes", rows, len(changes))
		}
		for _, e := range changes {
			must(t, a, e)
		}
		q := changes[0].Prior
		k := p.index("a.0")
		if !(q.Seconds.Cov.At(k, k) < p.Seconds.Cov.At(k, k)) {
			t.Errorf("%d rows: the doubt grows", rows)
		}
		b, err := a.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Restore(b); err != nil || back.LivePriors() != nil {
			t.Errorf("%d rows: restored, it learns the same again (%v)", rows, err)
		}
		if err := a.Apply(PriorChanged{Search: "s0", Prior: DefaultPrior(arms)}); err != nil {
			t.Fatal(err)
		}
		if err := a.Apply(PriorChanged{Search: "s0", Prior: q}); err == nil {
			t.Errorf("%d rows: what was learned from one prior is taken after another", rows)
		}
		return q.Seconds.Mean[k] - p.Seconds.Mean[k]
	}
	few, many := moved(3), moved(60)
	if !(few > 2*many && many > 0 && few < 2) {
		t.Errorf("trials that take e² times as long move the mean by %.3g with 3 past searches, by %.3g with 60", few, many)
	}
}

// A trial that was put aside in one search makes the candidate dearer in the others.
func TestLivePriorsLearnFromWhatWasPutAside(t *testing.T) {
	p, err := FitPrior(history(3, newNormals(3), 0), family4, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := twoSearches(t, p)
	k := p.index("b.2")
	bound := math.Exp(p.Seconds.Mean[k] + 1)
	put := func(longer float64) *Prior {
		must(t, a, TrialStarted{"s0", "b.2", "cpu1"},
			TrialOverran{Search: "s0", Candidate: "b.2", Seconds: longer, Charge: longer})
		changes := a.LivePriors()
		if len(changes) != 2 {
			t.Fatalf("%d searches change their prior, not 2", len(changes))
		}
		for _, e := range changes {
			must(t, a, e)
		}
		return changes[0].Prior
	}
	once := put(bound)
	twice := put(2 * bound)
	x, y, z := p.Seconds.Mean[k], once.Seconds.Mean[k], twice.Seconds.Mean[k]
	if !(x < y && y < z && z < x+2) {
		t.Errorf("expected at %.3g, after it was put aside at %.3g and %.3g", x, y, z)
	}
	if !(once.Seconds.Cov.At(k, k) < p.Seconds.Cov.At(k, k)) {
		t.Error("the doubt grows")
	}
	v, _ := a.View("s1")
	at := slices.IndexFunc(v.Candidates, func(c CandidateView) bool { return c.ID == "b.2" })
	if c := v.Candidates[at]; c.State != Untried || !(c.Seconds["cpu1"].Seconds > 0) {
		t.Errorf("%+v", c)
	}
}
