package search

import (
	"context"
	"sync"

	"github.com/easeml/easeml/gpu/engine"
)

// dispatch routes the engine's notices of service folders to whoever waits
// for them; the loop takes all others.
type dispatch struct {
	mu      sync.Mutex
	waiting map[string]chan engine.Notice
}

func (d *dispatch) expect(folder string) chan engine.Notice {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string]chan engine.Notice{}
	}
	c := make(chan engine.Notice, 16)
	d.waiting[folder] = c
	return c
}

func (d *dispatch) forget(folder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, folder)
}

// deliver reports whether the notice was a service folder's. Nudges are
// dropped when the reader is behind, an end never is.
func (d *dispatch) deliver(n engine.Notice) bool {
	d.mu.Lock()
	c, mine := d.waiting[n.Folder]
	if mine && n.Kind == engine.Ended {
		delete(d.waiting, n.Folder)
	}
	d.mu.Unlock()
	if !mine {
		return false
	}
	if n.Kind == engine.Ended {
		for {
			select {
			case c <- n:
				return true
			case <-c: // make room: only nudges can be there
			}
		}
	}
	select {
	case c <- n:
	default:
	}
	return true
}

// RunService runs a folder outside the pool and waits for its end.
func (s *Service) RunService(ctx context.Context, job engine.Job, nudge func()) (engine.Notice, error) {
	c := s.services.expect(job.Folder)
	defer s.services.forget(job.Folder)
	if err := s.cfg.Engine.Start(ctx, job); err != nil {
		return engine.Notice{}, err
	}
	for {
		select {
		case n := <-c:
			if n.Kind == engine.Ended {
				return n, nil
			}
			nudge()
		case <-ctx.Done():
			_ = s.cfg.Engine.Signal(job.Folder, "KILL") // its end is no longer of interest
			return engine.Notice{}, ctx.Err()
		}
	}
}
