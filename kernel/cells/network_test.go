package cells

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
)

// interruptedAt runs a cell, interrupts it once begun is closed, and gives its failure.
func interruptedAt(t *testing.T, c *Cells, code string, begun <-chan struct{}) *jupyter.Failure {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(ctx, jupyter.ExecuteRequest{Code: code, Out: &recorder{}, Prompt: &person{}})
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		t.Fatalf("%s ended by itself: %v", code, err)
	}
	cancel(jupyter.ErrInterrupted)
	select {
	case err := <-done:
		f, ok := errors.AsType[*jupyter.Failure](err)
		if !ok {
			t.Fatalf("%s: %v", code, err)
		}
		return f
	case <-time.After(30 * time.Second):
		t.Fatalf("%s can't be interrupted", code)
		return nil
	}
}

// A cell that waits for the network is interrupted in whatever it waits for: a server that is looked for, its answer, a transfer, a stream of
// answers. The kernel works on afterwards.
func TestInterruptedOnTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.task("digits")
	w.file("a.csv", "a,kind\n"+strings.Repeat("1,x\n", 1<<16))
	for _, x := range []struct{ name, code, method, path string }{
		{"who am I", "tasks", "GET", "/api/v1/me"},
		{"a list", "tasks", "GET", "/api/v1/tasks"},
		{"a task", "best digits", "GET", "/api/v1/tasks/alice/digits"},
		{"a declaration", "schema digits " + program, "PUT", "/api/v1/tasks/alice/digits"},
		{"a transfer", `feed digits "a.csv"`, "PATCH", "/api/v1/uploads/"},
		{"a feed", `feed digits "a.csv"`, "POST", "/api/v1/tasks/alice/digits/feeds"},
		{"answers", `infer digits "a.csv"`, "POST", "/api/v1/tasks/alice/digits/infer"},
		{"a value", "digits.quality", "GET", "/api/v1/tasks/alice/digits"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, stuck, begun := w.sticking(t, func(q *http.Request) bool {
				return q.Method == x.method && strings.HasPrefix(q.URL.Path, x.path)
			})
			stuck.Store(true)
			if f := interruptedAt(t, c, x.code, begun); f.Name != interrupted {
				t.Errorf("%s: %s", f.Name, f.Value)
			}
			contains(t, run(t, c, "tasks").text(), "digits")
		})
	}

	t.Run("a server that is looked for", func(t *testing.T) {
		begun := make(chan struct{})
		c := New(Config{Connect: func(ctx context.Context, _ string) (*api.Client, Found, error) {
			close(begun)
			<-ctx.Done()
			return nil, Found{}, ctx.Err()
		}})
		defer c.Close()
		if f := interruptedAt(t, c, "tasks", begun); f.Name != interrupted {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	})

	t.Run("a connection that says nothing", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		begun := make(chan struct{})
		go func() {
			if conn, err := ln.Accept(); err == nil {
				close(begun)
				defer conn.Close()
				<-t.Context().Done()
			}
		}()
		c := New(Config{Connect: func(context.Context, string) (*api.Client, Found, error) {
			return api.New("http://"+ln.Addr().String(), ""), Found{}, nil
		}})
		defer c.Close()
		if f := interruptedAt(t, c, "tasks", begun); f.Name != interrupted {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	})
}

// Completion and inspection answer from what was seen last while the server lets the newest list wait.
func TestCompletionDoesNotWait(t *testing.T) {
	w := newWorld(t)
	w.task("digits")
	c, stuck, begun := w.sticking(t, func(q *http.Request) bool { return q.URL.Path == "/api/v1/tasks" })
	run(t, c, "best digits")
	c.names.work.Wait() // the look that a statement leaves behind
	c.names.mu.Lock()
	c.names.at = time.Time{} // what is known is old
	c.names.mu.Unlock()
	stuck.Store(true)
	for range 2 {
		if got := c.Complete(t.Context(), "best d", 6).Matches; len(got) != 1 || got[0] != "digits" {
			t.Errorf("%v", got)
		}
		if _, ok := c.Inspect(t.Context(), "best digits", 6, 1); !ok {
			t.Error("the task can't be inspected")
		}
		<-begun // the server has the question, and keeps it
	}
}

// sticking gives cells whose server, once stuck is set, leaves the first request that it is asked about without an answer;
// begun is closed when it has come.
func (w *world) sticking(t *testing.T, at func(*http.Request) bool) (c *Cells, stuck *atomic.Bool, begun chan struct{}) {
	t.Helper()
	begun, stuck = make(chan struct{}), new(atomic.Bool)
	release := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(r http.ResponseWriter, q *http.Request) {
		if at(q) && stuck.CompareAndSwap(true, false) {
			close(begun)
			<-release
			return
		}
		w.http.Config.Handler.ServeHTTP(r, q)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(func() { close(release) })
	c = New(Config{Folder: w.folder, Connect: func(context.Context, string) (*api.Client, Found, error) {
		return api.New(front.URL, ""), Found{URL: front.URL}, nil
	}})
	t.Cleanup(c.Close)
	return c, stuck, begun
}
