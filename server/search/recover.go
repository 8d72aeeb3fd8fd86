package search

import (
	"context"
	"time"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// recover rebuilds everything from the rows: first the attempts that no
// server watched are judged by their folders (local trials end with their
// server, so one without a result is lost and queued again), then every search
// that a task points to is made known to the allocator, the settled ones too: what
// was known of them is shown on.
func (st *state) recover(ctx context.Context) error {
	var left []store.Attempt
	var shares []store.Share
	trials, again := map[string]store.Trial{}, map[string]bool{}
	if err := st.cfg.Store.Read(ctx, func(r *store.Reader) (err error) {
		if shares, err = r.Shares(); err != nil {
			return err
		}
		if left, err = r.RunningAttempts(); err != nil {
			return err
		}
		for _, a := range left {
			if trials[a.TrialID], err = r.TrialByID(a.TrialID); err != nil {
				return err
			}
			attempts, err := r.Attempts(a.TrialID)
			if err != nil {
				return err
			}
			withServer, _ := lost(attempts)
			again[a.TrialID] = withServer+1 < maxServers
		}
		return nil
	}); err != nil {
		return err
	}
	told := make([][]trial.Event, len(left))
	var alive time.Time // the last that is known of the server before
	for i, a := range left {
		var err error
		if told[i], _, err = trial.ReadEvents(a.Folder, 0); err != nil {
			st.cfg.Log.Warn("events of an attempt could not be read", "folder", a.Folder, "error", err)
		}
		if n := len(told[i]); n > 0 {
			if at := a.Started.Add(time.Duration(told[i][n-1].T * float64(time.Second))); at.After(alive) {
				alive = at
			}
		}
	}
	st.recoverShares(shares, alive)
	for i, a := range left {
		events := told[i]
		rate := st.rate(a.DeviceClass)
		v := st.judge(trials[a.TrialID], a, events, engine.Notice{
			Folder: a.Folder, Kind: engine.Ended, Code: -1, Cause: trial.CauseLost, Message: "It ended with its server.",
		}, "", rate, again[a.TrialID])
		if v.attempt.Outcome == "lost" {
			v.attempt.Kind = ""
		}
		if v.result == nil {
			// Nobody knows when it ended: what it told last is what it is charged for.
			before := v.attempt.Seconds
			v.attempt.Seconds = 0
			if len(events) > 0 {
				v.attempt.Seconds = events[len(events)-1].T
			}
			v.trial.Seconds += v.attempt.Seconds - before
			v.trial.Charge += v.attempt.Seconds*rate - v.attempt.Charge
			v.attempt.Charge = v.attempt.Seconds * rate
		}
		if err := st.commitEnd(v); err != nil {
			return err
		}
	}
	if err := st.cfg.Store.Read(ctx, func(r *store.Reader) error {
		if err := st.recoverWaits(r); err != nil {
			return err
		}
		searches, err := r.SearchesOfTasks()
		if err != nil {
			return err
		}
		for _, row := range searches {
			t, err := st.enlist(r, row)
			if err != nil {
				return err
			}
			st.tellRescored(t)
		}
		return nil
	}); err != nil {
		return err
	}
	return st.shareSeconds()
}

func (st *state) rate(class string) float64 {
	if r := st.cfg.Options.Rates[class]; r > 0 {
		return r
	}
	return 1
}
