package search

import (
	"sort"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/server/store"
)

// settle ends for now every search that has nothing at work and nothing that
// is worth starting.
func (st *state) settle() {
	busy := map[string]bool{}
	for _, r := range st.runs {
		busy[r.trial.SearchID] = true
	}
	ids := make([]string, 0, len(st.tenants))
	for id, t := range st.tenants {
		if t.row.State == "open" && !t.paused && !busy[id] {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		view, ok := st.alloc.View(allocator.SearchID(id))
		if !ok {
			continue
		}
		reason := ""
		switch {
		case view.Outlook.Untried == 0:
			reason = "exhausted"
		case view.Outlook.LikelyFinal:
			reason = "likely_final"
		default:
			continue
		}
		if err := st.commitSettled(st.tenants[id], reason, view.Outlook); err != nil {
			st.cfg.Log.Error("a search could not be settled", "search", id, "error", err)
		}
	}
}

func (st *state) commitSettled(t *tenant, reason string, outlook allocator.Outlook) error {
	now := st.now()
	row := t.row
	row.State, row.Reason, row.Settled = "settled", reason, &now
	_, err := st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		if err := tx.UpdateSearch(row); err != nil {
			return err
		}
		tasks, err := tx.TasksOfSearch(row.ID)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if task.State != "searching" {
				continue
			}
			task.State, task.Reason, task.Settled, task.Changed = "settled", reason, &now, now
			if err := tx.UpdateTask(task); err != nil {
				return err
			}
			if _, err := tx.Event("task:"+task.ID, "task.settled", map[string]any{
				"reason": reason, "expected_gain": outlook.ExpectedGain, "until": nil, "task": taskRow(task),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.row = row
	}
	return err
}

// publishQueue tells each searching task with nothing at work what it waits for.
func (st *state) publishQueue() {
	for _, t := range st.tenants {
		q := st.queue(t)
		for id := range t.tasks {
			if q != nil {
				st.hub.put(Transient{Topic: "task:" + id, Type: "queue", Key: id, Time: st.now()}, q)
			} else {
				st.hub.forget("task:"+id, "queue", id)
			}
		}
	}
}

// Queue says what a task waits for.
type Queue struct {
	WaitingFor string  `json:"waiting_for"`
	Position   int     `json:"position"`
	EtaLow     float64 `json:"eta_low"` // seconds
	EtaHigh    float64 `json:"eta_high"`
}

// waits reports whether a search could run and nothing of it does.
func (st *state) waits(t *tenant) bool {
	if t.row.State != "open" || t.paused || len(t.tasks) == 0 {
		return false
	}
	for _, r := range st.runs {
		if r.trial.SearchID == t.row.ID {
			return false
		}
	}
	return true
}

// queue is nil for a search that doesn't wait.
func (st *state) queue(t *tenant) *Queue {
	if !st.waits(t) {
		return nil
	}
	working := map[string]bool{}
	left := make([]float64, 0, len(st.runs))
	for _, r := range st.runs {
		working[r.trial.SearchID] = true
		left = append(left, max(0, r.expected-st.now().Sub(r.begun).Seconds()))
	}
	q := &Queue{WaitingFor: "a device", Position: st.place(t.row.ID, working)}
	if !st.ready {
		q.WaitingFor = "the trainer, which is starting"
		return q
	}
	// A device falls free whenever a running trial ends; those before us take their turn first.
	sort.Float64s(left)
	if len(left) > 0 {
		at := left[(q.Position-1)%len(left)] * float64((q.Position-1)/len(left)+1)
		q.EtaLow, q.EtaHigh = at/2, 2*at+5
	}
	return q
}

// place is the turn of a search among those that have nothing at work, on the
// device class where it comes first.
func (st *state) place(searchID string, working map[string]bool) int {
	best := 0
	for class := range poolOf(st.pool).Devices {
		n := 1
		for _, id := range st.alloc.Queue(class) {
			if string(id) == searchID {
				if best == 0 || n < best {
					best = n
				}
				break
			}
			if !working[string(id)] {
				n++
			}
		}
	}
	return max(best, 1)
}
