package jupyter

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/go-zeromq/zmq4"
)

// router is a socket whose peers are addressed by their identity: shell, control, stdin.
type router struct {
	receive func(identity string, frames [][]byte)

	mu    sync.Mutex
	peers map[string]*peer
	came  chan struct{} // closed and made anew whenever a peer comes
}

func newRouter(receive func(identity string, frames [][]byte)) *router {
	return &router{receive: receive, peers: map[string]*peer{}, came: make(chan struct{})}
}

func (r *router) kind() zmq4.SocketType { return zmq4.Router }

// opened gives the identity to the newest peer that claims it: a client that reconnects would wait for ever if the old connection, which may
// be dead without having been closed, kept it.
func (r *router) opened(p *peer) {
	if p.identity == "" {
		p.identity = "\x00" + rand.Text()
	}
	r.mu.Lock()
	old := r.peers[p.identity]
	r.peers[p.identity] = p
	close(r.came)
	r.came = make(chan struct{})
	r.mu.Unlock()
	if old != nil {
		old.disconnect("the same client has connected anew")
	}
}

func (r *router) received(p *peer, frames [][]byte) { r.receive(p.identity, frames) }

func (r *router) closed(p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peers[p.identity] == p {
		delete(r.peers, p.identity)
	}
}

// send queues frames for the peer of that identity; it is false if there is none.
func (r *router) send(identity string, frames [][]byte) bool {
	r.mu.Lock()
	p := r.peers[identity]
	r.mu.Unlock()
	if p == nil {
		return false
	}
	p.send(raw(frames))
	return true
}

// await blocks until a peer of that identity is there.
func (r *router) await(ctx context.Context, identity string) error {
	for {
		r.mu.Lock()
		p, came := r.peers[identity], r.came
		r.mu.Unlock()
		if p != nil {
			return nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
