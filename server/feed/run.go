package feed

import (
	"context"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
)

// Broken is the end of a folder whose trainer broke off without a word of its own.
type Broken struct{ Message string }

func (b *Broken) Error() string { return b.Message }

// RunFolder runs a folder that is ready to its end on a service slot and calls each with its events as they come. It
// returns a *Refusal where the trainer said what is wrong, a *Broken where it broke off.
func RunFolder(ctx context.Context, run Runner, job engine.Job, each func(trial.Event)) error {
	var events []trial.Event
	var offset int64
	done, failed := false, (*Refusal)(nil)
	look := func() {
		more, next, err := trial.ReadEvents(job.Folder, offset)
		if err != nil {
			return // the next nudge, or the end, tells
		}
		offset = next
		for _, e := range more {
			events = append(events, e)
			switch e.Type {
			case trial.EventDone:
				done = true
			case trial.EventFailed:
				failed = &Refusal{Message: e.Message, Hint: e.Hint, Where: e.Where}
			default:
				each(e)
			}
		}
	}
	ended, err := run.RunService(ctx, job, look)
	if err != nil {
		return err
	}
	look()
	if failed != nil {
		return failed
	}
	if ended.Code != 0 || !done {
		log, _ := trial.LogTail(job.Folder, 4096)
		_, message := trial.Classify(ended.Ended(), events, log)
		return &Broken{Message: message}
	}
	return nil
}
