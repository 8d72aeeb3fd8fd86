package allocator

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// From one result to the next decision, reasons included, nothing is allocated.
func TestResultToDecisionAllocatesNothing(t *testing.T) {
	a := fresh(t, Options{Settle: SettleOptions{Off: true}})
	list := catalogue(100)
	p := DefaultPrior(list)
	for i := range 50 {
		must(t, a, SearchAdded{Search: SearchID(fmt.Sprintf("s%02d", i)), Arms: list, Prior: p})
	}
	for range 100 {
		step(t, a, "cpu1")
	}
	var b Buffer
	d, _ := a.NextInto("cpu1", &b)
	for range 200 {
		must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"})
		e := TrialEnded{Search: d.Search, Candidate: d.Candidate, Class: "cpu1", Outcome: OK, Quality: 0.8, Seconds: 3, Charge: 3}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := a.End(&e)
		d, _ = a.NextInto("cpu1", &b)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if n := after.Mallocs - before.Mallocs; n != 0 {
			t.Fatalf("%v allocations", n)
		}
	}
}

// latency times one result to the next decision, on the clock and by the thread's own processor time: what
// the first has more is the machine's other work. No garbage is collected meanwhile, so what is measured is
// the decision.
func latency(t testing.TB, a *Allocator, steps int) (clock, own []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var b Buffer
	d, ok := a.NextInto("cpu1", &b)
	for i := range steps {
		if !ok {
			t.Fatal("nothing left")
		}
		must(t, a, TrialStarted{d.Search, d.Candidate, "cpu1"})
		e := TrialEnded{Search: d.Search, Candidate: d.Candidate, Class: "cpu1", Outcome: OK, Quality: 0.5 + 0.4*float64(i%97)/97, Seconds: 3 + float64(i%7), Charge: 3}
		start, used := time.Now(), threadTime()
		if err := a.End(&e); err != nil {
			t.Fatal(err)
		}
		d, ok = a.NextInto("cpu1", &b)
		clock, own = append(clock, time.Since(start)), append(own, threadTime()-used)
	}
	slices.Sort(clock)
	slices.Sort(own)
	return clock, own
}

// filled is an allocator with so many searches, and observations in each.
func filled(t testing.TB, searches, arms, observations int) *Allocator {
	a := fresh(t, Options{Settle: SettleOptions{Off: true}})
	list := catalogue(arms)
	p := DefaultPrior(list)
	for i := range searches {
		id := SearchID(fmt.Sprintf("s%05d", i))
		must(t, a, SearchAdded{Search: id, Arms: list, Prior: p})
		for j := range observations {
			k := list[(i+j*7)%arms].ID
			must(t, a, TrialStarted{id, k, "cpu1"},
				TrialEnded{Search: id, Candidate: k, Class: "cpu1", Outcome: OK, Quality: 0.5 + 0.4*float64((i+j)%97)/97, Seconds: 3 + float64(j), Charge: 3 + float64(j)})
		}
	}
	return a
}

// TestSpeed prints what the report of make bench-allocator shows; EASEML_SPEED=1 runs it.
func TestSpeed(t *testing.T) {
	if os.Getenv("EASEML_SPEED") == "" {
		t.Skip("EASEML_SPEED is not set")
	}
	for _, c := range []struct{ searches, arms, observations int }{
		{10, 200, 10}, {100, 200, 10}, {1000, 200, 10}, {10000, 200, 10}, {1000, 50, 10}, {1000, 1000, 10}, {100, 200, 1}, {100, 200, 50}, {100, 200, 150},
	} {
		a := filled(t, c.searches, c.arms, c.observations)
		clock, own := latency(t, a, 1500)
		fmt.Printf("speed searches=%d candidates=%d observations=%d p50=%d p99=%d own50=%d own99=%d\n", c.searches, c.arms, c.observations,
			clock[len(clock)/2].Nanoseconds(), clock[len(clock)*99/100].Nanoseconds(), own[len(own)/2].Nanoseconds(), own[len(own)*99/100].Nanoseconds())
	}
	a := filled(t, 10000, 1000, 10)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("heap searches=10000 candidates=1000 observations=10 bytes=%d\n", m.HeapAlloc)
	runtime.KeepAlive(a)
}
