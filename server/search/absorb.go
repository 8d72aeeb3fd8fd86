package search

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// A trial whose attempts end through no fault of theirs is queued again, but
// not for ever: one that takes its trainer down with it is given up after
// maxLost of them, one that was running whenever the server ended after
// maxServers.
const (
	maxLost    = 3
	maxServers = 20
)

// kindLate marks an attempt that was put aside at its limit and left nothing.
const kindLate = "late"

// lost counts the attempts that were lost: with their server (which has no
// kind), and without.
func lost(attempts []store.Attempt) (withServer, alone int) {
	for _, a := range attempts {
		switch {
		case a.Outcome != "lost":
		case a.Kind == "":
			withServer++
		default:
			alone++
		}
	}
	return withServer, alone
}

// verdict is what an ended attempt means for its trial.
type verdict struct {
	attempt  store.Attempt
	trial    store.Trial
	requeued bool
	result   *trial.Result
}

// judge reads the folder of an ended attempt. It only reads: the same folder
// gives the same verdict, whoever asks and how often. again says whether a lost
// attempt's trial is queued again.
func (st *state) judge(tr store.Trial, attempt store.Attempt, events []trial.Event, n engine.Notice, leaving string, rate float64, again bool) verdict {
	now := st.now()
	attempt.Ended = &now
	attempt.PeakBytes = n.PeakBytes
	attempt.Seconds = now.Sub(attempt.Started).Seconds()
	v := verdict{}
	result, found, err := trial.ReadResult(attempt.Folder)
	switch {
	case err == nil && found:
		v.result = &result
		if s := result.Seconds.Total(); s > 0 && !math.IsNaN(s) && !math.IsInf(s, 0) {
			attempt.Seconds = s
		}
		attempt.PeakBytes = max(attempt.PeakBytes, result.PeakBytes)
		attempt.Outcome, attempt.Kind, attempt.Message = result.Outcome, result.Kind, result.Message
		if result.Outcome != trial.Failed && !result.Quality.Finite() {
			attempt.Outcome, attempt.Kind, attempt.Message = trial.Failed, trial.KindBug, "Its quality is not a number."
		}
		if attempt.Outcome == trial.OK && reasonOfDone(events) == "stopped" {
			attempt.Outcome = trial.Stopped
		}
	case paused(events) && goes(leaving):
		attempt.Outcome = trial.Paused
	case leaving == leaveLate:
		attempt.Outcome, attempt.Kind, attempt.Message = trial.Stopped, kindLate, "It takes longer than was thought, so others come first."
	case leaving == leaveAway:
		attempt.Outcome, attempt.Message = trial.Stopped, "Not wanted for now."
	case leaving == leaveStop:
		attempt.Outcome, attempt.Message = trial.Stopped, "Stopped before it had anything to keep."
	default:
		log, _ := trial.LogTail(attempt.Folder, 8192)
		attempt.Outcome = trial.Failed
		attempt.Kind, attempt.Message = trial.Classify(n.Ended(), events, log)
		if n.Message != "" && attempt.Kind != trial.KindBug {
			attempt.Message = n.Message
		}
		if attempt.Kind == trial.KindLost {
			attempt.Outcome = "lost"
		}
	}
	attempt.Charge = attempt.Seconds * rate

	if attempt.Kind != kindLate { // it starts anew: the seconds of its model don't count these
		tr.Seconds += attempt.Seconds
	}
	tr.Charge += attempt.Charge
	switch {
	case v.result != nil && attempt.Outcome != trial.Failed:
		quality := float64(result.Quality)
		tr.State, tr.Quality, tr.Ended = attempt.Outcome, &quality, &now
		tr.Model = filepath.Join(attempt.Folder, trial.ModelFolder)
		var err error
		if tr.HeldOut, tr.Result, err = summary(attempt.Folder, result); err != nil {
			st.cfg.Log.Warn("held-out answers of a trial could not be read, so it is compared with no other", "folder", attempt.Folder, "error", err)
		}
	case attempt.Outcome == trial.Paused:
		v.requeued, tr.State = true, "paused"
	case attempt.Outcome == trial.Stopped && goes(leaving) || attempt.Outcome == "lost" && again:
		v.requeued, tr.State = true, "queued"
	case attempt.Outcome == trial.Stopped:
		tr.State, tr.Message, tr.Ended = "stopped", attempt.Message, &now
	default:
		tr.State, tr.Kind, tr.Message, tr.Ended = trial.Failed, attempt.Kind, attempt.Message, &now
	}
	attempt.Requeued = v.requeued
	v.attempt, v.trial = attempt, tr
	return v
}

func reasonOfDone(events []trial.Event) string {
	for _, e := range events {
		if e.Type == trial.EventDone {
			return e.Reason
		}
	}
	return ""
}

func paused(events []trial.Event) bool {
	for _, e := range events {
		if e.Type == trial.EventPaused {
			return true
		}
	}
	return false
}

// summary keeps of a result what outlives its folder: the figures, and the
// loss of each held-out example (0 or 1 for classes, the share of places that are
// wrong for series of labels, the absolute error for numbers), for paired tests;
// of classes also which were taken for which, there and on the test part.
func summary(folder string, result trial.Result) (heldOut []byte, kept json.RawMessage, err error) {
	n := 0
	var wrong, ofTest *Mistakes
	if result.Predictions != "" {
		var rows []trial.Prediction
		if rows, err = trial.ReadPredictions(filepath.Join(folder, result.Predictions)); err == nil {
			heldOut, n, wrong = losses(rows), len(rows), mistakes(rows)
		}
	}
	if result.TestPredictions != "" {
		rows, terr := trial.ReadPredictions(filepath.Join(folder, result.TestPredictions))
		if terr == nil {
			ofTest = mistakes(rows)
		} else if err == nil {
			err = terr
		}
	}
	kept, _ = json.Marshal(map[string]any{
		"quality": result.Quality, "interval": result.QualityInterval, "n": n, "metrics": result.Metrics, "test": result.Test,
		"steps": result.Steps, "curve": result.Curve, "seconds": result.Seconds, "mistakes": wrong, "test_mistakes": ofTest,
		"sample": result.Sample,
	})
	return heldOut, kept, err
}

func losses(rows []trial.Prediction) []byte {
	sort.Slice(rows, func(i, j int) bool { return rows[i].Number < rows[j].Number })
	out := make([]byte, 0, 4*len(rows))
	for _, p := range rows {
		loss := 0.0
		switch {
		case len(p.Truth.Labels) > 0:
			places, wrong := 0, 0
			eachPlace(p, func(truth, answer string) {
				if places++; truth != answer {
					wrong++
				}
			})
			loss = float64(wrong) / float64(places)
		case len(p.Truth.Numbers) == 0:
			if p.Truth.Label != p.Prediction.Label {
				loss = 1
			}
		case len(p.Prediction.Numbers) == 0:
			loss = math.MaxFloat32 // no answer is the worst one
		default:
			at := func(list []float64, i int) float64 { // series may differ in length
				if i < len(list) {
					return list[i]
				}
				return 0
			}
			for i := range max(len(p.Truth.Numbers), len(p.Prediction.Numbers)) {
				loss += math.Abs(at(p.Truth.Numbers, i) - at(p.Prediction.Numbers, i))
			}
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(loss)))
	}
	return out
}

// nothing stands for what is missing at a place of a series, or is too much.
const nothing = "(nothing)"

// eachPlace goes through the places of a series of labels: as many as the longer
// one of truth and answer has.
func eachPlace(p trial.Prediction, do func(truth, answer string)) {
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return nothing
	}
	for i := range max(len(p.Truth.Labels), len(p.Prediction.Labels)) {
		do(at(p.Truth.Labels, i), at(p.Prediction.Labels, i))
	}
}

// finish commits the end of an attempt and frees its device.
func (st *state) finish(r *run, n engine.Notice) {
	rate := r.lease.Device.Rate
	if rate == 0 {
		rate = 1
	}
	v := st.judge(r.trial, r.attempt, r.events, n, r.leaving, rate, r.lost+1 < maxLost)
	if err := st.commitEnd(v); err != nil {
		// The row still says that it runs: the next Open judges the folder again.
		st.cfg.Log.Error("the end of an attempt could not be written", "trial", r.trial.ID, "error", err)
	}
	delete(st.runs, r.attempt.Folder)
	if err := st.pool.Release(r.lease); err != nil {
		st.cfg.Log.Error("a device could not be freed", "device", r.lease.Device.ID, "error", err)
	}
	event := allocator.Event(allocator.TrialLost{
		Search: allocator.SearchID(r.trial.SearchID), Candidate: allocator.CandidateID(r.trial.Candidate), Charge: v.attempt.Charge,
	})
	switch {
	case r.leaving == leaveLate && v.requeued && v.attempt.Seconds > 0:
		event = allocator.TrialOverran{
			Search: allocator.SearchID(r.trial.SearchID), Candidate: allocator.CandidateID(r.trial.Candidate),
			Seconds: v.attempt.Seconds, Charge: v.attempt.Charge,
		}
	case !v.requeued:
		e := ended(v.trial, r.attempt.DeviceClass)
		e.Charge = v.attempt.Charge
		event = e
	}
	if err := st.alloc.Apply(event); err != nil {
		st.cfg.Log.Error("the allocator refused the end of a trial", "trial", r.trial.ID, "error", err)
	}
	if err := st.shareSeconds(); err != nil {
		st.cfg.Log.Error("the allocator refused what searches teach each other", "error", err)
	}
	if t, ok := st.tenants[r.trial.SearchID]; ok {
		for id := range t.tasks {
			st.hub.forget("task:"+id, "trial.progress", r.trial.ID)
		}
		if !v.requeued {
			st.tidy(r.trial.SearchID)
		}
	}
	if err := st.retire(r.trial.SearchID); err != nil {
		st.cfg.Log.Error("a search could not be forgotten", "search", r.trial.SearchID, "error", err)
	}
}

// commitEnd writes an attempt's end, its trial's, and what follows for the
// tasks that point to the search, in one transaction. An attempt that has an
// outcome already changes nothing.
func (st *state) commitEnd(v verdict) error {
	_, err := st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		attempts, err := tx.Attempts(v.trial.ID)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if a.Number == v.attempt.Number && a.Outcome != "" {
				return nil
			}
		}
		if err := tx.UpdateAttempt(v.attempt); err != nil {
			return err
		}
		if err := tx.UpdateTrial(v.trial); err != nil {
			return err
		}
		tasks, err := tx.TasksOfSearch(v.trial.SearchID)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if task.State == "dropped" {
				continue
			}
			if err := st.announceEnd(tx, task.ID, v); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (st *state) announceEnd(tx *store.Tx, taskID string, v verdict) error {
	n, err := number(tx, taskID, v.trial.ID)
	if err != nil {
		return err
	}
	a := v.attempt
	if _, err := tx.Event("task:"+taskID, "attempt.ended", map[string]any{
		"trial": n, "attempt": a.Number, "outcome": a.Outcome, "kind": a.Kind, "message": a.Message, "seconds": a.Seconds,
		"charge": a.Charge, "peak_bytes": a.PeakBytes, "requeued": a.Requeued,
	}); err != nil || v.requeued {
		return err
	}
	if _, err := tx.Event("task:"+taskID, "trial.ended", map[string]any{
		"trial": n, "candidate": v.trial.Candidate, "outcome": v.trial.State, "kind": v.trial.Kind, "message": v.trial.Message,
		"quality": v.trial.Quality, "seconds": v.trial.Seconds, "charge": v.trial.Charge,
	}); err != nil {
		return err
	}
	return promote(tx, taskID, v.trial)
}

// tidy drops the models and scratch files that nobody can ask for any more:
// kept are the best and the runner-up of a search, and whatever a task serves.
func (st *state) tidy(searchID string) {
	var drop []store.Trial
	_, err := st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		drop = drop[:0]
		trials, err := tx.FinishedTrials(searchID)
		if err != nil {
			return err
		}
		keep, err := served(tx)
		if err != nil {
			return err
		}
		ranked := rank(trials)
		for i, tr := range ranked {
			if i < 2 {
				keep[tr.ID] = true
			}
		}
		for _, tr := range trials {
			if tr.Model == "" || keep[tr.ID] {
				continue
			}
			drop = append(drop, tr)
			tr.Model = ""
			if err := tx.UpdateTrial(tr); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		st.cfg.Log.Warn("models could not be tidied", "search", searchID, "error", err)
		return
	}
	for _, tr := range drop {
		if err := os.RemoveAll(tr.Model); err != nil {
			st.cfg.Log.Warn("a model could not be removed", "trial", tr.ID, "error", err)
		}
	}
}

// served are the trials whose models answer for some task.
func served(tx *store.Tx) (map[string]bool, error) {
	tasks, err := tx.AllTasks()
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, task := range tasks {
		if best, ok := Served(task); ok {
			ids[best.TrialID] = true
		}
	}
	return ids, nil
}
