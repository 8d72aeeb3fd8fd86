package jupyter

import (
	"context"
	"sync"
	"time"
)

// packet is something that waits to be written to a peer.
type packet interface {
	// frames is what goes over the wire, once the packet's turn has come.
	frames() [][]byte
	// size is its weight in bytes.
	size() int
	// key, if not "", says that a later packet of the same key makes this one superfluous.
	key() string
	// absorb returns one packet that says what this and the next one say, or nil if there is none.
	absorb(next packet) packet
}

// raw is a packet of frames that stands for itself.
type raw [][]byte

func (r raw) frames() [][]byte     { return r }
func (r raw) key() string          { return "" }
func (r raw) absorb(packet) packet { return nil }

func (r raw) size() int {
	n := 0
	for _, f := range r {
		n += len(f) + 32
	}
	return n
}

// pong answers a ZMTP ping; one answer is enough for several.
type pong []byte

func (p pong) frames() [][]byte     { return [][]byte{p} }
func (p pong) size() int            { return len(p) + 32 }
func (p pong) key() string          { return "pong" }
func (p pong) absorb(packet) packet { return nil }

// outbox is what waits to be written to one peer. push never blocks; one goroutine takes out.
type outbox struct {
	limit int // bytes

	mu       sync.Mutex
	change   sync.Cond // on mu
	items    []packet  // nil where a later packet took over
	base     int       // number of the packet items[0]
	keys     map[string]int
	bytes    int
	taken    int  // packets taken out so far
	stuck    bool // somebody has waited for room in vain and nothing was taken since
	finished bool
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit, keys: map[string]int{}}
	o.change.L = &o.mu
	return o
}

// push adds p. It is false if p doesn't fit any more: the reader is too slow and must go, for a hole in the stream of messages would be worse.
func (o *outbox) push(p packet) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return true
	}
	if last := len(o.items) - 1; last >= 0 && o.items[last] != nil {
		if one := o.items[last].absorb(p); one != nil {
			o.bytes += one.size() - o.items[last].size()
			o.items[last] = one
			return o.bytes <= o.limit
		}
	}
	if k := p.key(); k != "" {
		if n, ok := o.keys[k]; ok {
			o.bytes -= o.items[n-o.base].size()
			o.items[n-o.base] = nil
		}
		o.keys[k] = o.base + len(o.items)
	}
	o.items = append(o.items, p)
	o.bytes += p.size()
	o.change.Broadcast()
	return o.bytes <= o.limit
}

// pop takes the oldest packet, if there is one.
func (o *outbox) pop() (packet, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.items) > 0 {
		p := o.items[0]
		o.items[0] = nil
		o.items = o.items[1:]
		n := o.base
		o.base++
		if p == nil {
			continue
		}
		o.bytes -= p.size()
		if k := p.key(); k != "" && o.keys[k] == n {
			delete(o.keys, k)
		}
		o.taken++
		o.stuck = false
		o.change.Broadcast()
		return p, true
	}
	o.items = nil
	return nil, false
}

// wait blocks until there is a packet; it is false when there is none and none will come.
func (o *outbox) wait() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.items) == 0 && !o.finished {
		o.change.Wait()
	}
	return len(o.items) > 0
}

// crowded says whether who can wait should, before adding more.
func (o *outbox) crowded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.crowdedLocked()
}

func (o *outbox) crowdedLocked() bool { return o.bytes > o.limit/2 && !o.finished && !o.stuck }

// awaitRoom blocks until the outbox isn't crowded. It gives up, and lets nobody else wait, when nothing is taken out for as long as patience.
func (o *outbox) awaitRoom(ctx context.Context, patience time.Duration) {
	wake := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.change.Broadcast()
	}
	defer context.AfterFunc(ctx, wake)()
	o.mu.Lock()
	defer o.mu.Unlock()
	since, seen := time.Now(), o.taken
	for o.crowdedLocked() && ctx.Err() == nil {
		if o.taken != seen {
			since, seen = time.Now(), o.taken
		}
		left := patience - time.Since(since)
		if left <= 0 {
			o.stuck = true
			return
		}
		timer := time.AfterFunc(left, wake)
		o.change.Wait()
		timer.Stop()
	}
}

// finish says that nothing more comes. What waits can still be taken out, unless drop.
func (o *outbox) finish(drop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished = true
	if drop {
		o.items, o.bytes = nil, 0
		clear(o.keys)
	}
	o.change.Broadcast()
}
