package allocator

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
	must(t, a, SearchAdded{Search: "s", Arms: catalogue(5)}, TrialStarted{"s", "c001", "cpu1"})
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

// scenario is a random service: searches of several sizes and weights, devices, failures.
type scenario struct {
	options  Options
	searches []SearchAdded
	devices  int
	seed     uint64
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{
		options: Options{Policy: rapid.SampledFrom(Policies()).Draw(t, "policy"), Settle: SettleOptions{Off: rapid.Bool().Draw(t, "settle off")}},
		devices: rapid.IntRange(1, 4).Draw(t, "devices"), seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"),
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "searches") {
		s.searches = append(s.searches, SearchAdded{
			Search: SearchID(fmt.Sprint("s", i)), Owners: float64(rapid.IntRange(1, 3).Draw(t, "owners")),
			Arms: catalogue(rapid.IntRange(0, 12).Draw(t, "arms")), Examples: rapid.SampledFrom([]int{0, 100, 5000}).Draw(t, "examples"),
		})
	}
	return s
}

// play runs a scenario until nothing is left and returns the decisions; hook sees the allocator before each.
func (s scenario) play(t testing.TB, scale float64, hook func(*Allocator) *Allocator) []string {
	a := fresh(t, s.options)
	for _, e := range s.searches {
		e.Arms = slices.Clone(e.Arms)
		for i := range e.Arms {
			e.Arms[i].Estimate = map[string]float64{"cpu1": e.Arms[i].Estimate["cpu1"] * scale}
		}
		must(t, a, e)
	}
	var flying []Decision
	var log []string
	for n := uint64(0); ; n++ {
		if hook != nil {
			a = hook(a)
		}
		d, ok := Decision{}, false
		if len(flying) < s.devices {
			d, ok = a.Next("cpu1")
		}
		if ok {
			log = append(log, fmt.Sprint(d.Search, " ", d.Candidate))
			must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"})
			flying = append(flying, d)
			continue
		}
		if len(flying) == 0 {
			return log
		}
		h := splitMix(s.seed + n)
		i := int(h % uint64(len(flying)))
		e := flying[i]
		flying = slices.Delete(flying, i, i+1)
		q, sec := truth(e.Search, e.Candidate)
		sec *= scale
		switch h >> 32 % 12 {
		case 0:
			must(t, a, TrialLost{Search: e.Search, Candidate: e.Candidate, Charge: sec})
		case 1:
			must(t, a, TrialEnded{Search: e.Search, Candidate: e.Candidate, Outcome: Failed, Charge: sec})
		case 2:
			must(t, a, TrialEnded{Search: e.Search, Candidate: e.Candidate, Outcome: Infeasible, Charge: sec})
		case 3:
			must(t, a, TrialEnded{Search: e.Search, Candidate: e.Candidate, Outcome: Censored, Quality: q, Seconds: sec, Charge: sec})
		default:
			must(t, a, TrialEnded{Search: e.Search, Candidate: e.Candidate, Outcome: OK, Quality: q, Seconds: sec, Charge: sec})
		}
	}
}

func TestPropertyOrderOfListsChangesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScenario(r)
		if s.options.Policy == PolicyFCFS {
			r.Skip("first come, first served is about the order")
		}
		want := s.play(t, 1, nil)
		other := s
		other.searches = rapid.Permutation(s.searches).Draw(r, "order")
		for i := range other.searches {
			other.searches[i].Arms = rapid.Permutation(other.searches[i].Arms).Draw(r, "arms")
		}
		if got := other.play(t, 1, nil); !slices.Equal(got, want) {
			r.Fatalf("%v\nand in another order\n%v", want, got)
		}
	})
}

func TestPropertyUnitOfCostChangesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScenario(r)
		want := s.play(t, 1, nil)
		if got := s.play(t, 60, nil); !slices.Equal(got, want) {
			r.Fatalf("in seconds %v\nin minutes %v", want, got)
		}
	})
}

func TestPropertySnapshotKeepsDecisions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScenario(r)
		every := rapid.IntRange(1, 9).Draw(r, "every")
		want := s.play(t, 1, nil)
		n := 0
		got := s.play(t, 1, func(a *Allocator) *Allocator {
			if n++; n%every != 0 {
				return a
			}
			before, _ := a.Next("cpu1")
			b, err := a.Snapshot()
			if err != nil {
				r.Fatal(err)
			}
			restored, err := Restore(b)
			if err != nil {
				r.Fatal(err)
			}
			after, _ := restored.Next("cpu1")
			if !reflect.DeepEqual(before, after) {
				r.Fatalf("%+v\nrestored\n%+v", before, after)
			}
			again, err := restored.Snapshot()
			if err != nil || string(again) != string(b) {
				r.Fatalf("the snapshot of a restored allocator differs (%v)\n%s\n%s", err, b, again)
			}
			return restored
		})
		if !slices.Equal(got, want) {
			r.Fatalf("%v\nrestored every %d\n%v", want, every, got)
		}
	})
}

// The lazy heap must find what a scan finds, and Next must change nothing.
func TestPropertyHeapEqualsScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScenario(r)
		s.options.Policy = PolicyDefault
		s.play(t, 1, func(a *Allocator) *Allocator {
			c := a.classIndex("cpu1")
			var best *search
			for _, s := range a.runnable(c) {
				if best == nil || a.key(s, &s.places[c], a.mean()) > a.key(best, &best.places[c], a.mean()) {
					best = s
				}
				if p := &s.places[c]; p.key < a.key(s, p, a.mean()) {
					r.Fatalf("the key of %s is no upper bound", s.id)
				}
			}
			if best == nil {
				return a
			}
			before, _ := a.Snapshot()
			if got := a.classes[c].rank.top(a); got != best {
				r.Fatalf("the heap gives %s, a scan %s", got.id, best.id)
			}
			one, _ := a.Next("cpu1")
			two, _ := a.Next("cpu1")
			if after, _ := a.Snapshot(); string(after) != string(before) || !reflect.DeepEqual(one, two) {
				r.Fatal("Next changed the state")
			}
			return a
		})
	})
}

// A runnable search is served at the latest after (Wait+1)·N + 1 decisions of the class, N the most that were runnable.
func TestPropertyNobodyStarves(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(r, "searches")
		wait := rapid.IntRange(1, 4).Draw(r, "wait")
		a := fresh(t, Options{Wait: wait, Settle: SettleOptions{Off: true}})
		for i := range n {
			must(t, a, SearchAdded{Search: SearchID(fmt.Sprint("s", i)), Arms: catalogue(40), Owners: math.Pow(10, float64(rapid.IntRange(-3, 3).Draw(r, "weight")))})
		}
		last := map[SearchID]int{}
		for d := 1; d <= 300; d++ {
			x, ok := step(t, a, "cpu1")
			if !ok {
				return
			}
			last[x.Search] = d
			for _, s := range a.runnable(a.classIndex("cpu1")) {
				if waited := d - last[s.id]; waited > (wait+1)*n+1 {
					r.Fatalf("%s has waited %d decisions among %d searches", s.id, waited, n)
				}
			}
		}
	})
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
