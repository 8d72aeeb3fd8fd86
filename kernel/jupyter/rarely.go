package jupyter

import (
	"log/slog"
	"sync"
	"time"
)

// rarely logs at most once in a while: what it reports is caused by strangers, who must not fill the disk.
type rarely struct {
	every time.Duration
	log   *slog.Logger

	mu   sync.Mutex
	last time.Time
	held int
}

func (r *rarely) warn(message string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.last) >= r.every {
		r.log.Warn(message, append(args, "more_of_this_kind", r.held)...)
		r.last, r.held = now, 0
		return
	}
	r.held++
}
