package jupytertest

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

// The channels of a kernel, by the names that the connection file gives their ports.
const (
	Shell   = "shell"
	Control = "control"
	Stdin   = "stdin"
	IOPub   = "iopub"
	HB      = "hb"
)

var kinds = map[string]zmq4.SocketType{Shell: zmq4.Dealer, Control: zmq4.Dealer, Stdin: zmq4.Dealer, IOPub: zmq4.Sub, HB: zmq4.Req}

// Dial opens a bare connection to a channel, for tests of what a well-behaved frontend would not do.
func (f *File) Dial(t testing.TB, channel string) net.Conn {
	t.Helper()
	network, address := "tcp", net.JoinHostPort(f.IP, strconv.Itoa(f.port(channel)))
	if f.Transport == "ipc" {
		network, address = "unix", f.IP+"-"+strconv.Itoa(f.port(channel))
	}
	// The kernel may still be on its way to listening.
	for end := time.Now().Add(Patience); ; {
		c, err := net.DialTimeout(network, address, Patience)
		if err == nil {
			return c
		}
		if time.Now().After(end) {
			t.Fatalf("the kernel's %s channel can't be reached: %v", channel, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Open connects to a channel as ZeroMQ does, under the given identity.
func (f *File) Open(t testing.TB, channel, identity string) *zmq4.Conn {
	t.Helper()
	conn, err := zmq4.Open(f.Dial(t, channel), null.Security(), kinds[channel], zmq4.SocketIdentity(identity), false, nil)
	if err != nil {
		t.Fatalf("no handshake on the %s channel: %v", channel, err)
	}
	return conn
}

// channel is one connection and what has come over it and was not taken yet.
type channel struct {
	conn *zmq4.Conn

	mu    sync.Mutex
	come  chan struct{} // closed and made anew with each message, and at the end
	inbox []Message
	ended bool
	done  sync.WaitGroup
}

func newChannel(conn *zmq4.Conn, decode func(frames [][]byte) (Message, error), failed func(error)) *channel {
	ch := &channel{conn: conn, come: make(chan struct{})}
	ch.done.Go(func() {
		for {
			m, err := conn.RecvMsg()
			var got Message
			if err == nil {
				if got, err = decode(m.Frames); err != nil {
					failed(err)
				}
			}
			ch.mu.Lock()
			if err == nil {
				ch.inbox = append(ch.inbox, got)
			} else {
				ch.ended = true
			}
			close(ch.come)
			ch.come = make(chan struct{})
			ch.mu.Unlock()
			if err != nil {
				conn.Close()
				return
			}
		}
	})
	return ch
}

// take removes and returns the first message that fits, and waits for it if need be. The others stay.
func (ch *channel) take(fits func(Message) bool) (m Message, ok bool) {
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		ch.mu.Lock()
		for i, m := range ch.inbox {
			if fits(m) {
				ch.inbox = append(ch.inbox[:i:i], ch.inbox[i+1:]...)
				ch.mu.Unlock()
				return m, true
			}
		}
		come, ended := ch.come, ch.ended
		ch.mu.Unlock()
		if ended {
			return Message{}, false
		}
		select {
		case <-come:
		case <-late.C:
			return Message{}, false
		}
	}
}

func (ch *channel) waiting() []Message {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return append([]Message(nil), ch.inbox...)
}

func (ch *channel) close() {
	ch.conn.Close()
	ch.done.Wait()
}
