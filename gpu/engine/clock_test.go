package engine

import (
	"sync"
	"time"
)

// jumpClock is the system's clock, but it can be set forward: what is due then is due at once.
type jumpClock struct {
	mu    sync.Mutex
	ahead time.Duration
	due   map[chan time.Time]time.Time
}

func newJumpClock() *jumpClock { return &jumpClock{due: map[chan time.Time]time.Time{}} }

func (c *jumpClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *jumpClock) After(d time.Duration) <-chan time.Time {
	ch := make(chan time.Time, 1)
	at := c.Now().Add(d)
	c.mu.Lock()
	c.due[ch] = at
	c.mu.Unlock()
	time.AfterFunc(d, func() { c.fire(ch) })
	return ch
}

func (c *jumpClock) Jump(d time.Duration) {
	c.mu.Lock()
	c.ahead += d
	now := time.Now().Add(c.ahead)
	var ready []chan time.Time
	for ch, at := range c.due {
		if !at.After(now) {
			ready = append(ready, ch)
		}
	}
	c.mu.Unlock()
	for _, ch := range ready {
		c.fire(ch)
	}
}

func (c *jumpClock) fire(ch chan time.Time) {
	c.mu.Lock()
	_, waiting := c.due[ch]
	delete(c.due, ch)
	c.mu.Unlock()
	if waiting {
		ch <- c.Now()
	}
}
