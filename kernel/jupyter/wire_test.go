package jupyter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

func TestWire(t *testing.T) {
	c := newCodec("key")
	header := []byte(`{"msg_id":"1","msg_type":"x_request" , "future":"ä\u00e4"}`)
	frames := c.encode([][]byte{[]byte("hop")}, c.newHeader("x"), header, nil, []byte(`{"a":1}`))
	if _, err := newCodec("other").decode(frames); !errors.Is(err, errSignature) {
		t.Errorf("another key: %v", err)
	}
	m, err := c.decode(append(frames, []byte("buffer")))
	if err != nil || m.kind != "x" || string(m.parent) != string(header) || m.parentID() != "1" || string(m.content) != `{"a":1}` ||
		string(m.metadata) != "{}" || len(m.idents) != 1 || len(m.buffers) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := c.decode(frames); !errors.Is(err, errReplayed) {
		t.Errorf("the same again: %v", err)
	}
	a, b := c.newHeader("x"), c.newHeader("x")
	if a.ID == b.ID || a.Session != b.Session || a.Version != "5.5" {
		t.Errorf("%v %v", a, b)
	}
	if _, err := time.Parse(time.RFC3339Nano, a.Date); err != nil {
		t.Error(err)
	}
}

// FuzzDecode: no frames may do more than be refused, and what is accepted is a message.
func FuzzDecode(f *testing.F) {
	c := newCodec("")
	good := c.encode([][]byte{[]byte("id")}, c.newHeader("execute_request"), nil, nil, []byte(`{"code":"a"}`))
	f.Add(bytes.Join(good, []byte{'\n'}), true)
	f.Add([]byte(delimiter+"\n\n{\"msg_id\":\"a\",\"msg_type\":\"b\"}\n{}\n{}\n{}"), false)
	f.Add([]byte("\n\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, signed bool) {
		frames := bytes.Split(b, []byte{'\n'})
		k := newCodec("")
		if signed {
			k = newCodec("key")
		}
		m, err := k.decode(frames)
		if err != nil {
			return
		}
		if signed {
			t.Fatal("a signature was guessed")
		}
		if m.id == "" || m.kind == "" {
			t.Fatalf("%+v", m)
		}
		// It can be answered, and its header comes back as it came.
		back, err := k.decode(k.encode(m.idents, k.newHeader("reply"), m.header, m.metadata, m.content))
		if err != nil || !bytes.Equal(back.parent, m.header) {
			t.Fatalf("%+v, %v", back, err)
		}
		m.parentID()
	})
}

// scripted is a connection whose peer says b and then nothing more.
type scripted struct {
	io.Reader
	net.Conn
}

func (s scripted) Read(p []byte) (int, error)       { return s.Reader.Read(p) }
func (scripted) Write(p []byte) (int, error)        { return len(p), nil }
func (scripted) Close() error                       { return nil }
func (scripted) SetDeadline(time.Time) error        { return nil }
func (scripted) SetReadDeadline(time.Time) error    { return nil }
func (scripted) SetWriteDeadline(t time.Time) error { return nil }

// FuzzPeer: whatever a peer writes, in the handshake or after it, ends in an error at the latest when it stops; it never panics, and no frame
// that comes through is over the limit.
func FuzzPeer(f *testing.F) {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xFF, 0x7F, 3
	copy(greeting[12:], "NULL")
	ready := "\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
	hello := append(greeting, frameCommand, byte(len(ready)))
	hello = append(hello, ready...)
	f.Add(hello, []byte{0, 3, 'a', 'b', 'c'})
	f.Add(hello, []byte("\x04\x08\x04PING\x00\x00x\x00\x01y"))
	f.Add(hello, binary.BigEndian.AppendUint64([]byte{frameLong}, 1<<62))
	f.Add(hello[:70], []byte{})
	f.Fuzz(func(t *testing.T, hello, rest []byte) {
		l := defaultLimits()
		l.frame, l.message, l.frames = 1<<12, 1<<14, 16
		p, err := shake(scripted{Reader: io.MultiReader(bytes.NewReader(hello), bytes.NewReader(rest))}, zmq4.Router, l)
		if err != nil {
			return
		}
		err = p.read(func(frames [][]byte) {
			if len(frames) > l.frames {
				t.Fatalf("%d frames", len(frames))
			}
			for _, f := range frames {
				if len(f) > l.frame {
					t.Fatalf("a frame of %d bytes", len(f))
				}
			}
		})
		if err == nil {
			t.Fatal("reading ended without an error")
		}
	})
}
