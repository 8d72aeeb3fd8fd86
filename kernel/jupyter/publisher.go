package jupyter

import (
	"context"
	"strings"
	"sync"

	"github.com/go-zeromq/zmq4"
)

// publisher is the socket whose peers get what they subscribed to: iopub. It is an XPUB, that is, it sees the subscriptions.
type publisher struct {
	// subscribed is called for each new subscription, before anything else reaches the peer by it. Its packets go to that peer only.
	subscribed func(topic string) []packet

	mu     sync.Mutex
	peers  map[*peer]struct{}
	limits *limits
}

func newPublisher(l *limits, subscribed func(topic string) []packet) *publisher {
	return &publisher{subscribed: subscribed, peers: map[*peer]struct{}{}, limits: l}
}

func (b *publisher) kind() zmq4.SocketType { return zmq4.XPub }

func (b *publisher) opened(p *peer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.topics = map[string]struct{}{}
	b.peers[p] = struct{}{}
}

func (b *publisher) closed(p *peer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.peers, p)
}

// received takes subscriptions: one frame, its first byte 1 to subscribe or 0 to end that, the rest is the start of the topics meant.
func (b *publisher) received(p *peer, frames [][]byte) {
	if len(frames) != 1 || len(frames[0]) == 0 || frames[0][0] > 1 {
		return // something that this socket doesn't understand may come; ZeroMQ ignores it too
	}
	topic := string(frames[0][1:])
	b.mu.Lock()
	defer b.mu.Unlock()
	if frames[0][0] == 0 {
		delete(p.topics, topic)
		return
	}
	if len(p.topics) >= b.limits.topics {
		p.disconnect("it subscribes to too many topics")
		return
	}
	p.topics[topic] = struct{}{}
	for _, k := range b.subscribed(topic) {
		p.send(k)
	}
}

// publish queues k for all that subscribed to topic.
func (b *publisher) publish(topic string, k packet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.peers {
		for t := range p.topics {
			if strings.HasPrefix(topic, t) {
				p.send(k)
				break
			}
		}
	}
}

// awaitRoom blocks while a reader is behind with what was published, but not for one that has stopped reading. Who writes without end is
// slowed to what the readers can take; all else is published without it.
func (b *publisher) awaitRoom(ctx context.Context) {
	for {
		var behind *outbox
		b.mu.Lock()
		for p := range b.peers {
			if p.out.crowded() {
				behind = p.out
				break
			}
		}
		b.mu.Unlock()
		if behind == nil || ctx.Err() != nil {
			return
		}
		behind.awaitRoom(ctx, b.limits.patience)
	}
}
