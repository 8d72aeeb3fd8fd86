package allocator

import (
	"fmt"
	"testing"
)

// busy is an allocator with many searches, a few trials in each.
func busy(b *testing.B, searches, arms int) *Allocator {
	a := fresh(b, Options{Settle: SettleOptions{Off: true}})
	list := catalogue(arms)
	p := DefaultPrior(list)
	for i := range searches {
		must(b, a, SearchAdded{Search: SearchID(fmt.Sprintf("s%05d", i)), Arms: list, Prior: p})
	}
	for range 5 * searches {
		step(b, a, "cpu1")
	}
	return a
}

// BenchmarkDecision is one result to the next decision: start, end, pick.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("searches=%d/candidates=200", n), func(b *testing.B) {
			a := busy(b, n, 200)
			c := a.classIndex("cpu1")
			b.ReportAllocs()
			for b.Loop() {
				p, ok := a.pick(c)
				if !ok {
					b.Fatal("nothing left")
				}
				id, k := p.search.id, p.search.arms[p.arm].ID
				must(b, a, TrialStarted{id, k, "cpu1"}, TrialLost{Search: id, Candidate: k, Charge: 1e-9})
			}
		})
	}
}

// BenchmarkResult is an observation with everything that follows from it.
func BenchmarkResult(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", n), func(b *testing.B) {
			list := catalogue(n)
			p := DefaultPrior(list)
			b.ReportAllocs()
			left := 0
			var a *Allocator
			for b.Loop() {
				if left == 0 {
					b.StopTimer()
					a = fresh(b, Options{Settle: SettleOptions{Off: true}})
					must(b, a, SearchAdded{Search: "s", Arms: list, Prior: p})
					left = 20
					b.StartTimer()
				}
				left--
				step(b, a, "cpu1")
			}
		})
	}
}

// BenchmarkPick is the decision alone.
func BenchmarkPick(b *testing.B) {
	a := busy(b, 10000, 20)
	c := a.classIndex("cpu1")
	b.ReportAllocs()
	for b.Loop() {
		a.pick(c)
	}
}

func BenchmarkFitPrior(b *testing.B) {
	for _, missing := range []float64{0, 0.7} {
		b.Run(fmt.Sprintf("rows=200/candidates=8/missing=%g", missing), func(b *testing.B) {
			rows := history(200, newNormals(7), missing)
			for b.Loop() {
				if _, err := FitPrior(rows, family4, FitOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
