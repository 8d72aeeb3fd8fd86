package jupyter

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Flags of a ZMTP 3 frame, https://rfc.zeromq.org/spec/23/.
const (
	frameMore    = 0x1
	frameLong    = 0x2
	frameCommand = 0x4

	greetingSize = 64
	writeChunk   = 256 << 10
)

var errFrame = errors.New("not a ZMTP frame")

// guard stands between a connection and zmq4, which believes what a peer says. Reading, it follows the frames: it refuses those that are too
// long, too many or misshapen, holds a frame back until all of it is there (so memory is only taken for what was really sent), and keeps pings
// to itself. Writing, it gathers a message and gives every chunk of it a deadline.
//
// Reading and writing are each done by one goroutine at a time.
type guard struct {
	net.Conn
	limits *limits
	onPing func(context []byte) // called by the reading goroutine

	in      *bufio.Reader
	ready   []byte // what Read hands out next
	greeted bool   // the 64 bytes of greeting are through
	open    bool   // the handshake is through
	bytes   int    // of the message being read
	frames  int

	out *bufio.Writer
}

func newGuard(c net.Conn, l *limits) *guard {
	g := &guard{Conn: c, limits: l, in: bufio.NewReaderSize(c, 16<<10)}
	g.out = bufio.NewWriterSize(deadlineWriter{c, l.write}, 64<<10)
	return g
}

// Read hands out whole frames, in as many pieces as p asks for.
func (g *guard) Read(p []byte) (int, error) {
	if !g.open {
		// The handshake is question and answer: what was said must go out before the answer can come.
		if err := g.out.Flush(); err != nil {
			return 0, err
		}
	}
	for len(g.ready) == 0 {
		if err := g.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.ready)
	if g.ready = g.ready[n:]; len(g.ready) == 0 {
		g.ready = nil
	}
	return n, nil
}

// fill reads the greeting or the next frame that is not a ping.
func (g *guard) fill() error {
	if !g.greeted {
		b := make([]byte, greetingSize)
		if _, err := io.ReadFull(g.in, b); err != nil {
			return err
		}
		g.greeted, g.ready = true, b
		return nil
	}

	var head [9]byte
	if _, err := io.ReadFull(g.in, head[:2]); err != nil {
		return err
	}
	flags, size, n := head[0], uint64(head[1]), 2
	if flags&^(frameMore|frameLong|frameCommand) != 0 || flags&frameCommand != 0 && flags&frameMore != 0 {
		return fmt.Errorf("%w: flags %#x", errFrame, flags)
	}
	if flags&frameLong != 0 {
		if _, err := io.ReadFull(g.in, head[2:]); err != nil {
			return err
		}
		size, n = binary.BigEndian.Uint64(head[1:]), 9
	}
	limit := g.limits.frame
	if !g.open {
		limit = g.limits.greeting
	}
	if size > uint64(limit) {
		return fmt.Errorf("a frame of %d bytes is announced, the limit is %d", size, limit)
	}
	g.bytes += int(size)
	g.frames++
	if g.bytes > g.limits.message || g.frames > g.limits.frames {
		return fmt.Errorf("a message of %d frames and %d bytes or more, the limit is %d and %d", g.frames, g.bytes, g.limits.frames, g.limits.message)
	}
	if flags&frameMore == 0 {
		g.bytes, g.frames = 0, 0
	}

	var b bytes.Buffer
	if size <= 4<<10 {
		b.Grow(n + int(size))
	}
	b.Write(head[:n])
	if m, err := io.CopyN(&b, g.in, int64(size)); err != nil {
		if err == io.EOF && m < int64(size) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if g.open && flags&frameCommand != 0 {
		if context, ok := ping(b.Bytes()[n:]); ok {
			if g.onPing != nil {
				g.onPing(context)
			}
			return nil
		}
	}
	g.ready = b.Bytes()
	return nil
}

// ping reads a PING command: its name, a time to live in tenths of a second, and a context of at most 16 bytes to send back.
func ping(body []byte) (context []byte, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte("\x04PING"))
	if !ok || len(rest) < 2 {
		return nil, false
	}
	return bytes.Clone(rest[2:min(len(rest), 2+16)]), true
}

// Write gathers p; flush sends it.
func (g *guard) Write(p []byte) (int, error) { return g.out.Write(p) }

func (g *guard) flush() error { return g.out.Flush() }

// closeWrite tells the peer that nothing more comes.
func (g *guard) closeWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return g.Conn.Close()
}

// deadlineWriter gives each chunk its own time, so that a large message to a slow reader is fine and a stalled reader is not.
type deadlineWriter struct {
	net.Conn
	timeout time.Duration
}

func (w deadlineWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) || len(p) == 0 {
		if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return done, err
		}
		n, err := w.Conn.Write(p[done:min(len(p), done+writeChunk)])
		done += n
		if err != nil || len(p) == 0 {
			return done, err
		}
	}
	return done, nil
}
