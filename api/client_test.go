package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/base/api/v1/me":
			w.Header().Set("Content-Type", ProblemType+"; charset=utf-8")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, `{"status":418,"detail":"No.","hint":"Tea?","where":{"file":"a.csv","row":3}}`)
		case "/base/api/v1/server":
			http.Error(w, "<html>", http.StatusBadGateway)
		case "/base/api/v1/pool":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		case "/base/api/v1/tasks":
			fmt.Fprint(w, "<html>hello</html>")
		case "/base/healthz":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"service":`)
		case "/base/api/v1/tasks/a b/x%2Fy/infer", "/base/api/v1/tasks/a b/x/y/infer":
			if r.URL.EscapedPath() != "/base/api/v1/tasks/a%20b/x%2Fy/infer" {
				t.Errorf("asked for %s", r.URL.EscapedPath())
			}
			fmt.Fprint(w, "\n{\"answer\":{\"source\":\"s\",\"row\":1}}\n")
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	}))
	defer server.Close()
	c := New(server.URL+"/base/", "t")
	defer c.Close()
	ctx := t.Context()
	_, err := c.Me(ctx)
	p, ok := errors.AsType[*Problem](err)
	if !ok || p.Status != 418 || p.Error() != "No. Tea?" || *p.Where.Row != 3 || IsLost(err) {
		t.Errorf("a problem: %v", err)
	}
	if _, err := c.Server(ctx); !IsLost(err) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("a proxy without a server: %v", err)
	}
	if _, err := c.Pool(ctx); !IsStatus(err, http.StatusFound) {
		t.Errorf("a redirect: %v", err)
	}
	if _, err := c.Tasks(ctx, "all"); !IsStatus(err, 200) || !strings.Contains(err.Error(), "not what an easeml server says") {
		t.Errorf("a page: %v", err)
	}
	if _, err := c.Health(ctx); !IsLost(err) {
		t.Errorf("cut in the middle: %v", err)
	}
	n := 0
	if _, err := c.Infer(ctx, "a b", "x/y", NewInfer{}, func(Answer) error { n++; return nil }); !IsLost(err) || n != 1 {
		t.Errorf("answers without an end: %v after %d", err, n)
	}
	full := errors.New("the disk is full")
	if _, err := c.Infer(ctx, "a b", "x/y", NewInfer{}, func(Answer) error { return full }); err != full {
		t.Errorf("the caller's own error: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Me(done); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	nobody := New("http://127.0.0.1:1", "")
	if _, err := nobody.Me(ctx); !IsLost(err) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := New("::", "").Me(ctx); err == nil || IsLost(err) {
		t.Errorf("no address: %v", err)
	}
}
