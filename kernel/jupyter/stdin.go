package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// endOfInput is the answer by which a frontend says that there is none.
const endOfInput = "\x04"

// stdin asks one question at a time. An answer that comes while nobody waits, such as one typed after an interrupt, is dropped at once: the
// next question must not take it for its own. Answers are never logged or remembered, they may be passwords.
type stdin struct {
	codec  *codec
	bad    *rarely
	limits *limits
	router *router

	mu      sync.Mutex
	waiting *question
}

type question struct {
	identity string
	id       string // msg_id of the input_request
	answer   chan string
}

// ask sends a question to the frontend that r came from and waits for the answer.
func (s *stdin) ask(ctx context.Context, r *request, prompt string, password bool) (string, error) {
	near, cancel := context.WithTimeout(ctx, s.limits.stdin)
	err := s.router.await(near, r.identity)
	cancel()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%w: it has no connection for them", ErrNoStdin)
	}

	h := s.codec.newHeader("input_request")
	q := &question{identity: r.identity, id: h.ID, answer: make(chan string, 1)}
	s.mu.Lock()
	if s.waiting != nil {
		s.mu.Unlock()
		return "", fmt.Errorf("another question is waiting for its answer")
	}
	s.waiting = q
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.waiting = nil
		s.mu.Unlock()
	}()

	s.router.send(r.identity, s.codec.encode(r.idents, h, r.header, nil, mustJSON(inputRequest{prompt, password})))
	select {
	case a := <-q.answer:
		if a == endOfInput {
			return "", io.EOF
		}
		return a, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// receive takes what comes on the stdin socket. Frontends differ in whether an answer names its question as its parent.
func (s *stdin) receive(identity string, frames [][]byte) {
	m, err := s.codec.decode(frames)
	if err != nil {
		s.bad.warn("a message was dropped", "error", err)
		return
	}
	var a inputReply
	if m.kind != "input_reply" || json.Unmarshal(m.content, &a) != nil {
		s.bad.warn("a message was dropped: there are only answers on the stdin socket", "kind", m.kind)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.waiting
	if q == nil || q.identity != identity {
		return
	}
	if id := m.parentID(); id != "" && id != q.id {
		return
	}
	select {
	case q.answer <- a.Value:
	default: // answered already
	}
}
