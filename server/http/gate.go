package http

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/store"
)

type callerKey struct{}

// caller is who a request comes from: the gate lets no other in.
func caller(ctx context.Context) store.User {
	user, _ := ctx.Value(callerKey{}).(store.User)
	return user
}

// bearer is the request's token, "" if it has none.
func bearer(r *http.Request) string {
	kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// public are the paths that need no token.
func public(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/metrics", prefix + "/openapi.json":
		return true
	}
	return false
}

// handler is the mux behind the gate.
func (s *server) handler() http.Handler {
	behind := s.once(s.mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		watched := &watched{ResponseWriter: w}
		route, user := "none", store.User{}
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler {
				s.Log.Error("a handler broke down", "route", route, "fault", fault)
				if watched.status == 0 {
					s.sendProblem(watched, r, refuse(http.StatusInternalServerError, "", "The server made a mistake; its log tells more."))
				}
			}
			s.note(r, route, user, watched, time.Since(began))
			if fault == http.ErrAbortHandler {
				panic(fault)
			}
		}()
		target, pattern := s.mux.Handler(r)
		if pattern != "" {
			route = pattern
		}
		if public(r.URL.Path) {
			s.mux.ServeHTTP(watched, r)
			return
		}
		if !s.originAllowed(r) {
			s.sendProblem(watched, r, refuse(http.StatusForbidden, "Its admin can allow it.",
				"Pages of %s may not talk to this server.", r.Header.Get("Origin")))
			return
		}
		var err error
		if user, err = s.authenticate(r); err != nil {
			watched.Header().Set("WWW-Authenticate", "Bearer")
			s.sendProblem(watched, r, err)
			return
		}
		s.Activity(+1)
		defer s.Activity(-1)
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, user))
		if pattern == "" {
			s.notFound(watched, r, target)
			return
		}
		if !isChunk(r) {
			if err = s.readBody(watched, r); err != nil {
				s.sendProblem(watched, r, err)
				return
			}
		}
		behind.ServeHTTP(watched, r)
	})
}

// isChunk tells whether a request carries bytes of an upload, which may be many.
func isChunk(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, prefix+"/uploads/")
}

// readBody reads a request's body, which is small, so that no handler waits for
// a client.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(s.bodyWithin))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.Header().Set("Connection", "close")
		return refuse(http.StatusRequestTimeout, "", "The request did not arrive within %s.", s.bodyWithin)
	}
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return err
		}
		return refuse(http.StatusBadRequest, "", "The request broke off.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return control.SetReadDeadline(time.Time{})
}

func (s *server) authenticate(r *http.Request) (store.User, error) {
	token := bearer(r)
	if token == "" {
		return store.User{}, refuse(http.StatusUnauthorized, "Set EASEML_TOKEN, or ask this server's admin for a token.",
			"This server wants a token.")
	}
	user, err := s.Accounts.Authenticate(r.Context(), token)
	if errors.Is(err, account.ErrToken) {
		return store.User{}, refuse(http.StatusUnauthorized, "Ask this server's admin for another one.",
			"This server does not know your token: it is mistyped, revoked, or another server's.")
	}
	return user, err
}

// originAllowed lets programs in, which send no Origin, and pages of this very
// server or of an allowed one.
func (s *server) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	origin, err := url.Parse(origins[0])
	if err != nil || origin.Host == "" {
		return false
	}
	return strings.EqualFold(origin.Host, r.Host) || slices.Contains(s.Origins, origins[0])
}

// notFound words what the mux says about a path or method that isn't served.
func (s *server) notFound(w http.ResponseWriter, r *http.Request, target http.Handler) {
	said := &discard{header: http.Header{}}
	target.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", said.header.Get("Allow"))
		s.sendProblem(w, r, refuse(said.status, "", "%s takes no %s, only %s.", r.URL.Path, r.Method, said.header.Get("Allow")))
		return
	}
	s.sendProblem(w, r, refuse(http.StatusNotFound, "", "There is nothing at %s.", r.URL.Path))
}

// note logs and counts an answered request. Neither headers nor the query are
// ever logged.
func (s *server) note(r *http.Request, route string, user store.User, w *watched, took time.Duration) {
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	if !w.hijacked {
		s.metrics.answered(route, status, took)
	}
	level := slog.LevelInfo
	switch {
	case status >= 500:
		level = slog.LevelWarn
	case status < 400 && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.Path, "status", status,
		"user", user.ID, "bytes", w.bytes, "seconds", took.Seconds())
}

// watched remembers what was answered.
type watched struct {
	http.ResponseWriter
	status   int
	bytes    int64
	hijacked bool
}

func (w *watched) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack is for the websocket.
func (w *watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status, w.hijacked = http.StatusSwitchingProtocols, true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// discard takes an answer that is only looked at.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
