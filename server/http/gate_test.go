package http

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// served are the routes that the document must list.
var served = []string{
	"GET /healthz", "GET /readyz", "GET /metrics", "GET /api/v1/openapi.json",
	"GET /api/v1/me", "GET /api/v1/server", "GET /api/v1/pool", "GET /api/v1/catalogue", "GET /api/v1/stream",
	"POST /api/v1/uploads", "HEAD /api/v1/uploads/{id}", "PATCH /api/v1/uploads/{id}",
	"GET /api/v1/tasks",
	"PUT /api/v1/tasks/{user}/{name}", "GET /api/v1/tasks/{user}/{name}", "PATCH /api/v1/tasks/{user}/{name}", "DELETE /api/v1/tasks/{user}/{name}",
	"GET /api/v1/tasks/{user}/{name}/feeds", "POST /api/v1/tasks/{user}/{name}/feeds", "GET /api/v1/tasks/{user}/{name}/feeds/{feed}",
	"GET /api/v1/tasks/{user}/{name}/feeds/{feed}/rejects",
	"GET /api/v1/tasks/{user}/{name}/examples", "PATCH /api/v1/tasks/{user}/{name}/examples", "GET /api/v1/tasks/{user}/{name}/versions",
	"GET /api/v1/tasks/{user}/{name}/candidates", "GET /api/v1/tasks/{user}/{name}/trials", "GET /api/v1/tasks/{user}/{name}/trials/{trial}",
	"POST /api/v1/tasks/{user}/{name}/trials/{trial}/stop", "GET /api/v1/tasks/{user}/{name}/decisions",
	"GET /api/v1/tasks/{user}/{name}/best", "POST /api/v1/tasks/{user}/{name}/infer", "POST /api/v1/tasks/{user}/{name}/studies", "POST /api/v1/proposals",
}

func TestTheDocumentListsEveryRoute(t *testing.T) {
	w := newWorld(t)
	status, header, body := w.ask("GET", "/api/v1/openapi.json", "", nil)
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]struct{ Content map[string]any }
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil || status != 200 || !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Fatalf("%d %s %v", status, header.Get("Content-Type"), err)
	}
	var listed []string
	for path, operations := range document.Paths {
		for method, o := range operations {
			listed = append(listed, strings.ToUpper(method)+" "+path)
			if _, ok := o.Responses["default"].Content[api.ProblemType]; !ok || o.OperationID == "" {
				t.Errorf("%s %s says no problem, or has no name", method, path)
			}
		}
	}
	slices.Sort(listed)
	want := slices.Sorted(slices.Values(served))
	if !slices.Equal(listed, want) {
		t.Errorf("listed\n%s\nnot\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
	if document.Components.Schemas["Problem"] == nil || document.Components.Schemas["ErrorModel"] != nil {
		t.Error("the schema of problems is not ours")
	}
	for reference := range strings.SplitSeq(body, `"$ref":"#/components/schemas/`) {
		name, _, _ := strings.Cut(reference, `"`)
		if !strings.HasPrefix(reference, "{") && document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %q", name)
		}
	}
}

func TestATokenIsWanted(t *testing.T) {
	var open atomic.Int64
	w := newWorld(t, func(s *server) { s.Activity = func(delta int) { open.Add(int64(delta)) } })
	for _, route := range served {
		method, path, _ := strings.Cut(route, " ")
		if public(path) {
			if status, _, _ := w.ask(method, path, "", nil); status != 200 {
				t.Errorf("%s without a token: %d", route, status)
			}
			continue
		}
		path = strings.NewReplacer("{user}", "alice", "{name}", "digits", "{feed}", "1", "{trial}", "1", "{id}", "1").Replace(path)
		for _, token := range []string{"", "eml_wrong", w.alice.token + "x"} {
			if status, header, _ := w.ask(method, path, token, nil); status != 401 || header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with token %q: %d", route, token, status)
			}
		}
	}
	// In the address a token counts nothing.
	if status, _, _ := w.ask("GET", "/api/v1/me?token="+w.alice.token, "", nil); status != 401 {
		t.Errorf("a token in the address: %d", status)
	}
	if status, _, _ := w.ask("GET", "/api/v1/nowhere", w.alice.token, nil); status != 404 {
		t.Errorf("nowhere: %d", status)
	}
	if status, header, body := w.ask("POST", "/api/v1/me", w.alice.token, nil); status != 405 || header.Get("Allow") == "" || !strings.Contains(body, "detail") {
		t.Errorf("a wrong method: %d %s", status, body)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d requests are counted as open", n)
	}
	if log := w.log.String(); strings.Contains(log, w.alice.token) || !strings.Contains(log, "/api/v1/nowhere") {
		t.Error("the log has a token, or no requests")
	}
	if status, _, body := w.ask("GET", "/metrics", "", nil); status != 200 || !strings.Contains(body, `easeml_http_requests_total{route="GET /api/v1/me",status="401"}`) {
		t.Errorf("metrics: %d\n%s", status, body)
	}
}

func TestOrigins(t *testing.T) {
	w := newWorld(t, func(s *server) { s.Origins = []string{"https://hub.example.org"} })
	for _, c := range []struct {
		origin string
		ok     bool
	}{
		{w.http.URL, true}, {"https://hub.example.org", true}, {"https://hub.example.org.evil.example", false},
		{"https://evil.example", false}, {"null", false}, {"http://127.0.0.1:1", false}, {"http://hub.example.org", false},
	} {
		status, _, body := w.ask("GET", "/api/v1/me", w.alice.token, nil, "Origin", c.origin)
		if (status == 200) != c.ok || !c.ok && status != 403 {
			t.Errorf("%s: %d %s", c.origin, status, body)
		}
		conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(w.http.URL, "http")+"/api/v1/stream",
			http.Header{"Origin": {c.origin}, "Authorization": {"Bearer " + w.alice.token}})
		if (err == nil) != c.ok || !c.ok && answer.StatusCode != 403 {
			t.Errorf("a stream of %s: %v", c.origin, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// TestForeignTasks asks every route for a task of somebody else: the answer is
// the same as for one that does not exist.
func TestForeignTasks(t *testing.T) {
	w := newWorld(t)
	task := w.searched(w.declare("digits"))
	upload, err := w.alice.client.Upload(t.Context(), "a.csv", strings.NewReader("a,b\n1,2\n"), 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.bob.client.Upload(t.Context(), "b.csv", strings.NewReader("a,b\n1,3\n"), 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]any{
		"PUT /api/v1/tasks/{user}/{name}":            api.Declare{Program: digits},
		"PATCH /api/v1/tasks/{user}/{name}":          api.PatchTask{Stopped: new(true)},
		"POST /api/v1/tasks/{user}/{name}/feeds":     api.NewFeed{Uploads: []string{own.ID}},
		"PATCH /api/v1/tasks/{user}/{name}/examples": api.PatchExamples{Off: []string{"1"}},
		"POST /api/v1/tasks/{user}/{name}/infer":     api.NewInfer{Uploads: []string{own.ID}},
		"POST /api/v1/tasks/{user}/{name}/studies":   api.NewStudy{Kind: api.StudySuspects},
	}
	before := fmt.Sprint(w.row(w.alice, "digits"))
	asked := 0
	for _, route := range served {
		if !strings.Contains(route, "{name}") {
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{user}", "alice", "{feed}", "1", "{trial}", "4").Replace(path)
		there, headerThere, bodyThere := w.ask(method, strings.Replace(path, "{name}", "digits", 1), w.bob.token, bodies[route])
		none, headerNone, bodyNone := w.ask(method, strings.Replace(path, "{name}", "nodigits", 1), w.bob.token, bodies[route])
		headerThere.Del("Date")
		headerNone.Del("Date")
		headerThere.Del("Content-Length")
		headerNone.Del("Content-Length")
		if there != 404 || none != 404 || strings.ReplaceAll(bodyNone, "nodigits", "digits") != bodyThere || fmt.Sprint(headerThere) != fmt.Sprint(headerNone) {
			t.Errorf("%s: %d %s %v\nfor none: %d %s %v", route, there, bodyThere, headerThere, none, bodyNone, headerNone)
		}
		asked++
	}
	if asked < 15 {
		t.Errorf("only %d routes were asked", asked)
	}
	if after := fmt.Sprint(w.row(w.alice, "digits")); after != before {
		t.Errorf("changed to %s", after)
	}
	// By its own id, a path that is no name, or on a list.
	for _, path := range []string{"/tasks/" + task.UserID + "/digits", "/tasks/alice/" + task.ID, "/tasks/bob/digits", "/tasks/bob/" + task.ID} {
		if status, _, _ := w.ask("GET", "/api/v1"+path, w.bob.token, nil); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, of := range []string{"", "all", "shared"} {
		if tasks, err := w.bob.client.Tasks(t.Context(), of); err != nil || len(tasks) != 0 {
			t.Errorf("tasks of %q: %+v, %v", of, tasks, err)
		}
	}
	// Uploads are their owner's, too.
	for _, method := range []string{"HEAD", "PATCH"} {
		if status, _, _ := w.ask(method, "/api/v1/uploads/"+upload.ID, w.bob.token, nil, api.UploadOffset, "0"); status != 404 {
			t.Errorf("%s a foreign upload: %d", method, status)
		}
	}
	if _, err := w.bob.client.Declare(t.Context(), "bob", "mine", api.Declare{Program: digits}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.bob.client.Feed(t.Context(), "bob", "mine", api.NewFeed{Uploads: []string{upload.ID}}); !api.IsStatus(err, 404) {
		t.Errorf("feeding a foreign upload: %v", err)
	}
	// Nor is content found by its hash: the server wants to see the bytes.
	if again, err := w.bob.client.Upload(t.Context(), "a.csv", strings.NewReader("a,b\n1,2\n"), 8, nil); err != nil || again.ID == upload.ID {
		t.Errorf("the same content: %+v, %v", again, err)
	}
	// An admin sees it.
	if tasks, err := w.admin.client.Tasks(t.Context(), "all"); err != nil || len(tasks) != 2 {
		t.Errorf("an admin sees %d tasks, %v", len(tasks), err)
	}
	if _, _, err := w.admin.client.Task(t.Context(), "alice", "digits"); err != nil {
		t.Errorf("an admin: %v", err)
	}
	if _, _, err := w.admin.client.Task(t.Context(), "nobody", "digits"); !api.IsStatus(err, 404) {
		t.Errorf("nobody's: %v", err)
	}
}

func TestAKeyHasOneEffect(t *testing.T) {
	w := newWorld(t)
	body := api.NewUpload{Name: "a.csv", Size: 5}
	post := func(key string, body any) (int, string) {
		status, _, text := w.ask("POST", "/api/v1/uploads", w.alice.token, body, api.IdempotencyKey, key)
		return status, text
	}
	answers := make([]string, 8)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			status, text := post("one", body)
			answers[i] = fmt.Sprint(status, text)
		})
	}
	wait.Wait()
	if first := answers[0]; !strings.HasPrefix(first, "201") || slices.ContainsFunc(answers, func(a string) bool { return a != first }) {
		t.Errorf("answers differ: %q", answers)
	}
	var begun []store.Upload
	w.read(func(r *store.Reader) (err error) { begun, err = r.UnfinishedUploads(w.server.Now()); return err })
	if len(begun) != 1 {
		t.Errorf("%d uploads were begun", len(begun))
	}
	if status, text := post("one", api.NewUpload{Name: "b.csv", Size: 5}); status != 422 {
		t.Errorf("the key with another request: %d %s", status, text)
	}
	if status, text := post("two", body); status != 201 || fmt.Sprint(status, text) == answers[0] {
		t.Errorf("another key: %d %s", status, text)
	}
	// A key is its user's.
	if status, _, text := w.ask("POST", "/api/v1/uploads", w.bob.token, body, api.IdempotencyKey, "one"); status != 201 || fmt.Sprint(status, text) == answers[0] {
		t.Errorf("another user's key: %d %s", status, text)
	}
	// An answer without a body, and a problem, come again as well.
	w.declare("digits")
	for range 2 {
		if status, _, text := w.ask("DELETE", "/api/v1/tasks/alice/digits", w.alice.token, nil, api.IdempotencyKey, "drop"); status != 204 || text != "" {
			t.Errorf("drop: %d %s", status, text)
		}
	}
	if status, _, _ := w.ask("DELETE", "/api/v1/tasks/alice/digits", w.alice.token, nil, api.IdempotencyKey, "again"); status != 404 {
		t.Errorf("drop with another key: %d", status)
	}
	w.declare("digits")
	if status, header, _ := w.ask("DELETE", "/api/v1/tasks/alice/digits", w.alice.token, nil, api.IdempotencyKey, "again"); status != 404 || header.Get("Content-Type") != api.ProblemType {
		t.Errorf("a problem again: %d", status)
	}
	if status, _ := post(strings.Repeat("k", maxKey+1), body); status != 400 {
		t.Errorf("a long key: %d", status)
	}
}

// slowRefine takes longer than a request may take to arrive.
type slowRefine struct {
	*search.Service
	takes time.Duration
}

func (s slowRefine) Refine(ctx context.Context, _ store.Task, _ search.Refinement) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(s.takes):
		return 1, nil
	}
}

func TestSlowHandlersAndSlowClients(t *testing.T) {
	w := newWorld(t, func(s *server) {
		s.bodyWithin = 50 * time.Millisecond
		s.Search = slowRefine{s.Search.(*search.Service), 4 * s.bodyWithin}
	})
	w.searched(w.declare("digits"))
	// The time for a client's request does not run on while it is worked on.
	if v, err := w.alice.client.Refine(t.Context(), "alice", "digits", api.PatchExamples{Off: []string{"1"}}); err != nil || v.Number != 1 {
		t.Errorf("a slow handler: %+v, %v", v, err)
	}
	conn, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/uploads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", w.alice.token)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a slow client: %+v, %v", answer, err)
	}
}

func FuzzNumbersOfExamples(f *testing.F) {
	for _, text := range []string{"1", "1..3", "all", "..", "-1..2", "1...3", "99999999999999999999..1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := numbers([]string{text, text}, store.Task{NextExample: 21})
		if err == nil && (len(list) > 20 || slices.Min(list) < 1 || slices.Max(list) > 20) {
			t.Errorf("%q names %v", text, list)
		}
	})
}

func FuzzAnswerLine(f *testing.F) {
	for line := range strings.Lines(answered) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"values":{"a":1}}`))
	f.Add([]byte(`{"values":[["a","b"],["a"]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var line answerLine
		if json.Unmarshal(text, &line) == nil {
			if _, err := json.Marshal(line.view()); err != nil {
				t.Error(err)
			}
		}
	})
}
