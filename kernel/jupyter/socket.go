package jupyter

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// role is what a socket does with its peers: [router], [publisher] or [heartbeat]. opened comes before any received of the same peer, closed
// after the last. They are called by the goroutine that reads from the peer and must not block.
type role interface {
	kind() zmq4.SocketType
	opened(p *peer)
	received(p *peer, frames [][]byte)
	closed(p *peer)
}

// socket listens at one address and serves each connection in goroutines of its own.
type socket struct {
	role   role
	limits *limits
	log    *slog.Logger
	bad    *rarely
	ln     net.Listener

	mu      sync.Mutex
	pending []net.Conn // in their handshake, oldest first
	peers   map[*peer]struct{}
	closing chan struct{}
	work    sync.WaitGroup
}

// listen opens the socket called name. network and address are those of net.Listen, "unix" or "tcp".
func listen(name, network, address string, r role, l *limits, log *slog.Logger) (*socket, error) {
	if network == "unix" {
		if err := removeStale(address); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		// Only the owner may talk to the kernel; on TCP the key has to do.
		if err := os.Chmod(address, 0o600); err != nil {
			ln.Close()
			return nil, err
		}
	}
	log = log.With("socket", name)
	s := &socket{
		role: r, limits: l, log: log, bad: &rarely{every: 10 * time.Second, log: log}, ln: ln, peers: map[*peer]struct{}{}, closing: make(chan struct{}),
	}
	s.work.Go(s.accept)
	return s, nil
}

// removeStale removes the file of a Unix socket that nobody answers on any more.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: address already in use", path)
	}
	return os.Remove(path)
}

func (s *socket) accept() {
	const most = time.Second
	pause := time.Millisecond
	for {
		c, err := s.ln.Accept()
		if err == nil {
			pause = time.Millisecond
			// Here and not in the connection's goroutine: only here the order is that of arrival, and a latecomer must not count as the oldest.
			if !s.admit(c) {
				c.Close()
				return
			}
			s.work.Go(func() { s.serve(c) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of file descriptors, for instance: others may free some.
		s.bad.warn("a connection could not be accepted", "error", err)
		select {
		case <-s.closing:
			return
		case <-time.After(pause):
			pause = min(2*pause, most)
		}
	}
}

// serve takes one admitted connection from its handshake to its end.
func (s *socket) serve(c net.Conn) {
	defer c.Close()
	p, err := shake(c, s.role.kind(), s.limits)
	if !s.dismiss(c, p) {
		s.log.Debug("a connection was refused", "peer", c.RemoteAddr().String(), "error", err)
		return
	}
	s.role.opened(p)
	var writing sync.WaitGroup
	writing.Go(p.write)
	err = p.read(func(frames [][]byte) { s.role.received(p, frames) })
	s.role.closed(p)
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
	p.disconnect("")
	writing.Wait()
	switch why, _ := p.why.Load().(string); {
	case why != "":
		s.bad.warn("a client was disconnected", "peer", c.RemoteAddr().String(), "why", why)
	case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		s.log.Debug("a connection ended", "peer", c.RemoteAddr().String(), "error", err)
	}
}

// admit notes that c begins its handshake, unless the socket is closing. Where too many do, the oldest has to go: it is the likeliest to be silent for good.
func (s *socket) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosing() {
		return false
	}
	if len(s.pending) >= s.limits.pending {
		s.pending[0].Close()
		s.pending = s.pending[1:]
	}
	s.pending = append(s.pending, c)
	return true
}

// dismiss notes that the handshake of c is over, with p or, if it failed, with nil. It says whether p is to be served.
func (s *socket) dismiss(c net.Conn, p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pending {
		if s.pending[i] == c {
			s.pending = append(s.pending[:i:i], s.pending[i+1:]...)
			break
		}
	}
	if p == nil || s.isClosing() {
		return false
	}
	if len(s.peers) >= s.limits.peers {
		s.bad.warn("a connection was refused: there are too many", "peers", len(s.peers))
		return false
	}
	s.peers[p] = struct{}{}
	return true
}

func (s *socket) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// close ends the socket. What is queued for its peers is still written, within the time of limits.drain.
func (s *socket) close() {
	s.mu.Lock()
	if s.isClosing() {
		s.mu.Unlock()
		return
	}
	close(s.closing)
	for _, c := range s.pending {
		c.Close()
	}
	peers := make([]*peer, 0, len(s.peers))
	for p := range s.peers {
		peers = append(peers, p)
	}
	s.mu.Unlock()
	s.ln.Close()

	// After closeWrite the peer reads what is under way and then closes its side, which ends our reading. Closing at once instead could make
	// the system throw away what it has not read yet.
	end := time.AfterFunc(s.limits.drain, func() {
		for _, p := range peers {
			p.disconnect("")
		}
	})
	defer end.Stop()
	for _, p := range peers {
		p.out.finish(false)
	}
	s.work.Wait()
}
