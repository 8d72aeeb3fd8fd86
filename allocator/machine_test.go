package allocator

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func must(t testing.TB, a *Allocator, events ...Event) {
	t.Helper()
	for _, e := range events {
		if err := a.Apply(e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
}

func fresh(t testing.TB, o Options) *Allocator {
	t.Helper()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// catalogue is a small list of candidates in four families, and a dummy.
func catalogue(n int) []Arm {
	arms := []Arm{{ID: "dummy", Family: "dummy", Baseline: true, Estimate: map[string]float64{"cpu1": 0.01}}}
	for i := range n {
		arms = append(arms, Arm{
			ID: CandidateID(fmt.Sprintf("c%03d", i)), Version: 1, Family: fmt.Sprintf("f%d", i%4),
			Estimate: map[string]float64{"cpu1": 0.1 * math.Pow(2, float64(i%7))},
		})
	}
	return arms
}

// truth is what a trial of a candidate brings: a fixed function of search and candidate.
func truth(s SearchID, c CandidateID) (quality, seconds float64) {
	h := uint64(7)
	for _, b := range []byte(string(s) + "/" + string(c)) {
		h = splitMix(h + uint64(b))
	}
	if c == "dummy" {
		return 0.1, 0.01
	}
	return 0.5 + 0.49*float64(h%1000)/1000, 0.05 * math.Exp(4*float64(h>>20%1000)/1000)
}

// step serves one decision on the class to its end.
func step(t testing.TB, a *Allocator, class string) (Decision, bool) {
	t.Helper()
	d, ok := a.Next(class)
	if ok {
		q, s := truth(d.Search, d.Candidate)
		must(t, a, TrialStarted{d.Search, d.Candidate, class},
			TrialEnded{Search: d.Search, Candidate: d.Candidate, Class: class, Outcome: OK, Quality: q, Seconds: s, Charge: s})
	}
	return d, ok
}

func TestBaselineThenOneCheapModel(t *testing.T) {
	for _, policy := range Policies() {
		a := fresh(t, Options{Policy: policy})
		must(t, a, SearchAdded{Search: "s", Arms: catalogue(20)})
		d, _ := step(t, a, "cpu1")
		if d.Candidate != "dummy" {
			t.Errorf("%s: the first trial is %s, not the baseline", policy, d.Candidate)
		}
		d, _ = step(t, a, "cpu1")
		if e := catalogue(20)[slices.IndexFunc(catalogue(20), func(m Arm) bool { return m.ID == d.Candidate })].Estimate["cpu1"]; e > 0.4 {
			t.Errorf("%s: the first model is %s, estimated at %g s", policy, d.Candidate, e)
		}
	}
}

func TestNewcomerIsServedFirst(t *testing.T) {
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "old", Arms: catalogue(30)})
	for range 6 {
		step(t, a, "cpu1")
	}
	must(t, a, SearchAdded{Search: "young", Arms: catalogue(30)})
	for i := range 2 {
		d, _ := step(t, a, "cpu1")
		if d.Search != "young" || !strings.HasPrefix(d.Reason.Turn, "opening ") {
			t.Errorf("decision %d goes to %s (%s)", i, d.Search, d.Reason.Turn)
		}
	}
}

func TestEveryCandidateOnceUnderEveryPolicy(t *testing.T) {
	for _, policy := range Policies() {
		a := fresh(t, Options{Policy: policy, Settle: SettleOptions{Off: true}})
		for _, s := range []SearchID{"a", "b", "c"} {
			must(t, a, SearchAdded{Search: s, Arms: catalogue(9)})
		}
		seen := map[string]bool{}
		for {
			d, ok := step(t, a, "cpu1")
			if !ok {
				break
			}
			key := fmt.Sprint(d.Search, d.Candidate)
			if seen[key] {
				t.Fatalf("%s: %s twice", policy, key)
			}
			seen[key] = true
		}
		if len(seen) != 30 {
			t.Errorf("%s: %d trials, there are 30 candidates", policy, len(seen))
		}
		if v, _ := a.View("a"); !v.Outlook.Exhausted || v.Outlook.Untried != 0 {
			t.Errorf("%s: %+v", policy, v.Outlook)
		}
	}
}

func TestImpossibleEventsChangeNothing(t *testing.T) {
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: append(catalogue(5), Arm{ID: "bound", Classes: []string{"cpu1"}})}, TrialStarted{"s", "c001", "cpu1"})
	before, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	nan, inf := math.NaN(), math.Inf(1)
	ended := func(q, s, c float64) TrialEnded {
		return TrialEnded{Search: "s", Candidate: "c001", Class: "cpu1", Outcome: OK, Quality: q, Seconds: s, Charge: c}
	}
	for name, e := range map[string]Event{
		"known search":      SearchAdded{Search: "s"},
		"unknown search":    TrialStarted{"x", "c001", "cpu1"},
		"removed search":    SearchRemoved{"x"},
		"NaN weight":        OwnersChanged{"s", nan},
		"negative weight":   SearchAdded{Search: "t", Owners: -1},
		"listed twice":      SearchAdded{Search: "t", Arms: []Arm{{ID: "a"}, {ID: "a"}}},
		"no id":             SearchAdded{Search: "t", Arms: []Arm{{}}},
		"bad estimate":      SearchAdded{Search: "t", Arms: []Arm{{ID: "a", Estimate: map[string]float64{"cpu1": 0}}}},
		"bad prior":         SearchAdded{Search: "t", Prior: &Prior{}},
		"bad inheritance":   SearchAdded{Search: "t", Inherited: []Observation{{Candidate: "a", Quality: nan}}},
		"starts twice":      TrialStarted{"s", "c001", "cpu1"},
		"class not allowed": TrialStarted{"s", "bound", "h200"},
		"unknown candidate": TrialStarted{"s", "x", "cpu1"},
		"not running":       TrialEnded{Search: "s", Candidate: "c002", Outcome: OK, Quality: 0.5},
		"other class":       TrialEnded{Search: "s", Candidate: "c001", Class: "h200", Outcome: OK, Quality: 0.5},
		"no outcome":        TrialEnded{Search: "s", Candidate: "c001", Quality: 0.5},
		"NaN quality":       ended(nan, 1, 1),
		"quality above 1":   ended(1.1, 1, 1),
		"infinite seconds":  ended(0.5, inf, 1),
		"negative seconds":  ended(0.5, -1, 1),
		"NaN charge":        ended(0.5, 1, nan),
		"negative charge":   ended(0.5, 1, -1),
		"NaN in a failure":  TrialEnded{Search: "s", Candidate: "c001", Outcome: Failed, Charge: nan},
		"lost at NaN":       TrialLost{Search: "s", Candidate: "c001", Charge: nan},
		"lost, not running": TrialLost{Search: "s", Candidate: "c002"},
		"added, not newer":  ArmsChanged{Search: "s", Added: []Arm{{ID: "c002", Version: 1}}},
		"added, running":    ArmsChanged{Search: "s", Added: []Arm{{ID: "c001", Version: 2}}},
		"removed, unknown":  ArmsChanged{Search: "s", Removed: []CandidateID{"x"}},
		"rescored at NaN":   Rescored{"s", "c001", nan},
		"negative devices":  PoolChanged{map[string]int{"cpu1": -1}},
		"progress at NaN":   TrialProgress{"s", "c001", nan},
	} {
		if err := a.Apply(e); err == nil {
			t.Errorf("%s: no error", name)
		}
		after, err := a.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if string(after) != string(before) {
			t.Errorf("%s changed the state", name)
		}
	}
}

func TestOutcomes(t *testing.T) {
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(6)})
	view := func(id CandidateID) CandidateView {
		v, _ := a.View("s")
		return v.Candidates[slices.IndexFunc(v.Candidates, func(c CandidateView) bool { return c.ID == id })]
	}
	// Lost: untried again, the charge stays, and it may start again.
	before := view("c001")
	must(t, a, TrialStarted{"s", "c001", "cpu1"}, TrialLost{Search: "s", Candidate: "c001", Class: "cpu1", Charge: 3})
	if after := view("c001"); after.State != Untried || after.Charge != 3 || after.Mean != before.Mean || after.SD != before.SD {
		t.Errorf("after a loss: %+v", after)
	}
	must(t, a, TrialStarted{"s", "c001", "cpu1"})
	must(t, a, TrialEnded{Search: "s", Candidate: "c001", Class: "cpu1", Outcome: OK, Quality: 0.9, Seconds: 2, Charge: 2})
	if c := view("c001"); c.State != TriedOK || c.Charge != 5 || math.Abs(c.Mean-0.9) > 0.02 {
		t.Errorf("after an end: %+v", c)
	}
	// Failed: no observation.
	before = view("c002")
	must(t, a, TrialStarted{"s", "c002", "cpu1"}, TrialEnded{Search: "s", Candidate: "c002", Outcome: Failed, Charge: 1})
	if c := view("c002"); c.State != TriedFailed || c.Mean != before.Mean || c.Quality != -1 {
		t.Errorf("after a failure: %+v", c)
	}
	// Infeasible on one class only.
	must(t, a, TrialStarted{"s", "c003", "cpu1"}, TrialEnded{Search: "s", Candidate: "c003", Outcome: Infeasible, Charge: 1})
	if c := view("c003"); c.State != TriedInfeasible || !c.Seconds["cpu1"].Infeasible {
		t.Errorf("infeasible on the only class: %+v", c)
	}
	if err := a.Apply(TrialStarted{"s", "c003", "cpu1"}); err == nil {
		t.Error("an infeasible candidate starts again on its class")
	}
	must(t, a, TrialStarted{"s", "c003", "h200"})
	if c := view("c003"); c.State != Running {
		t.Errorf("on another class: %+v", c)
	}
	// Censored: at least this good, with less certainty than a whole run.
	must(t, a, TrialStarted{"s", "c004", "cpu1"}, TrialEnded{Search: "s", Candidate: "c004", Outcome: Censored, Quality: 0.95, Seconds: 1e-3, Charge: 1})
	c, v := view("c004"), view("c001")
	if c.State != TriedCensored || c.SD <= v.SD {
		t.Errorf("censored: %+v", c)
	}
	if c.Seconds["cpu1"].Seconds < 0.01 {
		t.Errorf("a trial stopped after 1 ms is taken for that fast: %+v", c.Seconds)
	}
	if w, _ := a.View("s"); w.Best != 0.95 || w.BestCandidate != "c004" || w.Attained != 3+2+1+1+1 {
		t.Errorf("%+v", w)
	}
}

func TestArmsChange(t *testing.T) {
	a := fresh(t, Options{Settle: SettleOptions{Off: true}})
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(4)})
	for range 5 {
		step(t, a, "cpu1")
	}
	if _, ok := a.Next("cpu1"); ok {
		t.Fatal("not exhausted")
	}
	must(t, a, ArmsChanged{Search: "s", Added: []Arm{{ID: "new", Family: "f9"}, {ID: "c001", Version: 2, Family: "f1"}}})
	for i := range 2 {
		d, ok := step(t, a, "cpu1")
		if !ok || d.Candidate != "new" && d.Candidate != "c001" {
			t.Fatalf("decision %d: %v %v", i, d.Candidate, ok)
		}
	}
	// A removed candidate in flight may end; only its charge counts.
	must(t, a, ArmsChanged{Search: "s", Added: []Arm{{ID: "late"}}}, TrialStarted{"s", "late", "cpu1"},
		ArmsChanged{Search: "s", Removed: []CandidateID{"late"}})
	v, _ := a.View("s")
	must(t, a, TrialEnded{Search: "s", Candidate: "late", Outcome: OK, Quality: 1, Seconds: 1, Charge: 10})
	w, _ := a.View("s")
	if w.Best != v.Best || w.Attained != v.Attained+10 {
		t.Errorf("best %v → %v, attained %v → %v", v.Best, w.Best, v.Attained, w.Attained)
	}
	// Back in the same version: what was tried stays tried.
	must(t, a, ArmsChanged{Search: "s", Added: []Arm{{ID: "late"}}})
	if d, ok := a.Next("cpu1"); ok {
		t.Errorf("%s runs again", d.Candidate)
	}
}

func TestPauseAndResume(t *testing.T) {
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(4)}, SearchPaused{"s"}, SearchPaused{"s"})
	if _, ok := a.Next("cpu1"); ok {
		t.Error("a paused search is served")
	}
	must(t, a, SearchResumed{"s"}, SearchResumed{"s"})
	if _, ok := a.Next("cpu1"); !ok {
		t.Error("a resumed search is not served")
	}
	must(t, a, SearchRemoved{"s"})
	if _, ok := a.Next("cpu1"); ok || len(a.Searches()) != 0 {
		t.Error("a removed search is served")
	}
	if len(a.bases) != 0 {
		t.Error("its covariance is still held")
	}
}

func TestClassesAndPatience(t *testing.T) {
	arms := []Arm{
		{ID: "net", Family: "net", Estimate: map[string]float64{"cpu1": 1000, "h200": 10}},
		{ID: "only-gpu", Family: "net", Classes: []string{"h200"}, Estimate: map[string]float64{"h200": 20}},
		{ID: "tree", Family: "tree", Classes: []string{"cpu1"}, Estimate: map[string]float64{"cpu1": 2}},
	}
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: arms}, PoolChanged{map[string]int{"cpu1": 2, "h200": 1}})
	d, ok := a.Next("cpu1")
	if !ok || d.Candidate != "tree" {
		t.Fatalf("cpu1 gets %q", d.Candidate)
	}
	want := []SetAsideArm{{"net", "slower elsewhere=h200 times=100"}, {"only-gpu", "class"}}
	if !reflect.DeepEqual(d.Reason.SetAside, want) {
		t.Errorf("set aside: %v", d.Reason.SetAside)
	}
	must(t, a, TrialStarted{"s", "tree", "cpu1"})
	if d, ok := a.Next("cpu1"); ok {
		t.Errorf("cpu1 gets %s while a GPU is a hundred times as fast", d.Candidate)
	}
	if d, _ := a.Next("h200"); d.Candidate != "net" {
		t.Errorf("h200 gets %q", d.Candidate)
	}
	must(t, a, PoolChanged{map[string]int{"cpu1": 2}})
	if d, ok := a.Next("cpu1"); !ok || d.Candidate != "net" {
		t.Errorf("without the GPU, cpu1 gets %q", d.Candidate)
	}
	if v, _ := a.View("s"); v.Outlook.Untried != 1 {
		t.Errorf("untried: %d", v.Outlook.Untried)
	}
}

// A new search with light candidates on CPUs must not take a GPU out of turn for its first model.
func TestOpeningsLeaveTheGPUAlone(t *testing.T) {
	arms := []Arm{
		{ID: "dummy", Family: "dummy", Baseline: true, Classes: []string{"cpu1"}, Estimate: map[string]float64{"cpu1": 0.01}},
		{ID: "knn", Family: "knn", Classes: []string{"cpu1"}, Estimate: map[string]float64{"cpu1": 0.02}},
		{ID: "net", Family: "net", Classes: []string{"h200"}, Estimate: map[string]float64{"h200": 60}},
	}
	a := fresh(t, Options{})
	must(t, a, PoolChanged{map[string]int{"cpu1": 1, "h200": 1}}, SearchAdded{Search: "s", Arms: arms})
	if d, _ := a.Next("cpu1"); d.Candidate != "dummy" || !strings.HasPrefix(d.Reason.Turn, "opening") {
		t.Errorf("cpu1: %s, %s", d.Candidate, d.Reason.Turn)
	}
	if d, ok := a.Next("h200"); !ok || strings.HasPrefix(d.Reason.Turn, "opening") {
		t.Errorf("h200: %v, %s", ok, d.Reason.Turn)
	}
}

func TestQueue(t *testing.T) {
	for _, policy := range Policies() {
		a := fresh(t, Options{Policy: policy})
		for _, s := range []SearchID{"a", "b", "c", "d"} {
			must(t, a, SearchAdded{Search: s, Arms: catalogue(9)})
		}
		for range 8 {
			step(t, a, "cpu1")
		}
		must(t, a, SearchPaused{"b"})
		q := a.Queue("cpu1")
		d, _ := a.Next("cpu1")
		sorted := slices.Clone(q)
		slices.Sort(sorted)
		if q[0] != d.Search || !slices.Equal(sorted, []SearchID{"a", "c", "d"}) {
			t.Errorf("%s: queue %v, next %s", policy, q, d.Search)
		}
	}
}

// Several devices must not pile onto candidates that say the same about each other.
func TestFlightsAreConditionedOn(t *testing.T) {
	var arms []Arm
	for i := range 10 {
		arms = append(arms, Arm{ID: CandidateID(fmt.Sprint("a", i)), Family: "a", Estimate: map[string]float64{"c": 1}},
			Arm{ID: CandidateID(fmt.Sprint("b", i)), Family: "b", Estimate: map[string]float64{"c": 1}})
	}
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "s", Arms: arms})
	first, _ := a.Next("c")
	must(t, a, TrialStarted{"s", first.Candidate, "c"})
	second, _ := a.Next("c")
	if first.Candidate[0] == second.Candidate[0] {
		t.Errorf("%s and %s run side by side", first.Candidate, second.Candidate)
	}
	// And two searches share two devices.
	b := fresh(t, Options{})
	must(t, b, SearchAdded{Search: "s", Arms: arms}, SearchAdded{Search: "t", Arms: arms})
	one, _ := b.Next("c")
	must(t, b, TrialStarted{one.Search, one.Candidate, "c"})
	if two, _ := b.Next("c"); two.Search == one.Search {
		t.Errorf("both devices go to %s", one.Search)
	}
}

func TestInheritedObservations(t *testing.T) {
	arms := catalogue(8)
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "v2", Arms: arms, Inherited: []Observation{
		{Candidate: "c003", Class: "cpu1", Quality: 0.99, Seconds: 0.5}, {Candidate: "c004", Class: "cpu1", Quality: 0.2, Seconds: 0.5},
	}})
	v, _ := a.View("v2")
	if v.Best != -1 || v.Outlook.Untried != 9 {
		t.Errorf("inherited arms are not untried: %+v", v)
	}
	if v.Candidates[3].Mean < v.Candidates[4].Mean+0.3 {
		t.Errorf("c003 %g, c004 %g", v.Candidates[3].Mean, v.Candidates[4].Mean)
	}
	must(t, a, Rescored{"v2", "c003", 0.985})
	if v, _ := a.View("v2"); v.Best != 0.985 || v.BestCandidate != "c003" || v.Candidates[3].State != Untried {
		t.Errorf("rescored: %+v", v)
	}
}

// A perfect model of the version before leaves nothing to gain: what is owed a trial
// gets one still, the reference line first.
func TestAPerfectModelIsRescored(t *testing.T) {
	arms := catalogue(8)
	a := fresh(t, Options{})
	must(t, a, SearchAdded{Search: "v2", Arms: arms, Inherited: []Observation{{Candidate: "c003", Class: "cpu1", Quality: 1, Seconds: 0.5}}},
		Rescored{"v2", "c003", 1})
	for range 30 {
		v, _ := a.View("v2")
		if v.Outlook.LikelyFinal {
			return
		}
		d, ok := a.Next("cpu1")
		if !ok {
			t.Fatalf("nothing is to do, and it is not final: %+v", v.Outlook)
		}
		must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"},
			TrialEnded{Search: d.Search, Candidate: d.Candidate, Class: "cpu1", Outcome: OK, Quality: 0.9, Seconds: 0.5})
	}
	t.Error("it never ends")
}

func FuzzRestore(f *testing.F) {
	a := fresh(f, Options{})
	must(f, a, SearchAdded{Search: "s", Arms: catalogue(2)}, TrialStarted{"s", "dummy", "cpu1"})
	b, err := a.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":1,"searches":[{"id":"s"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Restore(b)
		if err != nil {
			return
		}
		a.Next("cpu1")
		if _, err := a.Snapshot(); err != nil {
			t.Fatal(err)
		}
	})
}
