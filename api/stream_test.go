package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes are written by a server's goroutines and read by a test.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(sub Subscribe) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprint(since(sub), sub.Topics))
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, " ")
}

// script is a server of one stream: each connection is handed its subscription
// and a way to send, and ends when it returns.
type script []func(sub Subscribe, conn *websocket.Conn)

// play serves the script's connections in order; after the last one it refuses
// for good.
func play(t *testing.T, s script) *Client {
	connections := make(chan func(Subscribe, *websocket.Conn), len(s))
	for _, f := range s {
		connections <- f
	}
	close(connections)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := <-connections
		if !ok {
			w.Header().Set("Content-Type", ProblemType)
			w.WriteHeader(http.StatusUnauthorized)
			json.NewEncoder(w).Encode(Problem{Status: 401, Detail: "That was all."})
			return
		}
		if r.Header.Get("Authorization") != "Bearer token" || r.URL.RawQuery != "" {
			t.Errorf("asked with %v at %s", r.Header, r.URL)
		}
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		var sub Subscribe
		if err := conn.ReadJSON(&sub); err != nil {
			t.Error(err)
			return
		}
		f(sub, conn)
	}))
	t.Cleanup(server.Close)
	return New(server.URL+"/", "token")
}

func durable(seq, prev int64, topic string) Frame {
	return Frame{Seq: seq, Prev: prev, Type: "notice", Topic: topic}
}

func following(seq int64, topic string) Frame {
	return Frame{Type: FrameFollowing, Seq: seq, Topic: topic}
}

func send(conn *websocket.Conn, frames ...Frame) {
	for _, f := range frames {
		conn.WriteJSON(f)
	}
}

// collect reads a stream to its end.
func collect(s *Stream) string {
	var got []string
	for f := range s.Frames() {
		text := f.Type
		if f.Seq > 0 {
			text += fmt.Sprintf(" %d", f.Seq)
		}
		got = append(got, strings.TrimSpace(text+" "+f.Topic))
	}
	return strings.Join(got, ", ")
}

func since(sub Subscribe) int64 {
	if sub.Since == nil {
		return -1
	}
	return *sub.Since
}

func TestAStreamGoesOnWhereItWas(t *testing.T) {
	asked := &notes{}
	note := asked.add
	c := play(t, script{
		func(sub Subscribe, conn *websocket.Conn) { // cut in the replay
			note(sub)
			send(conn, durable(6, 5, "a"), durable(7, 6, "a"))
		},
		func(sub Subscribe, conn *websocket.Conn) { // a hole: 9 is missing
			note(sub)
			send(conn, durable(8, 7, "a"), following(8, ""), durable(10, 9, "a"))
			conn.ReadMessage() // until the client has left
		},
		func(sub Subscribe, conn *websocket.Conn) { // nothing for us, but time has passed
			note(sub)
			send(conn, durable(9, 8, "a"), durable(10, 9, "a"), following(20, ""))
		},
		func(sub Subscribe, conn *websocket.Conn) { // too long ago
			note(sub)
			send(conn, Frame{Type: FrameReset, Seq: 50}, following(50, ""), Frame{Type: "queue", Topic: "a", Key: "k"}, durable(51, 50, "a"))
		},
		func(sub Subscribe, conn *websocket.Conn) {
			note(sub)
			send(conn, Frame{Type: FrameGone, Topic: "a"}, following(51, ""))
		},
		func(sub Subscribe, conn *websocket.Conn) { note(sub); send(conn, following(51, "")) },
	})
	defer c.Close()
	s := c.Open(t.Context(), new(int64(5)), "b", "a", "a")
	got := collect(s)
	s.Close()
	if want := "notice 6 a, notice 7 a, notice 8 a, notice 9 a, notice 10 a, reset 50, queue a, notice 51 a, gone a"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := asked.String(), "5 [a b] 7 [a b] 8 [a b] 20 [a b] 51 [a b] 51 [b]"; got != want {
		t.Errorf("asked %s, not %s", got, want)
	}
	if err := s.Err(); !IsStatus(err, 401) || err.Error() != "That was all." {
		t.Errorf("ended with %v", err)
	}
}

func TestTopicsFromSeveralPlaces(t *testing.T) {
	added := make(chan struct{})
	asked := &notes{}
	c := play(t, script{
		func(sub Subscribe, conn *websocket.Conn) {
			send(conn, durable(10, 9, "a"), following(10, ""))
			<-added
			var change Change
			conn.ReadJSON(&change)
			asked.add(Subscribe{Since: change.Since, Topics: change.Add})
			send(conn, durable(11, 10, "a"), durable(5, 11, "b"), durable(6, 5, "b")) // and cut, before b has caught up
		},
		func(sub Subscribe, conn *websocket.Conn) { // so all topics are asked for from there
			asked.add(sub)
			send(conn, durable(7, 6, "b"), durable(8, 7, "a"), durable(9, 8, "b"), durable(11, 9, "a"), durable(12, 11, "b"), following(12, ""))
			var change Change
			conn.ReadJSON(&change) // c is added from an event that is still to come here
			send(conn, following(12, "c"), durable(13, 12, "c"), durable(14, 13, "a"), durable(15, 14, "c"))
			conn.ReadJSON(&change)
			send(conn, durable(16, 15, "a"), durable(17, 16, "b")) // a has been dropped just now
		},
		func(sub Subscribe, conn *websocket.Conn) {
			asked.add(sub)
			send(conn, following(17, ""))
		},
	})
	defer c.Close()
	s := c.Open(t.Context(), new(int64(9)), "a")
	defer s.Close()
	var got []string
	for f := range s.Frames() {
		got = append(got, fmt.Sprint(f.Seq, f.Topic))
		switch f.Seq {
		case 10:
			s.Add(new(int64(4)), "b", "a")
			close(added)
		case 12:
			s.Add(new(int64(13)), "c")
		case 15:
			s.Drop("a", "z")
		}
	}
	if want := "10a 11a 5b 6b 7b 9b 12b 14a 15c 17b"; strings.Join(got, " ") != want {
		t.Errorf("got %s, not %s", strings.Join(got, " "), want)
	}
	if got, want := asked.String(), "4 [b] 6 [a b] 17 [b c]"; got != want {
		t.Errorf("asked %s, not %s", got, want)
	}
}

func TestNowIsRemembered(t *testing.T) {
	asked := &notes{}
	c := play(t, script{
		func(sub Subscribe, conn *websocket.Conn) {
			asked.add(sub)
			send(conn, following(33, ""))
		},
		func(sub Subscribe, conn *websocket.Conn) {
			asked.add(sub)
			send(conn, durable(34, 33, "a"), following(34, ""))
		},
	})
	defer c.Close()
	s := c.Open(t.Context(), nil, "a")
	if got := collect(s); got != "notice 34 a" || asked.String() != "-1 [a] 33 [a]" {
		t.Errorf("got %s, asked %v", got, asked)
	}
	s.Close()
}

func TestACallerThatLeaves(t *testing.T) {
	c := play(t, script{func(sub Subscribe, conn *websocket.Conn) {
		for seq := int64(1); conn.WriteJSON(durable(seq, seq-1, "a")) == nil; seq++ {
		}
	}})
	defer c.Close()
	s := c.Open(t.Context(), new(int64(0)), "a")
	<-s.Frames() // and reads no more
	s.Close()
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	// Nobody there at all: it is said once.
	ctx, cancel := context.WithCancel(t.Context())
	lost := New("http://127.0.0.1:1", "").Open(ctx, nil, "a")
	if f := <-lost.Frames(); f.Type != FrameLost {
		t.Errorf("got %+v", f)
	}
	cancel()
	if got := collect(lost); got != "" {
		t.Errorf("then %s", got)
	}
}
