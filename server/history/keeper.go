package history

import (
	"context"
	"log/slog"
	"time"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/server/store"
)

// Keeper keeps the priors up to what searches have learned, beside the path from
// a result to the next decision. It fits at the start, and whenever the finished
// trials have grown by a third: soon on a fresh server, seldom on an old one, a
// logarithmic number of times in all.
type Keeper struct {
	Store *store.Store
	Take  func(context.Context, Priors) error // what was fitted anew; called from Run's goroutine
	Log   *slog.Logger
	// Pause is the least time between two fits; 0 = 10 s.
	Pause time.Duration
	// After waits as time.After does, which nil stands for.
	After func(time.Duration) <-chan time.Time
}

// Run fits until ctx ends. Where nothing can be fitted it says so in the log, and
// searches go on with the priors that they have.
func (k Keeper) Run(ctx context.Context) {
	if k.Pause == 0 {
		k.Pause = 10 * time.Second
	}
	if k.After == nil {
		k.After = time.After
	}
	known, fitted, first := Priors{}, 0, true
	if loaded, err := Load(ctx, k.Store); err == nil {
		known = loaded
	}
	for {
		changed := k.Store.Changed()
		trials, due, err := k.due(ctx, fitted)
		if err == nil && (due || first) {
			var priors Priors
			if priors, err = k.fit(ctx, known, trials); err == nil {
				err = k.Take(ctx, priors)
			}
			if err == nil {
				known = priors
			}
			fitted, first = trials, false
		}
		if err != nil && ctx.Err() == nil {
			k.Log.Warn("history gives no prior", "error", err)
		}
		select {
		case <-k.After(k.Pause):
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// due counts the finished trials and tells whether they are a third more than
// when priors were fitted last.
func (k Keeper) due(ctx context.Context, fitted int) (trials int, due bool, err error) {
	err = k.Store.Read(ctx, func(r *store.Reader) error {
		trials, err = r.CountHistory()
		return err
	})
	return trials, trials > fitted && 3*trials >= 4*fitted, err
}

// fit makes the priors and writes those that are not what is known already. A
// prior that is the same keeps its version.
func (k Keeper) fit(ctx context.Context, known Priors, trials int) (Priors, error) {
	var finished []store.Finished
	if err := k.Store.Read(ctx, func(r *store.Reader) (err error) {
		finished, err = r.History()
		return err
	}); err != nil {
		return nil, err
	}
	made, err := fit(finished)
	if err != nil {
		return nil, err
	}
	priors := Priors{}
	_, err = k.Store.Write(ctx, func(tx *store.Tx) error {
		for _, kind := range ordered(made) {
			p := made[kind]
			if was := known[kind]; was.Prior != nil && was.ID == p.ID {
				priors[kind] = was
				continue
			}
			body, err := allocator.EncodePrior(p)
			if err != nil {
				return err
			}
			version, err := tx.InsertPrior(store.Prior{Template: kind.Template, Target: kind.Target, ID: p.ID, Trials: trials, Body: body})
			if err != nil {
				return err
			}
			priors[kind] = Fitted{Prior: p, Version: version}
		}
		return nil
	})
	return priors, err
}
