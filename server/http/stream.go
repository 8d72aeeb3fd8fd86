package http

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gorilla/websocket"

	"github.com/easeml/easeml/api"
)

const (
	maxMessage = 256 << 10 // of a client's: topics
	maxTopics  = 2000
)

// routeStream adds the event stream.
func (s *server) routeStream() {
	s.plain(huma.Operation{
		OperationID: "stream", Method: http.MethodGet, Path: prefix + "/stream",
		Summary: "Events, on a websocket",
		Description: `The first message is {"since": N or null, "topics": ["task:USER/NAME", "me", "pool"]}; later ones are ` +
			`{"add": [], "since": N, "drop": []}. Durable frames have seq and prev, the last seq sent on this connection. Transient ones are the ` +
			`latest of their type and key. {"type": "following", "seq"}: all up to there has been sent. {"type": "reset", "seq"}: what was asked ` +
			`for is no longer kept; GET again and go on from there. {"type": "gone", "topic"}: there is no such task, or no longer.`,
		Responses: map[string]*huma.Response{"101": {Description: "The websocket is open."}},
	}, s.stream)
}

// incoming is a client's message: the first one subscribes, later ones change.
type incoming struct {
	Since  *int64   `json:"since"`
	Topics []string `json:"topics"`
	Add    []string `json:"add"`
	Drop   []string `json:"drop"`
}

// stream follows the log for one client. It keeps a cursor and no queue: a
// client that reads slowly holds up nobody, and loses nothing.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{
		HandshakeTimeout: 10 * time.Second,
		CheckOrigin:      func(*http.Request) bool { return true }, // the gate has checked it
		Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			s.sendProblem(w, r, refuse(status, "", "A websocket was expected: %s.", reason))
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer conn.Close()

	messages := make(chan incoming)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		s.listen(ctx, conn, messages)
	}()
	f := &follower{server: s, user: caller(ctx), token: bearer(r), conn: conn}
	err = f.run(ctx, messages)
	if code := f.code; code != 0 {
		conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, err.Error()), time.Now().Add(time.Second))
	} else if ctx.Err() != nil {
		conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Second))
	}
	conn.Close()
	<-ended
}

// listen reads the client's messages and its pongs until the connection ends.
func (s *server) listen(ctx context.Context, conn *websocket.Conn, messages chan<- incoming) {
	conn.SetReadLimit(maxMessage)
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(s.deadAfter)) }
	alive("")
	conn.SetPongHandler(alive)
	for {
		_, text, err := conn.ReadMessage()
		if err != nil {
			return
		}
		alive("")
		var m incoming
		if json.Unmarshal(text, &m) != nil {
			conn.WriteControl(websocket.CloseMessage,
				websocket.FormatCloseMessage(websocket.CloseUnsupportedData, "a message is no JSON of the stream's form"), time.Now().Add(time.Second))
			return
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// send writes one frame; a client that takes none of it in time is dead.
func (f *follower) send(frame api.Frame, kind string) error {
	if frame.Time.IsZero() {
		frame.Time = f.server.Now().UTC()
	}
	f.conn.SetWriteDeadline(time.Now().Add(f.server.deadAfter))
	if err := f.conn.WriteJSON(frame); err != nil {
		return err
	}
	f.server.metrics.frames.WithLabelValues(kind).Inc()
	return nil
}
