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
	if err != nil {
		return err
	}
	t.row, t.paused = row, true
	return st.alloc.Apply(allocator.SearchPaused{Search: allocator.SearchID(row.ID)})
}
