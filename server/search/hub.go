package search

import (
	"encoding/json"
	"sync"
	"time"
)

// Transient is news that only counts until the next of its type and key.
type Transient struct {
	Topic string // "task:<task id>" or "pool"
	Type  string
	Key   string
	Time  time.Time
	Data  json.RawMessage
	mark  uint64
}

// Hub keeps the latest transient of each (topic, type, key).
type Hub struct {
	mu      sync.Mutex
	mark    uint64
	latest  map[[3]string]Transient
	changed chan struct{}
}

func newHub() *Hub {
	return &Hub{latest: map[[3]string]Transient{}, changed: make(chan struct{})}
}

// Changed is closed at the next change.
func (h *Hub) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Latest returns what is newer than `after` under the topics, and the mark to
// ask from next time. 0 gives the present state of all keys.
func (h *Hub) Latest(topics []string, after uint64) ([]Transient, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Transient
	for _, t := range h.latest {
		if t.mark <= after {
			continue
		}
		for _, topic := range topics {
			if t.Topic == topic {
				list = append(list, t)
				break
			}
		}
	}
	return list, h.mark
}

func (h *Hub) put(t Transient, data any) {
	t.Data, _ = json.Marshal(data) // our own maps and numbers
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mark++
	t.mark = h.mark
	h.latest[[3]string{t.Topic, t.Type, t.Key}] = t
	close(h.changed)
	h.changed = make(chan struct{})
}

// drop forgets all that is under a topic.
func (h *Hub) drop(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.latest {
		if key[0] == topic {
			delete(h.latest, key)
		}
	}
}

// forget drops a key whose subject has ended; the durable event tells how.
func (h *Hub) forget(topic, typ, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.latest, [3]string{topic, typ, key})
}
