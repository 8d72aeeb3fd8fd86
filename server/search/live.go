package search

import (
	"context"
	"math"
	"sort"
	"time"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/server/store"
)

// Live is what is known of a task beside its rows: progress, the allocator's
// posterior, what it waits for.
type Live struct {
	Running []Running
	Arms    map[string]Arm // by candidate
	Outlook *Outlook       // nil before the first quality
	Queue   *Queue
	Feed    *FeedProgress
	Share   *float64 // attained charge over the mean of the active searches
	Rho     *float64 // times slower than with a fair share of its own
}

// Running is a trial at work.
type Running struct {
	TrialID   string
	Candidate string
	Device    string
	Class     string
	Started   time.Time
	Phase     string
	Step      int
	Of        int
	Unit      string
	Quality   *float64
	Expected  float64 // seconds
}

// Arm is the posterior of a candidate.
type Arm struct {
	Mean, SD           float64
	Seconds, SecondsSD float64
	Gain, Chance       float64 // of beating the best; 0 before there is one
	State              string  // the allocator's word, or set_aside
	Why                string  // of set_aside
}

// Outlook says what going on could bring.
type Outlook struct {
	LikelyFinal  bool
	ExpectedGain float64
	Chance       float64
	Untried      int
	SecondsLow   float64
	SecondsHigh  float64
}

// FeedProgress is the feed being read now.
type FeedProgress struct {
	Feed  int
	Phase string
	Rows  int64
	Of    int64
}

// Live tells what is not in the store about a task.
func (s *Service) Live(ctx context.Context, taskID string) (Live, error) {
	all, err := s.Lives(ctx, []string{taskID})
	return all[taskID], err
}

// Lives tells it about several tasks, by their ids.
func (s *Service) Lives(ctx context.Context, taskIDs []string) (map[string]Live, error) {
	all := make(map[string]Live, len(taskIDs))
	return all, s.ask(ctx, func(st *state) error {
		turns := st.turns()
		for _, id := range taskIDs {
			var task store.Task
			if err := st.cfg.Store.Read(ctx, func(r *store.Reader) (err error) {
				task, err = r.TaskByID(id)
				return err
			}); err != nil {
				return err
			}
			all[id] = st.live(turns, task)
		}
		return nil
	})
}

func (st *state) live(turns *turns, task store.Task) (l Live) {
	if c := st.changes[task.ID]; c != nil && c.reading > 0 {
		l.Feed = &FeedProgress{Feed: c.reading, Phase: c.latest.Phase, Rows: c.latest.Rows, Of: c.latest.Of}
	}
	t := st.tenants[task.SearchID]
	if t == nil {
		return l
	}
	for _, r := range st.runs {
		if r.trial.SearchID == t.row.ID {
			l.Running = append(l.Running, running(r))
		}
	}
	sort.Slice(l.Running, func(i, j int) bool { return l.Running[i].Started.Before(l.Running[j].Started) })
	l.Queue = st.queue(turns, t)
	st.posterior(t, &l)
	return l
}

func running(r *run) Running {
	out := Running{
		TrialID: r.trial.ID, Candidate: r.candidate.ID, Device: r.lease.Device.ID, Class: r.lease.Device.Class,
		Started: r.begun, Phase: r.phase, Expected: r.expected,
	}
	if e := r.latest; e != nil {
		out.Step, out.Of, out.Unit = int(e.Step), int(e.Of), e.Unit
		if e.Quality != nil && e.Quality.Finite() {
			q := float64(*e.Quality)
			out.Quality = &q
		}
	}
	return out
}

func (st *state) posterior(t *tenant, l *Live) {
	view, ok := st.alloc.View(allocator.SearchID(t.row.ID))
	if !ok {
		return
	}
	l.Share = &view.Share
	if rho, ok := st.fair.rho(t.row.ID, st.now()); ok {
		l.Rho = &rho
	}
	l.Arms = map[string]Arm{}
	seconds := 0.0
	for _, c := range view.Candidates {
		arm := Arm{Mean: c.Mean, SD: c.SD, Gain: c.Gain, Chance: c.Chance, State: string(c.State), Seconds: math.Inf(1)}
		for _, f := range c.Seconds {
			if !f.Infeasible && f.Seconds < arm.Seconds {
				arm.Seconds, arm.SecondsSD = f.Seconds, f.SD
			}
		}
		if math.IsInf(arm.Seconds, 1) {
			arm.Seconds = 0
		}
		if c.State == allocator.Untried || c.State == allocator.Running {
			seconds += arm.Seconds
		}
		l.Arms[string(c.ID)] = arm
	}
	for id, why := range t.setAside {
		l.Arms[id] = Arm{State: "set_aside", Why: why}
	}
	if view.Best >= 0 {
		o := view.Outlook
		slots := max(1, len(st.pool.Snapshot()))
		l.Outlook = &Outlook{
			LikelyFinal: o.LikelyFinal, ExpectedGain: o.ExpectedGain, Chance: o.Chance, Untried: o.Untried,
			SecondsLow: seconds / float64(slots) / 2, SecondsHigh: 2 * seconds,
		}
	}
}

// PoolDevice is a device and who has it.
type PoolDevice struct {
	ID, Class, Name, State, Why string
	TaskID, UserID              string // of the trial that holds it
	Label                       string // of the candidate at work
	Memory                      int64
	Ends                        *time.Time // when it is expected to end; nil once that is past
}

// Pool lists the devices, and how many tasks wait for one.
func (s *Service) Pool(ctx context.Context) (devices []PoolDevice, waiting int, err error) {
	err = s.ask(ctx, func(st *state) error {
		holders, runs := map[string]store.Task{}, map[string]*run{}
		for _, r := range st.runs {
			runs[r.lease.Device.ID] = r
			if t := st.tenants[r.trial.SearchID]; t != nil {
				for _, task := range t.tasks {
					holders[r.lease.Device.ID] = task
				}
			}
		}
		for _, d := range st.pool.Snapshot() {
			row := PoolDevice{ID: d.Device.ID, Class: d.Device.Class, Name: d.Device.Name, State: string(d.State), Why: d.Why, Memory: d.Device.MemoryBytes}
			if task, held := holders[d.Device.ID]; held && d.State == gpu.Held {
				row.TaskID, row.UserID = task.ID, task.UserID
			}
			if r := runs[d.Device.ID]; r != nil {
				row.Label = r.candidate.Label
				if r.leaving != "" {
					row.Why = "its trial is not wanted any more and leaves"
				}
				if end := r.begun.Add(time.Duration(r.expected * float64(time.Second))); r.expected < 1e6 && end.After(st.now()) {
					row.Ends = &end
				}
			}
			devices = append(devices, row)
		}
		waiting = st.turns().waiting
		return nil
	})
	return devices, waiting, err
}

// Sighting is what a look at the machine found. Devices are named in Busy and
// Sick by their UUID, or by their id where they have none.
type Sighting struct {
	Devices []gpu.Device
	// Busy says why a device is used by somebody else. A finding that isn't
	// sure is left out for the devices that held says are ours.
	Busy func(held func(device string) bool) map[string]string
	Sick map[string]string // to be drained, and why
}

// SetDevices takes a look's result into the pool. A trial on a device that
// somebody else has begun to use gives way.
func (s *Service) SetDevices(ctx context.Context, look Sighting) error {
	return s.ask(ctx, func(st *state) error {
		changed, err := st.pool.Set(look.Devices)
		if err != nil {
			return err
		}
		held := map[string]bool{}
		for _, r := range st.runs {
			held[r.lease.Device.ID], held[r.lease.Device.UUID] = true, true
		}
		changed = append(changed, st.pool.SetBusy(look.Busy(func(device string) bool { return held[device] }))...)
		for _, d := range st.pool.Snapshot() {
			why, sick := look.Sick[d.Device.UUID]
			if !sick {
				why, sick = look.Sick[d.Device.ID]
			}
			if !sick || d.State == gpu.Draining {
				continue
			}
			if err := st.pool.Drain(d.Device.ID, why); err != nil {
				return err
			}
			d.State, d.Why = gpu.Draining, why
			changed = append(changed, d)
		}
		if len(changed) == 0 {
			return nil
		}
		if _, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			for _, d := range changed {
				if _, err := tx.Event("pool", "device.changed", map[string]any{
					"device": d.Device.ID, "class": d.Device.Class, "state": d.State, "why": d.Why,
				}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := st.alloc.Apply(poolOf(st.pool)); err != nil {
			return err
		}
		for _, d := range changed {
			if d.State == gpu.Busy && d.Lease != nil {
				st.giveWay(d.Device.ID)
			}
		}
		st.schedule()
		return nil
	})
}

// giveWay takes our trial off a device that somebody else has begun to use.
func (st *state) giveWay(deviceID string) {
	for _, r := range st.runs {
		if r.lease.Device.ID == deviceID {
			st.dismiss(r, leaveAway)
		}
	}
}
