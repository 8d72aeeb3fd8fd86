package cells

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
)

// world is a server that speaks the protocol and does what a test tells it.
type world struct {
	t      *testing.T
	http   *httptest.Server
	folder string

	mu       sync.Mutex
	views    map[string]*api.View
	seq      int64
	streams  map[*websocket.Conn]int64
	uploads  map[string]int64
	names    map[string]string
	onFeed   func(f api.NewFeed) api.Feed // nil: ends at once with three examples
	feed     api.Feed
	lines    []api.InferLine
	asked    api.NewInfer
	refined  api.PatchExamples
	versions []api.Version
	found    api.Findings
	pool     api.Pool
	looks    int // GETs of a task
	down     bool
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, folder: t.TempDir(), views: map[string]*api.View{}, streams: map[*websocket.Conn]int64{}, uploads: map[string]int64{}, names: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/me", func(r http.ResponseWriter, _ *http.Request) { w.answer(r, api.Me{User: "alice", Role: "user"}) })
	mux.HandleFunc("GET /api/v1/server", func(r http.ResponseWriter, _ *http.Request) { w.answer(r, api.Server{Version: "1", Private: true}) })
	mux.HandleFunc("GET /api/v1/tasks", w.listTasks)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}", w.getTask)
	mux.HandleFunc("PUT /api/v1/tasks/{user}/{name}", w.putTask)
	mux.HandleFunc("PATCH /api/v1/tasks/{user}/{name}", w.patchTask)
	mux.HandleFunc("DELETE /api/v1/tasks/{user}/{name}", w.dropTask)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/best", w.getBest)
	mux.HandleFunc("POST /api/v1/tasks/{user}/{name}/feeds", w.postFeed)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/feeds/{n}", func(r http.ResponseWriter, _ *http.Request) { w.answer(r, w.feed) })
	mux.HandleFunc("POST /api/v1/tasks/{user}/{name}/infer", w.infer)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/decisions", w.listDecisions)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/trials/{n}", func(r http.ResponseWriter, q *http.Request) {
		w.answer(r, api.Trial{Number: 2, Candidate: "knn.k5", Label: "kNN, k = 5", State: "ok", Seconds: 0.1})
	})
	mux.HandleFunc("GET /api/v1/pool", func(r http.ResponseWriter, _ *http.Request) { w.answer(r, w.pool) })
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/examples", w.listExamples)
	mux.HandleFunc("PATCH /api/v1/tasks/{user}/{name}/examples", w.patchExamples)
	mux.HandleFunc("GET /api/v1/tasks/{user}/{name}/versions", func(r http.ResponseWriter, _ *http.Request) { w.answer(r, w.versions) })
	mux.HandleFunc("POST /api/v1/tasks/{user}/{name}/studies", func(r http.ResponseWriter, q *http.Request) {
		if _, ok := w.find(r, q); ok {
			w.answer(r, api.StudyLine{Progress: &api.StudyProgress{Step: 1, Of: 5, Unit: "fit"}})
			io.WriteString(r, "\n")
			json.NewEncoder(r).Encode(api.StudyLine{Done: &w.found})
		}
	})
	mux.HandleFunc("POST /api/v1/uploads", w.newUpload)
	mux.HandleFunc("PATCH /api/v1/uploads/{id}", w.patchUpload)
	mux.HandleFunc("GET /api/v1/stream", w.stream)
	w.http = httptest.NewServer(http.HandlerFunc(func(r http.ResponseWriter, q *http.Request) {
		w.mu.Lock()
		down := w.down
		w.mu.Unlock()
		if down {
			r.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(r, q)
	}))
	t.Cleanup(func() {
		w.closeStreams()
		w.http.Close()
	})
	return w
}

func (w *world) answer(r http.ResponseWriter, v any) {
	w.mu.Lock()
	seq := w.seq
	text, err := json.Marshal(v)
	w.mu.Unlock()
	if err != nil {
		w.t.Error(err)
	}
	r.Header().Set(api.SeqHeader, strconv.FormatInt(seq, 10))
	r.Header().Set("Content-Type", "application/json")
	r.Write(text)
}

func refuse(r http.ResponseWriter, status int, detail, hint string) {
	r.Header().Set("Content-Type", api.ProblemType)
	r.WriteHeader(status)
	json.NewEncoder(r).Encode(api.Problem{Status: status, Detail: detail, Hint: hint})
}

func (w *world) listTasks(r http.ResponseWriter, q *http.Request) {
	list := []api.Task{}
	w.mu.Lock()
	for _, v := range w.views {
		if v.User == "alice" && q.URL.Query().Get("of") != "shared" {
			list = append(list, v.Task)
		}
	}
	w.mu.Unlock()
	w.answer(r, list)
}

// find looks a task up, and refuses where there is none.
func (w *world) find(r http.ResponseWriter, q *http.Request) (api.View, bool) {
	w.mu.Lock()
	v, ok := w.views[q.PathValue("user")+"/"+q.PathValue("name")]
	var view api.View
	if ok {
		view = *v
		view.Now = time.Now()
	}
	w.mu.Unlock()
	if !ok {
		refuse(r, http.StatusNotFound, "There is no such task.", "")
	}
	return view, ok
}

func (w *world) getTask(r http.ResponseWriter, q *http.Request) {
	w.mu.Lock()
	w.looks++
	w.mu.Unlock()
	if v, ok := w.find(r, q); ok {
		w.answer(r, v)
	}
}

func (w *world) putTask(r http.ResponseWriter, q *http.Request) {
	var d api.Declare
	json.NewDecoder(q.Body).Decode(&d)
	key := q.PathValue("user") + "/" + q.PathValue("name")
	w.mu.Lock()
	out := api.Declared{Outcome: "created", Count: api.CatalogCount{Light: 13, Deep: 9}}
	if old, ok := w.views[key]; ok {
		out.Outcome = "same"
		if old.Program != d.Program {
			w.mu.Unlock()
			refuse(r, http.StatusConflict, "digits exists already. Nothing was changed.", "")
			return
		}
		out.View = *old
	} else {
		out.View = api.View{Task: api.Task{User: q.PathValue("user"), Name: q.PathValue("name"), Program: d.Program, Options: d.Options,
			Description: "numbers → one of 2 classes", State: api.TaskDeclared, Metric: api.Metric{Name: "accuracy"}}}
		v := out.View
		w.views[key] = &v
	}
	w.mu.Unlock()
	w.answer(r, out)
}

func (w *world) patchTask(r http.ResponseWriter, q *http.Request) {
	var p api.PatchTask
	json.NewDecoder(q.Body).Decode(&p)
	w.change(q.PathValue("name"), func(v *api.View) { v.Stopped = *p.Stopped })
	if v, ok := w.find(r, q); ok {
		w.answer(r, v)
	}
}

func (w *world) dropTask(r http.ResponseWriter, q *http.Request) {
	if _, ok := w.find(r, q); !ok {
		return
	}
	w.mu.Lock()
	delete(w.views, q.PathValue("user")+"/"+q.PathValue("name"))
	w.mu.Unlock()
	r.WriteHeader(http.StatusNoContent)
}

func (w *world) getBest(r http.ResponseWriter, q *http.Request) {
	if v, ok := w.find(r, q); ok {
		w.answer(r, api.Report{Task: v.Task, Best: v.Best})
	}
}

// listDecisions tells the one decision of a task that has a model.
func (w *world) listDecisions(r http.ResponseWriter, q *http.Request) {
	v, ok := w.find(r, q)
	if !ok {
		return
	}
	list := []api.Decision{}
	if c := q.URL.Query().Get("candidate"); v.Best != nil && (c == "" || c == "knn.k5") {
		reason, _ := json.Marshal(api.Reason{Policy: "default", Turn: "rate share=1 searches=1", Mean: 0.9, SD: 0.1, Seconds: 2, Best: 0.5, Gain: 0.4, Chance: 0.9, Device: "cpu0",
			Rivals: []api.Rival{{Candidate: "tree", Mean: 0.8, SD: 0.1, Gain: 0.3, Chance: 0.8, Seconds: 9}}})
		list = append(list, api.Decision{Trial: 2, Candidate: "knn.k5", Label: "kNN, k = 5", Time: time.Now(), Reason: reason})
	}
	w.answer(r, list)
}

// listExamples lists as many examples as the task has; those that are off come first.
func (w *world) listExamples(r http.ResponseWriter, q *http.Request) {
	v, ok := w.find(r, q)
	if !ok {
		return
	}
	after, _ := strconv.Atoi(q.URL.Query().Get("after"))
	limit, _ := strconv.Atoi(q.URL.Query().Get("limit"))
	list := []api.Example{}
	for n := after + 1; n <= v.Examples+v.Off && len(list) < limit; n++ {
		e := api.Example{Number: n, Part: "train", Label: "x", On: n > v.Off, Source: "a.csv", Row: int64(n)}
		if q.URL.Query().Get("content") == "true" {
			e.Content = []api.Content{{Field: "a", Kind: api.ContentNumbers, Numbers: []*float64{new(float64(n) / 2)}}}
		}
		if q.URL.Query().Get("state") != "off" || !e.On {
			list = append(list, e)
		}
	}
	w.answer(r, list)
}

// patchExamples switches off as many as there are texts, all of them for "all".
func (w *world) patchExamples(r http.ResponseWriter, q *http.Request) {
	if _, ok := w.find(r, q); !ok {
		return
	}
	w.mu.Lock()
	w.refined = api.PatchExamples{}
	json.NewDecoder(q.Body).Decode(&w.refined)
	n, all := len(w.refined.Off)-len(w.refined.On), strings.Join(w.refined.Off, "") == "all"
	w.mu.Unlock()
	made := api.Version{Cause: "refine", By: "alice"}
	w.change(q.PathValue("name"), func(v *api.View) {
		if all {
			n = v.Examples
		}
		if made.Number = v.Version; n == 0 && len(w.refined.Labels) == 0 {
			return
		}
		v.Version, v.Examples, v.Off = v.Version+1, v.Examples-n, v.Off+n
		made.Number, made.Changes = v.Version, &api.Changes{On: make([]int, max(0, -n)), Off: make([]int, max(0, n)), Suspects: w.refined.Suspects}
		for _, c := range w.refined.Labels {
			made.Changes.Labels = append(made.Changes.Labels, make([]api.Relabel, len(c.Examples))...)
		}
	})
	w.mu.Lock()
	if made.Changes != nil {
		w.versions = append(w.versions, made)
	}
	w.mu.Unlock()
	w.answer(r, made)
}

func (w *world) newUpload(r http.ResponseWriter, q *http.Request) {
	var n api.NewUpload
	json.NewDecoder(q.Body).Decode(&n)
	w.mu.Lock()
	id := fmt.Sprint(len(w.uploads) + 1)
	w.uploads[id], w.names[id] = n.Size, n.Name
	w.mu.Unlock()
	w.answer(r, api.Upload{ID: id, Size: n.Size})
}

func (w *world) patchUpload(r http.ResponseWriter, q *http.Request) {
	text, _ := io.ReadAll(q.Body)
	at, _ := strconv.ParseInt(q.Header.Get(api.UploadOffset), 10, 64)
	r.Header().Set(api.UploadOffset, strconv.FormatInt(at+int64(len(text)), 10))
	r.WriteHeader(http.StatusNoContent)
}

func (w *world) postFeed(r http.ResponseWriter, q *http.Request) {
	var n api.NewFeed
	json.NewDecoder(q.Body).Decode(&n)
	feed := api.Feed{Number: 1, State: "ended", Accepted: 3, Version: 1}
	if w.onFeed != nil {
		feed = w.onFeed(n)
	}
	for _, id := range n.Uploads {
		feed.Sources = append(feed.Sources, w.names[id])
	}
	w.mu.Lock()
	w.feed = feed
	w.mu.Unlock()
	if feed.State == "ended" {
		w.change(q.PathValue("name"), func(v *api.View) { v.Examples, v.Version, v.State, v.Candidates = 3, 1, api.TaskSearching, 22 })
	}
	w.answer(r, feed)
}

func (w *world) infer(r http.ResponseWriter, q *http.Request) {
	w.mu.Lock()
	json.NewDecoder(q.Body).Decode(&w.asked)
	lines := w.lines
	w.mu.Unlock()
	r.Header().Set("Content-Type", api.NDJSONType)
	for _, l := range lines {
		json.NewEncoder(r).Encode(l)
	}
}

func (w *world) stream(r http.ResponseWriter, q *http.Request) {
	conn, err := (&websocket.Upgrader{}).Upgrade(r, q, nil)
	if err != nil {
		return
	}
	var s api.Subscribe
	if conn.ReadJSON(&s) != nil {
		return
	}
	w.mu.Lock()
	since := w.seq
	if s.Since != nil {
		since = *s.Since
	}
	w.streams[conn] = since
	conn.WriteJSON(api.Frame{Type: api.FrameFollowing, Seq: w.seq})
	// What came between the GET and now is told once more: a look does no harm.
	for _, topic := range s.Topics {
		if since < w.seq {
			conn.WriteJSON(api.Frame{Seq: w.seq, Prev: since, Type: api.EventTaskChanged, Topic: topic})
			w.streams[conn] = w.seq
		}
	}
	w.mu.Unlock()
	for {
		var c api.Change
		if conn.ReadJSON(&c) != nil {
			w.mu.Lock()
			delete(w.streams, conn)
			w.mu.Unlock()
			return
		}
		w.mu.Lock()
		for _, topic := range c.Add {
			conn.WriteJSON(api.Frame{Type: api.FrameFollowing, Topic: topic, Seq: w.seq})
		}
		w.mu.Unlock()
	}
}

// closeStreams cuts all connections.
func (w *world) closeStreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.streams {
		c.Close()
	}
}

// change changes a task and tells all who listen.
func (w *world) change(name string, f func(*api.View)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.views["alice/"+name]
	if !ok {
		return
	}
	f(v)
	w.tell(api.EventTaskChanged, name, nil)
}

// tell sends a durable event; mu is held.
func (w *world) tell(kind, name string, data any) {
	w.seq++
	text, _ := json.Marshal(data)
	for c, prev := range w.streams {
		c.WriteJSON(api.Frame{Seq: w.seq, Prev: prev, Time: time.Now(), Type: kind, Topic: api.TaskTopic("alice", name), Data: text})
		w.streams[c] = w.seq
	}
}

// whisper sends a transient event.
func (w *world) whisper(kind, name string, data any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, _ := json.Marshal(data)
	for c := range w.streams {
		c.WriteJSON(api.Frame{Time: time.Now(), Type: kind, Topic: api.TaskTopic("alice", name), Key: "1", Data: text})
	}
}

// listening waits until somebody follows events.
func (w *world) listening() {
	w.t.Helper()
	await(w.t, "somebody follows", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.streams) > 0
	})
}

// await waits for something that happens on other goroutines.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// task puts a task with examples and a model into the world.
func (w *world) task(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &api.View{Task: api.Task{User: "alice", Name: name, Program: "{input: {[a :: Tensor[1]], []}, output: {[kind :: Class[2]], []}}",
		Description: "a number → one of 2 classes", State: api.TaskSearching, Version: 1, Examples: 300, Labels: []string{"x", "y"},
		Metric: api.Metric{Name: "accuracy"}, Guess: &api.Guess{Text: `always "x"`, Quality: 0.5}, Candidates: 22, Tried: 3, Running: 1}}
	est := func(right, n int) api.Estimate {
		q := float64(right) / float64(n)
		return api.Estimate{Value: q, Low: q - 0.03, High: min(1, q+0.02), N: n, Right: &right}
	}
	test := est(58, 60)
	v.Best = &api.Best{Trial: 2, Candidate: "knn.k5", Label: "kNN, k = 5", Family: "knn", Version: 1, Seconds: 0.1, Search: est(95, 100), Test: &test}
	trial, secs, search := 2, 0.1, est(95, 100)
	v.Rows = []api.Row{{Candidate: "knn.k5", Label: "kNN, k = 5", State: "ok", Trial: &trial, Search: &search, Seconds: &secs}, {Candidate: "tree", Label: "tree", State: "open"}}
	v.Curve = []api.Point{{Time: time.Now(), Trial: 2, Label: "kNN, k = 5", Quality: 0.95, Best: 0.95, Candidate: "knn.k5"}}
	w.views["alice/"+name] = v
}

// cells makes a kernel's handler for the world.
func (w *world) cells() *Cells {
	c := New(Config{Folder: w.folder, Connect: func(context.Context, string) (*api.Client, Found, error) {
		return api.New(w.http.URL, ""), Found{URL: w.http.URL, Private: true}, nil
	}})
	w.t.Cleanup(c.Close)
	return c
}

func (w *world) file(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.folder, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// recorder is a Sink that keeps what it is given.
type recorder struct {
	mu      sync.Mutex
	outputs []output
	updates map[string]int
	stdout  bytes.Buffer
	stderr  bytes.Buffer
	results []string
	clears  int
}

type output struct {
	id     string
	bundle jupyter.Bundle
}

func (r *recorder) Stream(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "stderr" {
		r.stderr.WriteString(text)
	} else {
		r.stdout.WriteString(text)
	}
}

func (r *recorder) Display(b jupyter.Bundle, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outputs = append(r.outputs, output{id, b})
}

func (r *recorder) Update(b jupyter.Bundle, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.updates == nil {
		r.updates = map[string]int{}
	}
	r.updates[id]++
	for i := range r.outputs {
		if r.outputs[i].id == id {
			r.outputs[i].bundle = b
		}
	}
}

func (r *recorder) Result(b jupyter.Bundle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, textOf(b))
}

func (r *recorder) Clear(bool) { r.clears++ }

// text is everything that stands there now.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, o := range r.outputs {
		all = append(all, textOf(o.bundle))
	}
	return strings.Join(all, "\n")
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, k := range r.updates {
		n += k
	}
	return n
}

// person answers questions.
type person struct{ says []string }

func (p *person) Input(context.Context, string, bool) (string, error) {
	if len(p.says) == 0 {
		return "", jupyter.ErrNoStdin
	}
	a := p.says[0]
	p.says = p.says[1:]
	return a, nil
}

// run runs a cell that has to succeed.
func run(t *testing.T, c *Cells, code string, says ...string) *recorder {
	t.Helper()
	r := &recorder{}
	if _, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: code, Out: r, Prompt: &person{says}}); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return r
}

// fails runs a cell that has to fail.
func fails(t *testing.T, c *Cells, code string) *jupyter.Failure {
	t.Helper()
	r := &recorder{}
	_, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: code, Out: r, Prompt: &person{}})
	f, ok := errors.AsType[*jupyter.Failure](err)
	if !ok {
		t.Fatalf("%s: %v is no failure", code, err)
	}
	if r.stderr.Len() > 0 {
		t.Errorf("%s wrote to stderr: %s", code, r.stderr.String())
	}
	return f
}
