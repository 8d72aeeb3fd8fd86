package jupyter

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

var nullSecurity = null.Security()

// peer is one connection that is through its handshake.
type peer struct {
	identity string // as the peer gave it, or one of ours
	guard    *guard
	conn     *zmq4.Conn
	out      *outbox
	why      atomic.Value        // string: why we ended the connection
	topics   map[string]struct{} // of a subscriber; guarded by its publisher
}

// shake does the ZMTP handshake as a socket of the given kind.
func shake(c net.Conn, kind zmq4.SocketType, l *limits) (p *peer, err error) {
	// zmq4 panics on socket types it doesn't know and on properties cut short; both come from the peer.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("malformed handshake: %v", r)
		}
	}()
	if err := c.SetDeadline(time.Now().Add(l.handshake)); err != nil {
		return nil, err
	}
	g := newGuard(c, l)
	conn, err := zmq4.Open(g, nullSecurity, kind, nil, true, nil)
	if err != nil {
		return nil, err
	}
	if err := g.flush(); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	p = &peer{identity: conn.Peer.Meta["Identity"], guard: g, conn: conn, out: newOutbox(l.outbox)}
	g.open = true
	g.onPing = func(context []byte) { p.send(pong(context)) }
	return p, nil
}

// send queues k; a peer that lets too much pile up is disconnected.
func (p *peer) send(k packet) {
	if !p.out.push(k) {
		p.disconnect("it reads too slowly: too much is waiting for it")
	}
}

// disconnect ends the connection at once.
func (p *peer) disconnect(why string) {
	p.why.CompareAndSwap(nil, why)
	p.out.finish(true)
	p.guard.Close()
}

// write sends what is queued until the outbox is finished and empty, then tells the peer that nothing more comes.
func (p *peer) write() {
	for p.out.wait() {
		for {
			k, ok := p.out.pop()
			if !ok {
				break
			}
			if err := p.writeOne(k); err != nil {
				p.failed(err)
				return
			}
		}
		if err := p.guard.flush(); err != nil {
			p.failed(err)
			return
		}
	}
	if p.why.Load() == nil {
		p.guard.closeWrite()
	}
}

func (p *peer) writeOne(k packet) error {
	if context, ok := k.(pong); ok {
		return p.conn.SendCmd(zmq4.CmdPong, context)
	}
	return p.conn.SendMsg(zmq4.NewMsgFrom(k.frames()...))
}

func (p *peer) failed(err error) {
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		p.disconnect("it stopped reading")
		return
	}
	p.disconnect(err.Error())
}

// read hands every message to received until the connection ends.
func (p *peer) read(received func(frames [][]byte)) error {
	for {
		m, err := p.conn.RecvMsg()
		if err != nil {
			return err
		}
		if m.Type == zmq4.CmdMsg {
			continue // commands after the handshake say nothing that we need
		}
		received(m.Frames)
	}
}
