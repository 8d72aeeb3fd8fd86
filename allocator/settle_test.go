package allocator

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

type measured struct {
	Examples, Features int
	Rows               []measuredRow
}

type measuredRow struct {
	ID, Family       string
	Quality, Seconds float64
}

func readDigits(t testing.TB) measured {
	b, err := os.ReadFile("testdata/digits.json")
	if err != nil {
		t.Fatal(err)
	}
	var m measured
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// search offers the measured candidates with estimates that are wrong by up to a factor of three.
func (m *measured) search(id SearchID) SearchAdded {
	e := SearchAdded{Search: id, Examples: m.Examples, Features: m.Features}
	for i, r := range m.Rows {
		wrong := math.Pow(3, float64(splitMix(uint64(i))%1000)/500-1)
		e.Arms = append(e.Arms, Arm{ID: CandidateID(r.ID), Family: r.Family, Baseline: r.Family == "dummy", Estimate: map[string]float64{"cpu1": r.Seconds * wrong}})
	}
	return e
}

// run plays the search on one device until nothing is given any more, and returns the candidates tried.
func (m *measured) run(t testing.TB, a *Allocator, id SearchID) (tried []CandidateID) {
	for {
		d, ok := a.Next("cpu1")
		if !ok {
			return tried
		}
		if v, _ := a.View(id); v.Outlook.LikelyFinal {
			t.Fatalf("likely final, but %s is given", d.Candidate)
		}
		i := slices.IndexFunc(m.Rows, func(r measuredRow) bool { return r.ID == string(d.Candidate) })
		r := m.Rows[i]
		must(t, a, TrialStarted{id, d.Candidate, "cpu1"},
			TrialEnded{Search: id, Candidate: d.Candidate, Outcome: OK, Quality: r.Quality, Seconds: r.Seconds, Charge: r.Seconds})
		tried = append(tried, d.Candidate)
	}
}

func TestDigitsAreMostlyTried(t *testing.T) {
	m := readDigits(t)
	a := fresh(t, Options{})
	must(t, a, m.search("digits"))
	tried := m.run(t, a, "digits")
	v, _ := a.View("digits")
	if len(tried) < 15 || len(tried) == len(m.Rows) {
		t.Errorf("%d of %d candidates were tried: %v", len(tried), len(m.Rows), tried)
	}
	if !v.Outlook.LikelyFinal || v.Outlook.Exhausted || v.Outlook.Chance > 0.05 || v.Outlook.ExpectedGain > v.Outlook.Resolution {
		t.Errorf("%+v", v.Outlook)
	}
	if v.BestCandidate != "knn.k5" || tried[0] != "dummy" {
		t.Errorf("best %s, first %s", v.BestCandidate, tried[0])
	}
	last := m.Rows[slices.IndexFunc(m.Rows, func(r measuredRow) bool { return !slices.Contains(tried, CandidateID(r.ID)) })]
	if last.Seconds < 1 {
		t.Errorf("%s was left though it takes %g s", last.ID, last.Seconds)
	}
	// Resumed, it goes on to the end.
	must(t, a, SearchPaused{"digits"}, SearchResumed{"digits"})
	rest := 0
	for {
		d, ok := a.Next("cpu1")
		if !ok {
			break
		}
		must(t, a, TrialStarted{"digits", d.Candidate, "cpu1"}, TrialEnded{Search: "digits", Candidate: d.Candidate, Outcome: Failed, Charge: 1})
		rest++
	}
	if v, _ := a.View("digits"); rest+len(tried) != len(m.Rows) || !v.Outlook.Exhausted {
		t.Errorf("resumed: %d more; %+v", rest, v.Outlook)
	}
}

// A trial that is lost is run again, however little it promises by then.
func TestNothingIsFinalBeforeALostTrialHasRun(t *testing.T) {
	m := readDigits(t)
	a := fresh(t, Options{})
	must(t, a, m.search("digits"))
	tried := m.run(t, a, "digits")
	i := slices.IndexFunc(m.Rows, func(r measuredRow) bool { return !slices.Contains(tried, CandidateID(r.ID)) })
	left := CandidateID(m.Rows[i].ID)
	must(t, a, TrialStarted{"digits", left, "cpu1"}, TrialLost{Search: "digits", Candidate: left})
	if v, _ := a.View("digits"); v.Outlook.LikelyFinal {
		t.Error("likely final while a lost trial waits")
	}
	kept, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = Restore(kept); err != nil {
		t.Fatal(err)
	}
	if again := m.run(t, a, "digits"); !slices.Equal(again, []CandidateID{left}) {
		t.Errorf("after the loss of %s, %v were given", left, again)
	}
	if v, _ := a.View("digits"); !v.Outlook.LikelyFinal {
		t.Errorf("%+v", v.Outlook)
	}
}

func TestNothingIsFinalBeforeAHandfulOfFamilies(t *testing.T) {
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(20)})
	for i := range 5 { // dummy, then four families of models; all perfect
		if v, _ := a.View("s"); v.Outlook.LikelyFinal {
			t.Fatalf("likely final after %d trials", i)
		}
		d, _ := a.Next("cpu1")
		must(t, a, TrialStarted{"s", d.Candidate, "cpu1"},
			TrialEnded{Search: "s", Candidate: d.Candidate, Outcome: OK, Quality: 1, Seconds: 1, Charge: 1})
	}
	for {
		d, ok := a.Next("cpu1")
		if !ok {
			break
		}
		must(t, a, TrialStarted{"s", d.Candidate, "cpu1"},
			TrialEnded{Search: "s", Candidate: d.Candidate, Outcome: OK, Quality: 1, Seconds: 1, Charge: 1})
	}
	v, _ := a.View("s")
	families := map[string]bool{}
	for _, c := range v.Candidates {
		if c.State == TriedOK && c.ID != "dummy" {
			families[c.Family] = true
		}
	}
	if !v.Outlook.LikelyFinal || len(families) != 4 || v.Outlook.Untried < 10 {
		t.Errorf("families %v, %+v", families, v.Outlook)
	}
	// New candidates wake it: one of each new family is tried.
	must(t, a, ArmsChanged{Search: "s", Added: []Arm{{ID: "lab1", Family: "lab"}, {ID: "lab2", Family: "lab"}}})
	d, ok := step(t, a, "cpu1")
	if !ok || d.Candidate != "lab1" && d.Candidate != "lab2" {
		t.Errorf("after new candidates %v %q is given", ok, d.Candidate)
	}
	if d, ok := a.Next("cpu1"); ok {
		t.Errorf("it goes on with %s", d.Candidate)
	}
}

// The bounds must hold on searches drawn from the prior itself.
func TestChanceIsABound(t *testing.T) {
	arms := catalogue(16)
	p := DefaultPrior(arms)
	n := len(p.Candidates)
	final, beaten := 0, 0
	r := newNormals(11)
	for range 300 {
		f := drawFrom(t, p, r)
		a := fresh(t, Options{})
		must(t, a, SearchAdded{Search: "s", Arms: arms, Resolution: 0.01})
		for {
			d, ok := a.Next("cpu1")
			if !ok {
				break
			}
			q := scale{p.Quality.Offset}.from(f[p.index(d.Candidate)])
			must(t, a, TrialStarted{"s", d.Candidate, "cpu1"}, TrialEnded{Search: "s", Candidate: d.Candidate, Outcome: OK, Quality: q, Seconds: 1, Charge: 1})
		}
		v, _ := a.View("s")
		if v.Outlook.Untried == 0 {
			continue
		}
		final++
		for k := range n {
			if (scale{p.Quality.Offset}).from(f[k]) > v.Best+0.01 {
				beaten++
				break
			}
		}
	}
	t.Logf("%d of 300 were likely final before the end, %d of these could be beaten", final, beaten)
	if final < 20 || float64(beaten) > 0.05*float64(final)+3 {
		t.Errorf("%d of %d likely final searches could be beaten by more than the resolution", beaten, final)
	}
}
