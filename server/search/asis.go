package search

import (
	"context"

	"github.com/easeml/easeml/server/store"
)

// AsIs notes that somebody says of the task's feeds so far that what they warned of
// is fine. Said again it changes nothing; what a later feed warns of is in doubt again.
func (s *Service) AsIs(ctx context.Context, task store.Task, by string) error {
	return s.ask(ctx, func(st *state) error {
		_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			feeds, err := tx.Feeds(task.ID)
			if err != nil {
				return err
			}
			said := 0
			for _, f := range feeds {
				if f.State != "ended" || f.AsIs != "" {
					continue
				}
				f.AsIs = by
				said++
				if err := tx.UpdateFeed(f); err != nil {
					return err
				}
			}
			if said == 0 {
				return nil
			}
			now, err := tx.TaskByID(task.ID)
			if err != nil {
				return err
			}
			now.Changed = st.now()
			if err := tx.UpdateTask(now); err != nil {
				return err
			}
			_, err = tx.Event("task:"+task.ID, "task.changed", taskRow(now))
			return err
		})
		return err
	})
}
