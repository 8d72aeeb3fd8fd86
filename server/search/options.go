package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// SetOptions gives a task other options. With examples, only those can change
// that don't touch how the examples were parted: a new search then measures by
// them.
func (s *Service) SetOptions(ctx context.Context, task store.Task, options map[string]any) (after store.Task, err error) {
	wanted, err := checkOptions(options)
	if err != nil {
		return after, err
	}
	var changed bool
	err = s.ask(ctx, func(st *state) error {
		_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			if after, err = tx.TaskByID(task.ID); err != nil {
				return err
			}
			changed, err = st.setOptions(tx, &after, wanted)
			return err
		})
		return err
	})
	if err == nil && changed {
		err = s.remeasure(ctx, task.ID)
	}
	return after, err
}

// setOptions writes a task's options and tells whether a search has to measure
// anew for them.
func (st *state) setOptions(tx *store.Tx, task *store.Task, wanted map[string]any) (remeasure bool, err error) {
	if bytes.Equal(encode(wanted), task.Options) {
		return false, nil
	}
	_, busy := st.changes[task.ID]
	if remeasure = task.NextExample > 1 || busy; remeasure {
		if err := mayChange(*task, wanted); err != nil {
			return false, err
		}
	}
	task.Options, task.Changed = encode(wanted), st.now()
	if err := tx.UpdateTask(*task); err != nil {
		return false, err
	}
	_, err = tx.Event("task:"+task.ID, "task.changed", taskRow(*task))
	return remeasure, err
}

// mayChange refuses options that can't change once there are examples.
func mayChange(task store.Task, wanted map[string]any) error {
	var before map[string]any
	_ = json.Unmarshal(task.Options, &before) // checked when they were declared
	var after map[string]any
	_ = json.Unmarshal(encode(wanted), &after) // so that numbers are of one type
	if !reflect.DeepEqual(before["test"], after["test"]) {
		return refuse(http.StatusConflict, fmt.Sprintf("Keep both: declare it under another name. Start over: drop %s.", task.Name),
			"%s has examples already, and which of them are tested was settled when they were fed, so test stays as it is. Nothing was changed.", task.Name)
	}
	var target trial.Target
	if len(task.Target) == 0 || json.Unmarshal(task.Target, &target) != nil {
		return nil
	}
	if name, given := wanted["metric"].(string); given && !slices.Contains(kindsOf[name], target.Kind) {
		return refuse(http.StatusUnprocessableEntity, "For "+kindInWords(target.Kind)+" there are: "+metricsFor(target.Kind)+".",
			"The metric %s is for %s, but %s predicts %s. Nothing was changed.", name, kindInWords(kindsOf[name]...), task.Name, kindInWords(target.Kind))
	}
	return nil
}

// remeasure moves a task to a search with its options as they are now: the same
// examples, compared anew. It waits until the task is there.
func (s *Service) remeasure(ctx context.Context, taskID string) error {
	done := make(chan error, 1)
	err := s.ask(ctx, func(st *state) error {
		st.enqueue(taskID, func(ctx context.Context) { done <- s.reopen(ctx, taskID) })
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
}

func (s *Service) reopen(ctx context.Context, taskID string) error {
	task, err := s.load(ctx, taskID)
	if err != nil || task.Version == 0 {
		return err // what is fed later is measured so
	}
	var profile trial.Profile
	if err := json.Unmarshal(task.Profile, &profile); err != nil {
		return err
	}
	var target trial.Target
	if err := json.Unmarshal(task.Target, &target); err != nil {
		return err
	}
	v := &version{cause: "options", by: task.User}
	if err := s.prepare(ctx, task, target, profile, task.Profile, v); err != nil {
		return err
	}
	return s.ask(ctx, func(st *state) error { return st.move(taskID, v) })
}
