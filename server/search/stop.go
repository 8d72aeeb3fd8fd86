package search

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/server/store"
)

// SetStopped stops a task or lets it go on. Doing it again changes nothing.
// A resumed task that was likely final goes on until it is exhausted.
func (s *Service) SetStopped(ctx context.Context, task store.Task, stopped bool) (after store.Task, err error) {
	err = s.ask(ctx, func(st *state) error {
		reopened := false
		_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			now := st.now()
			if after, err = tx.TaskByID(task.ID); err != nil {
				return err
			}
			goOn := !stopped && after.State == "settled" && after.Reason != "exhausted"
			if after.Stopped == stopped && !goOn {
				return nil
			}
			after.Stopped, after.Changed = stopped, now
			switch {
			case after.Version == 0:
				after.State = "declared"
			case stopped:
				after.State, after.Reason, after.Settled = "settled", "stopped", &now
			default:
				after.State, after.Reason, after.Settled = "searching", "", nil
				reopened = true
				row, err := tx.SearchByID(after.SearchID)
				if err != nil {
					return err
				}
				if row.State == "settled" {
					row.State, row.Reason, row.Settled = "open", "", nil
					if err := tx.UpdateSearch(row); err != nil {
						return err
					}
				}
			}
			if err := tx.UpdateTask(after); err != nil {
				return err
			}
			kind, data := "task.reopened", map[string]any{"reason": "resumed", "task": taskRow(after)}
			if stopped {
				kind, data = "task.settled", map[string]any{"reason": "stopped", "task": taskRow(after)}
			}
			_, err = tx.Event("task:"+after.ID, kind, data)
			return err
		})
		if err != nil || after.SearchID == "" {
			return err
		}
		if err := st.refresh(after.SearchID); err != nil {
			return err
		}
		if reopened {
			if err := st.alloc.Apply(allocator.SearchResumed{Search: allocator.SearchID(after.SearchID)}); err != nil {
				return err
			}
		}
		if err := st.leave(after.SearchID); err != nil {
			return err
		}
		st.schedule()
		return nil
	})
	return after, err
}

// StopTrial asks a running trial of the task to end; its best so far counts.
// A trial that other tasks share goes on for them, so it is refused.
func (s *Service) StopTrial(ctx context.Context, task store.Task, number int) error {
	return s.ask(ctx, func(st *state) error {
		var tr store.Trial
		if err := st.cfg.Store.Read(ctx, func(r *store.Reader) error {
			row, err := r.TaskTrialByNumber(task.ID, number)
			if err != nil {
				return refuse(http.StatusNotFound, "", "%s has no trial %d.", task.Name, number)
			}
			tr, err = r.TrialByID(row.TrialID)
			return err
		}); err != nil {
			return err
		}
		if t := st.tenants[tr.SearchID]; t != nil && len(t.tasks) > 1 {
			return refuse(http.StatusConflict, "", "Trial %d is shared with another task, so it goes on.", number)
		}
		for _, r := range st.runs {
			if r.trial.ID == tr.ID {
				st.dismiss(r, leaveStop)
				return nil
			}
		}
		return nil // it has ended: nothing to stop
	})
}

// Drop forgets a task: its examples, feeds and models, which go piece by piece in the
// background. What its finished trials reached stays as history for the prior.
func (s *Service) Drop(ctx context.Context, task store.Task) error {
	return s.ask(ctx, func(st *state) error {
		if c := st.changes[task.ID]; c != nil {
			c.cancel()
		}
		var searchID string
		_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			now := st.now()
			row, err := tx.TaskByID(task.ID)
			if err != nil {
				return err
			}
			searchID = row.SearchID
			row.State, row.Dropped, row.Changed, row.Served = "dropped", &now, now, nil
			if err := tx.UpdateTask(row); err != nil {
				return err
			}
			feeds, err := tx.Feeds(row.ID)
			if err != nil {
				return err
			}
			for _, f := range feeds {
				if f.State != "running" {
					continue
				}
				f.State, f.Ended = "failed", &now
				f.Error = encode(map[string]any{"status": http.StatusGone, "detail": "The task was dropped while this was being read."})
				if err := tx.UpdateFeed(f); err != nil {
					return err
				}
			}
			_, err = tx.Event("task:"+row.ID, "task.dropped", taskRow(row))
			return err
		})
		if err != nil {
			return err
		}
		st.hub.drop("task:" + task.ID)
		if searchID != "" {
			if err := st.refresh(searchID); err != nil {
				return err
			}
			if err := st.leave(searchID); err != nil {
				return err
			}
		}
		st.schedule()
		if err := removeFolders(filepath.Join(st.cfg.Root, "feeds", task.ID), studiesOf(st.cfg.Root, task.ID)); err != nil {
			st.cfg.Log.Warn("a dropped task's files could not be removed", "task", task.ID, "error", err)
		}
		st.erase()
		return nil
	})
}

// erase removes in the background what is left of what was fed to dropped tasks, and the models that learned from it.
func (st *state) erase() {
	s, ctx := st.Service, st.ctx
	st.work.Go(func() {
		var ids []string
		err := s.cfg.Store.Read(ctx, func(r *store.Reader) (err error) {
			ids, err = r.Unerased()
			return err
		})
		for _, id := range ids {
			if err == nil {
				err = s.eraseTask(ctx, id)
			}
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
			s.cfg.Log.Error("what was fed to dropped tasks could not be removed", "error", err)
		}
	})
}

// eraseTask removes what a dropped task leaves. While a trial of it still ends, or another task of the same data reads its folder, that and the
// rows of its feeds stay: erase is called again when a search is retired.
func (s *Service) eraseTask(ctx context.Context, id string) error {
	for removed := rowsAtOnce; removed == rowsAtOnce; {
		if _, err := s.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
			removed, err = tx.EraseExamples(id, rowsAtOnce)
			return err
		}); err != nil {
			return err
		}
	}
	var searches []store.Search
	if err := s.cfg.Store.Read(ctx, func(r *store.Reader) (err error) {
		searches, err = r.SearchesOnlyOf(id)
		return err
	}); err != nil {
		return err
	}
	data := filepath.Join(s.cfg.Root, "data", id)
	paths, busy := []string{data}, false
	for _, row := range searches {
		if err := s.ask(ctx, func(st *state) error {
			if _, known := st.tenants[row.ID]; known {
				busy = true
				return nil
			}
			_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
				trials, err := tx.Trials(row.ID)
				if err != nil {
					return err
				}
				for _, tr := range trials {
					paths = append(paths, filepath.Join(st.cfg.Root, "trials", tr.ID))
				}
				return tx.ForgetSearch(row.ID)
			})
			return err
		}); err != nil {
			return err
		}
	}
	if err := s.ask(ctx, func(st *state) error { busy = busy || st.reads(data); return nil }); err != nil || busy {
		return err
	}
	if err := removeFolders(paths...); err != nil {
		return err
	}
	_, err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error { return tx.EraseFeeds(id) })
	return err
}

// Needed are the hashes of the files that tasks were fed from, or are being fed.
func (s *Service) Needed(ctx context.Context) (map[string]bool, error) {
	needed := map[string]bool{}
	err := s.cfg.Store.Read(ctx, func(r *store.Reader) error {
		tasks, err := r.AllTasks()
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if task.State == "dropped" {
				continue
			}
			feeds, err := r.Feeds(task.ID)
			if err != nil {
				return err
			}
			for _, f := range feeds {
				var request FeedRequest
				if err := json.Unmarshal(f.Request, &request); err != nil {
					return err
				}
				for _, source := range request.Sources {
					if f.State != "failed" {
						needed[source.SHA256] = true
					}
				}
			}
		}
		return nil
	})
	return needed, err
}

// reads reports whether a search that a task still points to, or an attempt
// at work, reads data under the folder.
func (st *state) reads(folder string) bool {
	for _, t := range st.tenants {
		if filepath.Dir(t.row.DataPath) != folder {
			continue
		}
		if len(t.tasks) > 0 {
			return true
		}
		for _, r := range st.runs {
			if r.trial.SearchID == t.row.ID {
				return true
			}
		}
	}
	return false
}
