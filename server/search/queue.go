package search

import (
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/store"
)

// Queue says what a task waits for.
type Queue struct {
	WaitingFor string  `json:"waiting_for"`
	Position   int     `json:"position"` // 0: there is no order, all wait for the same
	Of         int     `json:"of"`       // how many wait
	EtaLow     float64 `json:"eta_low"`  // seconds
	EtaHigh    float64 `json:"eta_high"` // 0 = no estimate yet

	// What follows is not told on the stream: who is ahead is for the asker's eyes, and the rest moves with the clock.
	Ahead    *Ahead     `json:"-"` // nil: nobody
	InTheWay InTheWay   `json:"-"`
	Light    bool       `json:"-"` // its light candidates go on meanwhile
	Waited   float64    `json:"-"` // seconds so far
	Thought  [2]float64 `json:"-"` // what was first said, of the whole wait; zero: nothing
	Held     int        `json:"-"` // of the last Waits that ended, those as first said
	Waits    int        `json:"-"`
}

// Ahead is who comes next where that is somebody else.
type Ahead struct {
	Task store.Task
	Had  float64 // device seconds of its search
	Mine float64 // of the asker's
}

// InTheWay counts the devices of the kind that is waited for by why they can't be had.
type InTheWay struct{ Working, Outside, Unusable int }

// turns is whose turn it is among the searches that wait, and when devices fall
// free. It is worked out once for all who ask at a time.
type turns struct {
	working map[string]gpu.Kind // searches with a trial at work; on a GPU, if any of it is
	place   map[string]int      // by search id, on the device class where it comes first
	next    map[string]string   // the search that is first in that line
	waiting int
	kind    string // of the devices: "a CPU slot", "a GPU", "a device"
	inWay   map[gpu.Kind]InTheWay
	ends    [][2]float64 // of the running trials, in how many seconds: the likely range
	length  [2]float64   // how long a trial takes that is running now
}

func (st *state) turns() *turns {
	t := &turns{working: map[string]gpu.Kind{}, place: map[string]int{}, next: map[string]string{}, inWay: map[gpu.Kind]InTheWay{}}
	for _, r := range st.runs {
		if t.working[r.trial.SearchID] != gpu.GPU {
			t.working[r.trial.SearchID] = r.lease.Device.Kind
		}
		low, high := r.range80()
		t.length[0] += low / float64(len(st.runs))
		t.length[1] += high / float64(len(st.runs))
		gone := st.now().Sub(r.begun).Seconds()
		if gone > high { // it takes longer than was thought; what has taken long may take as long again
			low, high = gone, 2*gone
		}
		t.ends = append(t.ends, [2]float64{max(0, low-gone), max(0, high-gone)})
	}
	kinds := map[string]gpu.Kind{}
	for _, d := range st.pool.Snapshot() {
		kinds[d.Device.Class] = d.Device.Kind
		way := t.inWay[d.Device.Kind]
		switch d.State {
		case gpu.Held:
			way.Working++
		case gpu.Busy:
			way.Outside++
		case gpu.Draining, gpu.Lost:
			way.Unusable++
		}
		t.inWay[d.Device.Kind] = way
	}
	switch {
	case len(t.inWay) > 1 || len(t.inWay) == 0:
		t.kind = "a device"
	case slices.Contains(slices.Collect(maps.Keys(t.inWay)), gpu.GPU):
		t.kind = "a GPU"
	default:
		t.kind = "a CPU slot"
	}
	for class := range poolOf(st.pool).Devices {
		n, first := 1, ""
		for _, id := range st.alloc.Queue(class) {
			id := string(id)
			if kind, works := t.working[id]; works && (kind == gpu.GPU || kinds[class] != gpu.GPU) {
				continue
			}
			if first == "" {
				first = id
			}
			if at, known := t.place[id]; !known || n < at {
				t.place[id], t.next[id] = n, first
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

// waits reports whether a search could run and nothing of it does; or only light
// candidates do, while others could have a GPU.
func (t *turns) waits(s *tenant) bool {
	if s.row.State != "open" || s.paused || len(s.tasks) == 0 {
		return false
	}
	kind, works := t.working[s.row.ID]
	_, queues := t.place[s.row.ID]
	return !works || kind != gpu.GPU && queues
}

// queue is nil for a search that doesn't wait.
func (st *state) queue(t *turns, s *tenant) *Queue {
	if !t.waits(s) {
		return nil
	}
	if !st.ready {
		return &Queue{WaitingFor: "the trainer, which is starting", Of: t.waiting}
	}
	id := s.row.ID
	q := &Queue{WaitingFor: t.kind, Position: max(1, t.place[id]), Of: max(t.waiting, t.place[id])}
	for _, way := range t.inWay {
		q.InTheWay = InTheWay{q.InTheWay.Working + way.Working, q.InTheWay.Outside + way.Outside, q.InTheWay.Unusable + way.Unusable}
	}
	if _, q.Light = t.working[id]; q.Light {
		q.WaitingFor, q.InTheWay = "a GPU", t.inWay[gpu.GPU]
	}
	if next := st.tenants[t.next[id]]; next != nil && next != s {
		for _, task := range next.tasks {
			q.Ahead = &Ahead{Task: task, Had: st.fair.had(t.next[id], st.now()), Mine: st.fair.had(id, st.now())}
		}
	}
	if w := s.wait; w != nil {
		q.Waited, q.Thought = st.now().Sub(w.since).Seconds(), [2]float64{w.Low, w.High}
	}
	q.Held, q.Waits = st.waits.held()
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
			s.said, s.wait = nil, nil
			for id := range s.tasks { // also what an earlier search of theirs said
				st.hub.forget("task:"+id, "queue", id)
			}
			continue
		}
		if s.wait == nil && q.EtaHigh > 0 {
			s.wait = &wait{Low: q.EtaLow, High: q.EtaHigh, since: st.now()}
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
