package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// run is an attempt at work.
type run struct {
	trial     store.Trial
	attempt   store.Attempt
	candidate trial.Candidate
	lease     gpu.Lease
	expected  float64 // seconds
	deviation float64 // their standard deviation
	lost      int     // earlier attempts of this trial that were lost while their server lived
	begun     time.Time

	offset  int64 // of events.jsonl
	events  []trial.Event
	phase   string
	latest  *trial.Event // progress
	leaving string       // why it was asked to leave, empty while it wasn't
}

// Reasons of leaving: the trial is not wanted any more and is queued again;
// it takes longer than was thought, so what promises more comes first, and it
// is queued again; or its best so far counts.
const (
	leaveAway = "away"
	leaveLate = "late"
	leaveStop = "stop"
)

// goes tells whether a trial that leaves for this reason is queued again.
func goes(leaving string) bool { return leaving == leaveAway || leaving == leaveLate }

// schedule gives every free device to whom the allocator names, then settles
// searches that have nothing left to run.
func (st *state) schedule() {
	if !st.ready {
		return
	}
	for _, d := range st.pool.Free() {
		decision, ok := st.alloc.Next(d.Class)
		if !ok {
			continue
		}
		if err := st.start(d, decision); err != nil {
			st.cfg.Log.Error("a trial could not be started", "search", decision.Search, "candidate", decision.Candidate, "error", err)
			return
		}
	}
	st.settle()
	st.share()
	st.publishQueue()
}

// start commits the attempt, then creates its folder and starts it.
func (st *state) start(d gpu.Device, decision allocator.Decision) error {
	t, known := st.tenants[string(decision.Search)]
	if !known {
		return fmt.Errorf("the allocator names search %s, which is not known", decision.Search)
	}
	candidate := t.candidates[string(decision.Candidate)]
	account := st.decided(t, d, decision)
	account.Wait = st.served(t)
	reason, err := json.Marshal(account)
	if err != nil {
		return err
	}
	now := st.now()
	r := &run{candidate: candidate, expected: decision.Reason.Seconds, deviation: decision.Reason.SecondsSD, begun: now}
	var resume *string
	_, err = st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		tr, err := tx.TrialByKey(t.row.ID, candidate.ID, candidate.Version, t.row.Seed)
		fresh := errors.Is(err, store.ErrNotFound)
		if fresh {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			tr = store.Trial{ID: id.String(), SearchID: t.row.ID, Candidate: candidate.ID, CandidateVersion: candidate.Version, Seed: t.row.Seed, Created: now}
		} else if err != nil {
			return err
		}
		tr.State, tr.DeviceClass, tr.Reason, tr.Kind, tr.Message = "running", d.Class, reason, "", ""
		if fresh {
			err = tx.InsertTrial(tr)
		} else {
			err = tx.UpdateTrial(tr)
		}
		if err != nil {
			return err
		}
		before, err := tx.Attempts(tr.ID)
		if err != nil {
			return err
		}
		_, r.lost = lost(before)
		n := len(before) + 1
		if n > 1 && before[n-2].Outcome == trial.Paused {
			path := filepath.Join(before[n-2].Folder, trial.CheckpointDir)
			resume = &path
		}
		r.trial = tr
		r.attempt = store.Attempt{
			TrialID: tr.ID, Number: n, Device: d.ID, DeviceClass: d.Class, Engine: "local",
			Folder: filepath.Join(st.cfg.Root, "trials", tr.ID, strconv.Itoa(n)), Started: now,
		}
		if err := tx.InsertAttempt(r.attempt); err != nil {
			return err
		}
		for _, task := range t.tasks {
			number, err := number(tx, task.ID, tr.ID)
			if err != nil {
				return err
			}
			if _, err := tx.Event("task:"+task.ID, "trial.started", map[string]any{
				"trial": number, "candidate": candidate.ID, "label": candidate.Label, "attempt": n, "device": d.ID,
				"device_class": d.Class, "engine": "local", "reason": account,
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := st.alloc.Apply(allocator.TrialStarted{Search: decision.Search, Candidate: decision.Candidate, Class: d.Class}); err != nil {
		return err
	}
	if r.lease, err = st.pool.Acquire(d.ID, r.trial.ID); err != nil {
		return err
	}
	st.runs[r.attempt.Folder] = r
	if err := st.launch(t, r, resume); err != nil {
		st.cfg.Log.Error("an attempt did not start", "trial", r.trial.ID, "error", err)
		st.finish(r, engine.Notice{Folder: r.attempt.Folder, Kind: engine.Ended, Code: -1, Cause: trial.CauseLost, Message: err.Error()})
		return nil
	}
	if decision.Limit > 0 {
		st.putAsideAfter(r, max(time.Duration(decision.Limit*float64(time.Second)), st.cfg.LeastLimit))
	}
	return nil
}

// putAsideAfter lets the trial give way when it has run into its limit and
// something else could have its device.
func (st *state) putAsideAfter(r *run, limit time.Duration) {
	time.AfterFunc(limit, func() {
		st.tell(func(st *state) {
			if st.runs[r.attempt.Folder] != r {
				return
			}
			if _, wanted := st.alloc.Next(r.lease.Device.Class); wanted {
				st.dismiss(r, leaveLate)
			}
		})
	})
}

// launch writes the attempt's folder and hands it to the engine.
func (st *state) launch(t *tenant, r *run, resume *string) error {
	env := gpu.Environment(r.lease)
	spec := trial.Trial{
		Trial: r.trial.ID, Attempt: r.attempt.Number, Program: programJSON(t.row.Program), Template: t.row.Template,
		Candidate: r.candidate.Choice(), Metric: t.row.Metric, Seed: int64(t.row.Seed), Resume: resume, ReportSeconds: 0.5,
		Data:   dataOf(t.row),
		Limits: trial.Limits{Seconds: &st.cfg.TrialSeconds, Threads: max(r.lease.Device.Threads, 1)},
		Device: trial.Device{Class: r.lease.Device.Class, Visible: env["CUDA_VISIBLE_DEVICES"]},
	}
	// A CPU slot's memory is the host's, which its trials share; a card's is its own.
	memory := int64(0)
	if r.lease.Device.Kind == gpu.CPU && r.lease.Device.MemoryBytes > 0 {
		memory = r.lease.Device.MemoryBytes
		spec.Limits.MemoryBytes = &memory
	}
	if err := json.Unmarshal(t.row.Target, &spec.Target); err != nil {
		return fmt.Errorf("target of search %s: %w", t.row.ID, err)
	}
	if err := trial.Create(r.attempt.Folder, spec); err != nil {
		return err
	}
	return st.cfg.Engine.Start(st.ctx, engine.Job{
		Folder: r.attempt.Folder, Command: engine.Run, Env: env, MemoryBytes: memory, Threads: spec.Limits.Threads,
	})
}

// dataOf names a search's data as the trainer is told of it.
func dataOf(row store.Search) trial.Data {
	d := trial.Data{Version: row.DatasetVersion, Path: row.DataPath, Rows: int64(row.Rows)}
	_ = json.Unmarshal(row.Parts, &d.Parts) // both were written by us from these types
	_ = json.Unmarshal(row.Protocol, &d.Protocol)
	return d
}

// notice takes what the engine says of a trial's folder.
func (st *state) notice(n engine.Notice) {
	r, known := st.runs[n.Folder]
	if !known {
		return // it ended before; its rows say so
	}
	switch n.Kind {
	case engine.Event:
		st.look(r)
	case engine.Ended:
		st.look(r)
		st.finish(r, n)
		st.schedule()
	}
}

// look reads new events of a running attempt and publishes its progress.
func (st *state) look(r *run) {
	events, offset, err := trial.ReadEvents(r.attempt.Folder, r.offset)
	if err != nil {
		st.cfg.Log.Warn("events of an attempt could not be read", "folder", r.attempt.Folder, "error", err)
		return
	}
	r.offset = offset
	moved := false
	for _, e := range events {
		switch e.Type {
		case trial.EventPhase:
			r.phase, moved = e.Name, true
		case trial.EventProgress:
			r.latest, moved = &e, true
		default:
			r.events = append(r.events, e)
		}
	}
	if t, ok := st.tenants[r.trial.SearchID]; ok && moved {
		for id := range t.tasks {
			st.hub.put(Transient{Topic: "task:" + id, Type: "trial.progress", Key: r.trial.ID, Time: st.now()}, st.progress(r))
		}
	}
}

func (st *state) progress(r *run) map[string]any {
	p := map[string]any{"trial": r.trial.ID, "candidate": r.candidate.ID, "phase": r.phase, "seconds": st.now().Sub(r.begun).Seconds()}
	if e := r.latest; e != nil {
		p["step"], p["of"], p["unit"] = e.Step, e.Of, e.Unit
		if e.Quality != nil && e.Quality.Finite() {
			p["quality"] = float64(*e.Quality)
		}
	}
	return p
}

// dismiss asks an attempt to leave its device: with its best so far where
// that counts, by a checkpoint where it can be paused, and by force after the
// grace.
func (st *state) dismiss(r *run, why string) {
	if r.leaving != "" {
		return
	}
	r.leaving = why
	word := trial.Stop
	if goes(why) && r.candidate.Pausable {
		word = trial.Pause
	}
	folder := r.attempt.Folder
	if goes(why) && !r.candidate.Pausable {
		st.signal(folder, "TERM")
	} else {
		if err := trial.SetControl(folder, word); err != nil {
			st.cfg.Log.Warn("an attempt could not be told to leave", "folder", folder, "error", err)
		}
		st.signal(folder, "USR1")
	}
	time.AfterFunc(st.cfg.Grace, func() {
		st.tell(func(st *state) {
			if st.runs[folder] == r {
				st.signal(folder, "KILL")
			}
		})
	})
}

func (st *state) signal(folder, name string) {
	if err := st.cfg.Engine.Signal(folder, name); err != nil && !errors.Is(err, engine.ErrNotRunning) {
		st.cfg.Log.Warn("an attempt could not be signalled", "folder", folder, "signal", name, "error", err)
	}
}

// number is the task's own number of a trial, given when it first sees it.
func number(tx *store.Tx, taskID, trialID string) (int, error) {
	rows, err := tx.TaskTrialNumbers(trialID)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if row.TaskID == taskID {
			return row.Number, nil
		}
	}
	task, err := tx.TaskByID(taskID)
	if err != nil {
		return 0, err
	}
	n := task.NextTrial
	task.NextTrial++
	if err := tx.UpdateTask(task); err != nil {
		return 0, err
	}
	return n, tx.InsertTaskTrial(store.TaskTrial{TaskID: taskID, Number: n, TrialID: trialID})
}
