package jupyter

import (
	"context"
	"sync"
	"time"
)

// request is a message of the shell or control socket, with the way back.
type request struct {
	*message
	from     *router
	identity string
	aborted  bool // an execute_request that an error or an interrupt before it has overtaken; guarded by the queue
}

// queue holds the requests of one socket, in order, and knows which of them is being served. One goroutine serves.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	cancel  context.CancelCauseFunc // of the request being served, else nil
	came    chan struct{}           // of capacity 1: something was added
}

func newQueue() *queue { return &queue{came: make(chan struct{}, 1)} }

func (q *queue) add(r *request) {
	q.mu.Lock()
	q.waiting = append(q.waiting, r)
	q.mu.Unlock()
	select {
	case q.came <- struct{}{}:
	default:
	}
}

// next waits for a request and makes it the one being served, in a context of its own below ctx. It is nil when ctx ends.
func (q *queue) next(ctx context.Context) (*request, context.Context) {
	for {
		if ctx.Err() != nil {
			return nil, nil
		}
		q.mu.Lock()
		if len(q.waiting) > 0 {
			r := q.waiting[0]
			q.waiting[0] = nil
			q.waiting = q.waiting[1:]
			own, cancel := context.WithCancelCause(ctx)
			q.cancel = cancel
			q.mu.Unlock()
			return r, own
		}
		q.mu.Unlock()
		select {
		case <-q.came:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// done says that the request from next is served.
func (q *queue) done() {
	q.mu.Lock()
	cancel := q.cancel
	q.cancel = nil
	q.mu.Unlock()
	cancel(nil)
}

// isAborted is asked just before a request is served.
func (q *queue) isAborted(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.aborted
}

// abort marks all execute_requests that wait.
func (q *queue) abort() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abortLocked()
}

func (q *queue) abortLocked() {
	for _, r := range q.waiting {
		r.aborted = r.aborted || r.kind == "execute_request"
	}
}

// stop ends the context of the request being served, with the given cause, and marks those that wait. Both at one moment: no request can
// slip through between them.
func (q *queue) stop(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abortLocked()
	if q.cancel != nil {
		q.cancel(cause)
	}
}

// settle waits until no request has come for quiet, at most for most. What a client sent before it could know how the present request ends
// belongs to the same run of cells, and may still be on its way.
func (q *queue) settle(ctx context.Context, quiet, most time.Duration) {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		calm := time.NewTimer(quiet)
		select {
		case <-q.came:
			calm.Stop()
		case <-calm.C:
			return
		case <-end.C:
			calm.Stop()
			return
		case <-ctx.Done():
			calm.Stop()
			return
		}
	}
}
