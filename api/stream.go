package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// deadAfter ends a connection on which nothing came for so long; the server
	// pings every 20 s.
	deadAfter = 60 * time.Second
	// writeWithin bounds the sending of a small message.
	writeWithin = 10 * time.Second
	// maxFrame bounds a frame of the server.
	maxFrame = 16 << 20
)

// Stream is the server's events of some topics, in order, each durable one once.
//
// It reconnects by itself and goes on after the last event it passed on, so a
// broken connection loses nothing and doubles nothing. It says FrameLost and
// FrameBack once each, and only where connecting anew fails at first; FrameReset
// where the server no longer keeps what was missed; FrameGone where a topic can't
// be followed.
type Stream struct {
	client *Client
	frames chan Frame
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	topics []string
	// position: every event up to it has been passed on; nil before the server
	// has said where "now" is.
	position *int64
	// behind: topics that were added at an earlier event than position, and how
	// far each has come, until the server says that it has caught up.
	behind map[string]int64
	// known: topics that were added with a GET, and its event: what comes up to
	// there is in it already.
	known map[string]int64
	conn  *websocket.Conn // nil unless subscribed
	err   error
}

// Open follows topics (TaskTopic, TopicMe, TopicPool) from the event after since,
// which is the seq of a GET; nil means from now on. It returns at once. The caller
// reads Frames until it is closed, and closes the Stream or ends ctx.
func (c *Client) Open(ctx context.Context, since *int64, topics ...string) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &Stream{
		client: c,
		frames: make(chan Frame, 64),
		cancel: cancel,
		done:   make(chan struct{}),
		topics: slices.Compact(slices.Sorted(slices.Values(topics))),
		behind: map[string]int64{},
		known:  map[string]int64{},
	}
	if since != nil {
		s.position = new(*since)
	}
	go s.run(ctx)
	return s
}

// Frames yields what comes. It is closed when the stream has ended; Err says why.
func (s *Stream) Frames() <-chan Frame { return s.frames }

// Err is why the stream ended by itself: a *Problem such as a refused token. It
// is nil while it runs and after Close.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the stream and waits until it has.
func (s *Stream) Close() {
	s.cancel()
	<-s.done
}

// Add follows further topics, from the event after since: the seq of the GET
// that the caller has just done. With nil they are followed from now on.
func (s *Stream) Add(since *int64, topics ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var added []string
	for _, topic := range topics {
		if slices.Contains(s.topics, topic) {
			continue
		}
		s.topics = append(s.topics, topic)
		added = append(added, topic)
		if since == nil {
			continue
		}
		s.known[topic] = *since
		if s.position == nil || *since < *s.position {
			s.behind[topic] = *since
		}
	}
	if len(added) > 0 {
		s.write(Change{Add: added, Since: since})
	}
}

// Drop follows topics no longer.
func (s *Stream) Drop(topics ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var dropped []string
	for _, topic := range topics {
		if s.forget(topic) {
			dropped = append(dropped, topic)
		}
	}
	if len(dropped) > 0 {
		s.write(Change{Drop: dropped})
	}
}

// forget takes a topic out; mu is held.
func (s *Stream) forget(topic string) bool {
	i := slices.Index(s.topics, topic)
	if i < 0 {
		return false
	}
	s.topics = slices.Delete(s.topics, i, i+1)
	delete(s.behind, topic)
	delete(s.known, topic)
	return true
}

// write sends a change if there is a connection; the next one starts with all
// topics anyway. mu is held, so changes arrive in the order they were made.
func (s *Stream) write(message any) {
	if s.conn == nil {
		return
	}
	s.conn.SetWriteDeadline(time.Now().Add(writeWithin))
	if err := s.conn.WriteJSON(message); err != nil {
		s.conn.Close() // the reader notices
	}
}

// run connects again and again.
func (s *Stream) run(ctx context.Context) {
	defer close(s.done)
	defer close(s.frames)
	defer s.cancel()
	var lostAt time.Time // zero while the server is there
	told := false
	retry := newBackoff()
	// heard is called with the first frame of a connection: one that is cut
	// before it brings anything is none.
	heard := func() bool {
		retry, lostAt = newBackoff(), time.Time{}
		if !told {
			return true
		}
		told = false
		return s.pass(ctx, Frame{Type: FrameBack, Time: time.Now()})
	}
	for ctx.Err() == nil {
		conn, err := s.dial(ctx)
		if err == nil {
			err = s.follow(ctx, conn, heard)
		}
		if ctx.Err() != nil {
			return
		}
		if p, ok := errors.AsType[*Problem](err); ok && p.Status < 500 && p.Status != http.StatusTooManyRequests {
			s.mu.Lock()
			s.err = p
			s.mu.Unlock()
			return
		}
		if lostAt.IsZero() {
			// Once more at once: any proxy may cut a connection, and that is no news.
			lostAt = time.Now()
			continue
		}
		if !told {
			why, _ := json.Marshal(err.Error())
			if !s.pass(ctx, Frame{Type: FrameLost, Time: lostAt, Data: why}) {
				return
			}
			told = true
		}
		// Many clients lose a server at the same moment; they needn't come back so.
		retry.next = retry.next/2 + rand.N(retry.next)
		if retry.wait(ctx) != nil {
			return
		}
	}
}

// dial opens the websocket.
func (s *Stream) dial(ctx context.Context) (*websocket.Conn, error) {
	dialer := websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		HandshakeTimeout: 10 * time.Second,
		NetDialContext:   (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}
	header := http.Header{}
	if s.client.token != "" {
		header.Set("Authorization", "Bearer "+s.client.token)
	}
	address := s.client.base + prefix + "/stream"
	if rest, ok := strings.CutPrefix(address, "http"); ok {
		address = "ws" + rest
	}
	conn, answer, err := dialer.DialContext(ctx, address, header)
	if err == nil {
		return conn, nil
	}
	if answer != nil && answer.Body != nil {
		defer answer.Body.Close()
		// Only our own server refuses for good; a proxy's 404 may be a server that starts anew.
		if strings.HasPrefix(answer.Header.Get("Content-Type"), ProblemType) {
			return nil, s.client.problem(ctx, answer)
		}
		err = errors.New(answer.Status)
	}
	return nil, s.client.lost(ctx, err)
}

// follow subscribes and reads until the connection ends. It calls heard when the
// first frame comes.
func (s *Stream) follow(ctx context.Context, conn *websocket.Conn, heard func() bool) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetReadLimit(maxFrame)
	conn.SetPingHandler(func(text string) error {
		conn.SetReadDeadline(time.Now().Add(deadAfter))
		err := conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeWithin))
		if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})

	since, starting := s.subscribe(conn)
	defer func() {
		s.mu.Lock()
		s.conn = nil
		s.mu.Unlock()
	}()
	last := since // seq of the durable frame before; nil: not known yet
	for first := true; ; first = false {
		conn.SetReadDeadline(time.Now().Add(deadAfter))
		var f Frame
		if err := conn.ReadJSON(&f); err != nil {
			return s.client.lost(ctx, err)
		}
		if first && !heard() {
			return ctx.Err()
		}
		switch {
		case f.Type == FrameReset && f.Topic == "":
			last = &f.Seq
		case f.Type == FrameReset, f.Type == FrameFollowing, f.Type == FrameGone:
		case f.Seq > 0:
			if last != nil && f.Prev != *last {
				return &Lost{URL: s.client.base, Err: fmt.Errorf("event %d should come after %d, not %d", f.Seq, f.Prev, *last)}
			}
			last = &f.Seq
		}
		if s.take(f, starting) && !s.pass(ctx, f) {
			return ctx.Err()
		}
	}
}

// subscribe sends the first message. It returns the event that is gone on from,
// and the topics that will have caught up once the server says so for all.
func (s *Stream) subscribe(conn *websocket.Conn) (since *int64, starting []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position != nil {
		since = new(*s.position)
		for _, at := range s.behind {
			*since = min(*since, at)
		}
	}
	s.conn = conn
	s.write(Subscribe{Since: since, Topics: slices.Clone(s.topics)})
	return since, slices.Clone(s.topics)
}

// take notes how far the stream has come and tells whether the frame is for the caller.
func (s *Stream) take(f Frame, starting []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Type {
	case FrameFollowing, FrameReset:
		if f.Topic != "" {
			delete(s.behind, f.Topic)
			return f.Type == FrameReset
		}
		for _, topic := range starting {
			delete(s.behind, topic)
		}
		if f.Type == FrameReset {
			clear(s.known) // a server that was set back may give the same seqs again
			s.position = new(f.Seq)
		} else if s.position == nil || *s.position < f.Seq {
			s.position = new(f.Seq)
		}
		return f.Type == FrameReset
	case FrameGone:
		return s.forget(f.Topic)
	}
	if f.Topic != "" && !slices.Contains(s.topics, f.Topic) {
		return false // dropped, but on its way already
	}
	if f.Seq == 0 {
		return true
	}
	if f.Seq <= s.known[f.Topic] {
		return false
	}
	at, behind := s.behind[f.Topic]
	if behind {
		if f.Seq <= at {
			return false
		}
		s.behind[f.Topic] = f.Seq
	} else if s.position != nil && f.Seq <= *s.position {
		return false // again, because another topic had to be fetched from further back
	}
	if s.position == nil || *s.position < f.Seq {
		s.position = new(f.Seq)
	}
	return true
}

// pass hands a frame to the caller, unless the stream ends.
func (s *Stream) pass(ctx context.Context, f Frame) bool {
	select {
	case s.frames <- f:
		return true
	case <-ctx.Done():
		return false
	}
}
