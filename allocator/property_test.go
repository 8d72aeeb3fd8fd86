package allocator

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// scenario is a random service: searches of several sizes and weights, devices, failures.
type scenario struct {
	options  Options
	searches []SearchAdded
	devices  int
	seed     uint64
	past     bool // the prior is fitted from past searches, which know how long candidates take
	bare     bool // the trainer estimates nothing
}

// known is a prior from past searches, with seconds in a unit.
func (s scenario) known(t testing.TB, scale float64) *Prior {
	var rows []Row
	for i := range 6 {
		r := Row{Quality: map[CandidateID]float64{}, Seconds: map[CandidateID]float64{}}
		for _, m := range catalogue(12) {
			q, sec := truth(SearchID(fmt.Sprint("past", i)), m.ID)
			r.Quality[m.ID], r.Seconds[m.ID] = q, sec*scale
		}
		rows = append(rows, r)
	}
	p, err := FitPrior(rows, nil, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{
		options: Options{Policy: rapid.SampledFrom(Policies()).Draw(t, "policy"), Settle: SettleOptions{Off: rapid.Bool().Draw(t, "settle off")}},
		devices: rapid.IntRange(1, 4).Draw(t, "devices"), past: rapid.Bool().Draw(t, "past"), bare: rapid.Bool().Draw(t, "bare"), seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"),
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
	var prior *Prior
	if s.past {
		prior = s.known(t, scale)
	}
	for _, e := range s.searches {
		e.Prior = prior
		e.Arms = slices.Clone(e.Arms)
		for i := range e.Arms {
			e.Arms[i].Estimate = map[string]float64{"cpu1": e.Arms[i].Estimate["cpu1"] * scale}
			if s.bare {
				e.Arms[i].Estimate = nil
			}
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
		for _, p := range a.LivePriors() {
			must(t, a, p)
		}
		h := splitMix(s.seed + n)
		i := int(h % uint64(len(flying)))
		e := flying[i]
		flying = slices.Delete(flying, i, i+1)
		q, sec := truth(e.Search, e.Candidate)
		sec *= scale
		if e.Limit > 0 && sec > e.Limit {
			log = append(log, fmt.Sprint(e.Search, " ", e.Candidate, " is put aside"))
			must(t, a, TrialOverran{Search: e.Search, Candidate: e.Candidate, Seconds: e.Limit, Charge: e.Limit})
			continue
		}
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
		s.bare = false // without history or estimates there is no unit to begin with
		want := s.play(t, 1, nil)
		if got := s.play(t, 60, nil); !slices.Equal(got, want) {
			r.Fatalf("in seconds %v\nin minutes %v", want, got)
		}
	})
}

// The paper's rules see qualities only as differences: a constant on all of them, history included, changes nothing.
func TestPropertyLevelOfQualityChangesNothingForThePaper(t *testing.T) {
	ids := catalogue(12)
	past := func(raise float64) *Prior {
		var rows []Row
		for i := range 6 {
			r := Row{Quality: map[CandidateID]float64{}, Seconds: map[CandidateID]float64{}}
			for _, m := range ids {
				q, sec := truth(SearchID(fmt.Sprint("past", i)), m.ID)
				r.Quality[m.ID], r.Seconds[m.ID] = q/2+raise, sec
			}
			rows = append(rows, r)
		}
		p, err := FitPaperPrior(rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	low, high := past(0), past(0.25)
	rapid.Check(t, func(r *rapid.T) {
		policy := rapid.SampledFrom([]string{PolicyRoundRobin, PolicyGreedy, PolicyHybrid}).Draw(r, "policy")
		n := rapid.IntRange(1, 6).Draw(r, "searches")
		salt := rapid.IntRange(0, 1000).Draw(r, "salt")
		decide := func(p *Prior, raise float64) (log []string) {
			a := fresh(t, Options{Policy: policy})
			for i := range n {
				must(t, a, SearchAdded{Search: SearchID(fmt.Sprint("s", i)), Arms: ids, Prior: p})
			}
			for {
				d, ok := a.Next("cpu1")
				if !ok {
					return log
				}
				q, sec := truth(SearchID(fmt.Sprint(d.Search, salt)), d.Candidate)
				must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"},
					TrialEnded{Search: d.Search, Candidate: d.Candidate, Outcome: OK, Quality: q/2 + raise, Seconds: sec, Charge: sec})
				log = append(log, fmt.Sprint(d.Search, " ", d.Candidate))
			}
		}
		if one, two := decide(low, 0), decide(high, 0.25); !slices.Equal(one, two) {
			r.Fatalf("%s: %v\na quarter higher %v", policy, one, two)
		}
	})
}

// Whatever happens to trials on the way, when nothing is left to run every candidate that was started has come to one
// of the four ends, or nobody wanted it again; none is still running, and none has ended twice.
func TestPropertyEveryTrialEnds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScenario(r)
		ended := map[string]bool{}
		var last *Allocator
		s.play(t, 1, func(a *Allocator) *Allocator {
			last = a
			for _, id := range a.Searches() {
				v, _ := a.View(id)
				for _, c := range v.Candidates {
					key := fmt.Sprint(id, " ", c.ID)
					switch c.State {
					case TriedOK, TriedCensored, TriedFailed:
						ended[key] = true
					default:
						if ended[key] {
							r.Fatalf("%s had ended and is %s again", key, c.State)
						}
					}
				}
			}
			return a
		})
		for _, id := range last.Searches() {
			v, _ := last.View(id)
			for _, c := range v.Candidates {
				if c.State == Running {
					r.Fatalf("%s of %s never ended", c.ID, id)
				}
				if c.State == Untried && !v.Outlook.LikelyFinal && !v.Outlook.Exhausted {
					r.Fatalf("%s of %s was left: %+v", c.ID, id, v.Outlook)
				}
			}
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
