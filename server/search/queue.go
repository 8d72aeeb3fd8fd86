package search

import (
	"math"
	"sort"
	"time"

	"github.com/easeml/easeml/gpu"
)

// Queue says what a task waits for.
type Queue struct {
	WaitingFor string  `json:"waiting_for"`
	Position   int     `json:"position"` // 0: there is no order, all wait for the same
	Of         int     `json:"of"`       // how many wait
	EtaLow     float64 `json:"eta_low"`  // seconds
	EtaHigh    float64 `json:"eta_high"` // 0 = no estimate yet
}

// turns is whose turn it is among the searches that have nothing at work, and
// when devices fall free. It is worked out once for all who ask at a time.
type turns struct {
	working map[string]bool // searches with a trial at work
	place   map[string]int  // by search id, on the device class where it comes first
	waiting int
	kind    string       // of the devices: "a CPU slot", "a GPU", "a device"
	ends    [][2]float64 // of the running trials, in how many seconds: the likely range
	length  [2]float64   // how long a trial takes that is running now
}

func (st *state) turns() *turns {
	t := &turns{working: map[string]bool{}, place: map[string]int{}}
	for _, r := range st.runs {
		t.working[r.trial.SearchID] = true
		low, high := r.range80()
		t.length[0] += low / float64(len(st.runs))
		t.length[1] += high / float64(len(st.runs))
		gone := st.now().Sub(r.begun).Seconds()
		if gone > high { // it takes longer than was thought; what has taken long may take as long again
			low, high = gone, 2*gone
		}
		t.ends = append(t.ends, [2]float64{max(0, low-gone), max(0, high-gone)})
	}
	kinds := map[gpu.Kind]bool{}
	for _, d := range st.pool.Snapshot() {
		kinds[d.Device.Kind] = true
	}
	switch {
	case len(kinds) > 1 || len(kinds) == 0:
		t.kind = "a device"
	case kinds[gpu.GPU]:
		t.kind = "a GPU"
	default:
		t.kind = "a CPU slot"
	}
	for class := range poolOf(st.pool).Devices {
		n := 1
		for _, id := range st.alloc.Queue(class) {
			if t.working[string(id)] {
				continue
			}
			if at, known := t.place[string(id)]; !known || n < at {
				t.place[string(id)] = n
			}
			n++
		}
	}
	for _, s := range st.tenants {
		if t.waits(s) {
			t.waiting++
		}
	}
	return t
}

// range80 is between how many seconds the trial takes with a chance of 80 %: its
// logarithm is normal under the allocator's posterior.
func (r *run) range80() (low, high float64) {
	if r.expected <= 0 {
		return 0, 0
	}
	spread := math.Exp(1.2816 * math.Sqrt(math.Log1p(r.deviation*r.deviation/(r.expected*r.expected))))
	return r.expected / spread, r.expected * spread
}

// waits reports whether a search could run and nothing of it does.
func (t *turns) waits(s *tenant) bool {
	return s.row.State == "open" && !s.paused && len(s.tasks) > 0 && !t.working[s.row.ID]
}

// queue is nil for a search that doesn't wait.
func (st *state) queue(t *turns, s *tenant) *Queue {
	if !t.waits(s) {
		return nil
	}
	if !st.ready {
		return &Queue{WaitingFor: "the trainer, which is starting", Of: t.waiting}
	}
	q := &Queue{WaitingFor: t.kind, Position: max(1, t.place[s.row.ID]), Of: max(t.waiting, t.place[s.row.ID])}
	if n := len(t.ends); n > 0 {
		// A device falls free whenever a running trial ends; those before us take their turn first, and
		// hold it for as long as trials take now.
		q.EtaLow, q.EtaHigh = t.free(0, (q.Position-1)%n), t.free(1, (q.Position-1)%n)
		rounds := float64((q.Position - 1) / n)
		q.EtaLow, q.EtaHigh = q.EtaLow+rounds*t.length[0], q.EtaHigh+rounds*t.length[1]
	}
	return q
}

// free is in how many seconds device number i of those at work falls free, by the
// lower (0) or upper (1) end of the ranges.
func (t *turns) free(end, i int) float64 {
	all := make([]float64, len(t.ends))
	for k, e := range t.ends {
		all[k] = e[end]
	}
	sort.Float64s(all)
	return all[i]
}

// queued is what was last said about a search that waits.
type queued struct {
	Queue
	at    time.Time
	tasks int // how many heard it
}

// publishQueue tells each searching task with nothing at work what it waits for,
// where that is news.
func (st *state) publishQueue() {
	t := st.turns()
	for _, s := range st.tenants {
		q := st.queue(t, s)
		if q == nil {
			s.said = nil
			for id := range s.tasks { // also what an earlier search of theirs said
				st.hub.forget("task:"+id, "queue", id)
			}
			continue
		}
		if s.said != nil && s.said.tasks == len(s.tasks) && q.like(s.said.Queue, st.now().Sub(s.said.at).Seconds()) {
			continue
		}
		s.said = &queued{Queue: *q, at: st.now(), tasks: len(s.tasks)}
		for id := range s.tasks {
			st.hub.put(Transient{Topic: "task:" + id, Type: "queue", Key: id, Time: st.now()}, q)
		}
	}
}

// like tells whether people would read the same as some seconds before, when
// before was said.
func (q Queue) like(before Queue, seconds float64) bool {
	near := func(now, then float64) bool {
		then = max(0, then-seconds)
		return math.Abs(now-then) <= max(1, 0.2*math.Max(now, then))
	}
	return q.WaitingFor == before.WaitingFor && q.Position == before.Position && q.Of == before.Of &&
		near(q.EtaLow, before.EtaLow) && near(q.EtaHigh, before.EtaHigh)
}
