package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/store"
)

const (
	maxKey = 200
	// keepKeys is how long the answer to a key is given again.
	keepKeys = 24 * time.Hour
)

// once gives a write with an idempotency key one effect and one answer. Sending
// an upload's bytes is idempotent by its offset already, and infer, studies and proposals only read.
func (s *server) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(api.IdempotencyKey)
		if key == "" || r.Method == http.MethodGet || r.Method == http.MethodHead || isChunk(r) || strings.HasSuffix(r.URL.Path, "/infer") || strings.HasSuffix(r.URL.Path, "/studies") || strings.HasSuffix(r.URL.Path, "/proposals") {
			next.ServeHTTP(w, r)
			return
		}
		if err := s.onceWith(w, r, key, next); err != nil {
			s.sendProblem(w, r, err)
		}
	})
}

func (s *server) onceWith(w http.ResponseWriter, r *http.Request, key string, next http.Handler) error {
	if len(key) > maxKey {
		return refuse(http.StatusBadRequest, "", "An idempotency key has at most %d characters.", maxKey)
	}
	body, err := io.ReadAll(r.Body) // in memory: the gate has read it
	if err != nil {
		return err
	}
	hash := sha256.New()
	io.WriteString(hash, r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery+"\n")
	hash.Write(body)
	request := hex.EncodeToString(hash.Sum(nil))
	user := caller(r.Context())
	leave, err := s.flights.enter(r.Context(), user.ID+" "+key)
	if err != nil {
		return err
	}
	defer leave()
	var earlier store.Idempotent
	err = s.Store.Read(r.Context(), func(reader *store.Reader) (err error) {
		earlier, err = reader.Idempotent(user.ID, key)
		return err
	})
	switch {
	case err == nil && earlier.Request != request:
		return refuse(http.StatusUnprocessableEntity, "Use a key for one request only.", "This idempotency key came with another request before.")
	case err == nil:
		replay(w, earlier)
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	kept := &keeping{ResponseWriter: w}
	next.ServeHTTP(kept, r)
	if kept.status == 0 || kept.status >= 500 {
		return nil
	}
	// The effect has happened: also a client that has gone gets this answer when it asks again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	_, err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if s.flights.trimDue(tx.Now()) {
			if _, err := tx.TrimIdempotent(tx.Now().Add(-keepKeys)); err != nil {
				return err
			}
		}
		return tx.PutIdempotent(store.Idempotent{UserID: user.ID, Key: key, Request: request, Status: kept.status, Body: kept.body.Bytes()})
	})
	if err != nil {
		s.Log.Error("an answer could not be kept for its idempotency key", "error", err)
	}
	return nil
}

// replay gives an answer again.
func replay(w http.ResponseWriter, earlier store.Idempotent) {
	if len(earlier.Body) > 0 {
		kind := "application/json"
		if earlier.Status >= 400 {
			kind = api.ProblemType
		}
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(earlier.Status)
	w.Write(earlier.Body)
}

// keeping copies an answer.
type keeping struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *keeping) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeping) Write(p []byte) (int, error) {
	if k.status == 0 {
		k.status = http.StatusOK
	}
	k.body.Write(p)
	return k.ResponseWriter.Write(p)
}

func (k *keeping) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// flights lets requests with the same key run one after the other.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
	trimmed time.Time
}

type flight struct {
	turn  chan struct{} // holds one value while a request runs
	users int
}

// enter waits for the key's turn.
func (f *flights) enter(ctx context.Context, key string) (leave func(), err error) {
	f.mu.Lock()
	if f.running == nil {
		f.running = map[string]*flight{}
	}
	one := f.running[key]
	if one == nil {
		one = &flight{turn: make(chan struct{}, 1)}
		f.running[key] = one
	}
	one.users++
	f.mu.Unlock()
	done := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(f.running, key)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

// trimDue tells once an hour that old keys are to be forgotten.
func (f *flights) trimDue(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.trimmed) < time.Hour {
		return false
	}
	f.trimmed = now
	return true
}
