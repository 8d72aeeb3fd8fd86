package allocator

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The table holds what the formula gives: at the best t the hazard is one over the price, and no other t is
// cheaper.
func TestGauge(t *testing.T) {
	price := func(sd, t float64) float64 {
		return math.Log(math.Exp(0.5*sd*sd)*normalCDF(t-sd)+math.Exp(sd*t)*normalCDF(-t)) - math.Log(normalCDF(t))
	}
	for _, sd := range []float64{0.8, 1, 1.3, 2.01, 3.3} {
		g := gaugeOf(sd)
		if x := price(sd, g.t); math.Abs(x-g.price) > 0.003 {
			t.Errorf("σ = %g: the price is %g, the table has %g", sd, x, g.price)
		}
		if h := math.Log(hazard(g.t)) - sd*g.t - math.Log(sd); math.Abs(h+g.price) > 0.1 {
			t.Errorf("σ = %g: log hazard %g at a price of %g", sd, h, g.price)
		}
		for x := -5.0; x < 8; x += 0.1 {
			if p := price(sd, x); p < g.price-0.003 {
				t.Errorf("σ = %g: t = %g costs %g, less than %g", sd, x, p, g.price)
			}
		}
	}
	if g := gaugeOf(0.3); math.Abs(g.price-0.045) > 1e-3 {
		t.Errorf("hardly uncertain: the price is %g, the mean 0.045", g.price)
	}
}

// A trial that was put aside is expected to take longer than it had, as the truncated normal says; others
// that are like it follow.
func TestOutlast(t *testing.T) {
	s := scenario{past: true}
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(12), Prior: s.known(t, 1)})
	x := a.searches["s"]
	k := x.find("c004")
	must(t, a, TrialStarted{"s", "c004", "cpu1"})
	m, v0 := x.logSeconds(k, 0)
	noise := x.prior.Seconds.Noise
	sd := math.Sqrt(v0 + noise)
	bound := m + 0.7*sd
	must(t, a, TrialOverran{Search: "s", Candidate: "c004", Seconds: math.Exp(bound), Charge: 1})
	h := hazard(0.7)
	d := h * (h - 0.7)
	after, v := x.logSeconds(k, 0)
	if want := m + v0/sd*h; math.Abs(after-want) > 1e-9 {
		t.Errorf("mean %g, it should be %g", after, want)
	}
	if want := v0 - v0*v0/(sd*sd)*d; math.Abs(v-want) > 1e-9 {
		t.Errorf("variance %g, it should be %g", v, want)
	}
	view, _ := a.View("s")
	if c := view.Candidates[slices.IndexFunc(view.Candidates, func(c CandidateView) bool { return c.ID == "c004" })]; c.State != Untried || c.Quality != -1 || c.Charge != 1 {
		t.Errorf("%+v", c)
	}
	for _, sec := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		must(t, a, TrialStarted{"s", "c005", "cpu1"})
		if err := a.Apply(TrialOverran{Search: "s", Candidate: "c005", Seconds: sec}); err == nil {
			t.Errorf("put aside after %v s", sec)
		}
		must(t, a, TrialLost{Search: "s", Candidate: "c005"})
	}
}

// Without history of its seconds nothing is put aside, nor is the last candidate of all, nor under another
// policy.
func TestWhatHasNoLimit(t *testing.T) {
	s := scenario{past: true}
	cold, one, off := fresh(t, Options{}), fresh(t, Options{}), fresh(t, Options{Limit: LimitOptions{Off: true}})
	must(t, cold, SearchAdded{Search: "s", Arms: catalogue(12)})
	must(t, one, SearchAdded{Search: "s", Arms: []Arm{{ID: "c003"}}, Prior: s.known(t, 1)})
	must(t, off, SearchAdded{Search: "s", Arms: catalogue(12), Prior: s.known(t, 1)})
	for name, a := range map[string]*Allocator{"no history": cold, "a single candidate": one, "off": off} {
		for {
			d, ok := step(t, a, "cpu1")
			if !ok {
				break
			}
			if d.Limit != 0 {
				t.Errorf("%s: %s has a limit of %g s", name, d.Candidate, d.Limit)
			}
		}
	}
}

// However long a trial takes, all of its attempts together take at most three times as long, and it comes to
// its end.
func TestPropertyPuttingAsideIsBounded(t *testing.T) {
	prior := scenario{past: true}.known(t, 1)
	put := 0
	rapid.Check(t, func(r *rapid.T) {
		a := fresh(t, Options{Settle: SettleOptions{Off: true}, Limit: LimitOptions{Slack: 2}})
		n := rapid.IntRange(1, 5).Draw(r, "searches")
		dear := rapid.Float64Range(0, 8).Draw(r, "dear")
		salt := rapid.IntRange(0, 1000).Draw(r, "salt")
		for i := range n {
			must(t, a, SearchAdded{Search: SearchID(fmt.Sprint("s", i)), Arms: catalogue(12), Prior: prior})
		}
		spent, wanted := map[string]float64{}, map[string]float64{}
		for {
			d, ok := a.Next("cpu1")
			if !ok {
				break
			}
			key := fmt.Sprint(d.Search, d.Candidate)
			q, sec := truth(SearchID(fmt.Sprint(d.Search, salt)), d.Candidate)
			sec *= math.Exp(dear * float64(len(key)%2+salt%3) / 3)
			must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"})
			if d.Limit > 0 && sec > d.Limit {
				put++
				spent[key] += d.Limit
				must(t, a, TrialOverran{Search: d.Search, Candidate: d.Candidate, Seconds: d.Limit, Charge: d.Limit})
				continue
			}
			spent[key] += sec
			wanted[key] = sec
			must(t, a, TrialEnded{Search: d.Search, Candidate: d.Candidate, Outcome: OK, Quality: q, Seconds: sec, Charge: sec})
		}
		if len(wanted) != 13*n {
			r.Fatalf("%d of %d trials came to an end", len(wanted), 13*n)
		}
		for key, x := range spent {
			if x > 3*wanted[key]*(1+1e-9) {
				r.Fatalf("%s took %g s in all, %g s are needed", key, x, wanted[key])
			}
		}
	})
	if put == 0 {
		t.Error("nothing was ever put aside")
	}
}

// 10⁵ observations over all searches: the state stays sound, and a decision is made.
func TestManyObservations(t *testing.T) {
	a := fresh(t, Options{Settle: SettleOptions{Off: true}})
	arms := catalogue(49)
	p := DefaultPrior(arms)
	for i := range 2000 {
		id := SearchID(fmt.Sprintf("s%04d", i))
		must(t, a, SearchAdded{Search: id, Arms: arms, Prior: p})
		for k := range arms {
			q, sec := truth(id, arms[k].ID)
			must(t, a, TrialStarted{id, arms[k].ID, "cpu1"}, TrialEnded{Search: id, Candidate: arms[k].ID, Outcome: OK, Quality: q, Seconds: sec, Charge: sec})
		}
	}
	must(t, a, SearchAdded{Search: "t", Arms: arms, Prior: p})
	if d, ok := a.Next("cpu1"); !ok || d.Search != "t" {
		t.Fatalf("%v %v", d, ok)
	}
	if v, _ := a.View("s1999"); !v.Outlook.Exhausted || math.IsNaN(v.Share) || v.Share <= 0 {
		t.Errorf("%+v", v.Outlook)
	}
}
