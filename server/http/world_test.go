package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/blob"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const digits = "{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}"

// world is a server with a real store, real blobs, real accounts and a real
// search that has no devices: nothing is trained, so tests write the rows of
// trials themselves, as the search would.
type world struct {
	t        *testing.T
	store    *store.Store
	accounts *account.Accounts
	search   *search.Service
	server   *server
	http     *httptest.Server
	log      *lockedBuffer
	answers  *scripted

	alice, bob, admin *person
}

type person struct {
	store.User
	token  string
	client *api.Client
}

func newWorld(t *testing.T, change ...func(*server)) *world {
	t.Helper()
	ctx := t.Context()
	folder := t.TempDir()
	w := &world{t: t, log: &lockedBuffer{}, answers: &scripted{folder: folder}}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if w.store, err = store.Open(ctx, filepath.Join(folder, "state.db"), log); err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(filepath.Join(folder, "blobs"), blob.MaxUpload(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	w.accounts = account.New(w.store)
	idle := &idleEngine{notices: make(chan engine.Notice)}
	if w.search, err = search.Open(ctx, search.Config{
		Store: w.store, Blobs: blobs, Engine: idle, Trainer: twoCandidates{}, Root: filepath.Join(folder, "work"), Log: log,
	}); err != nil {
		t.Fatal(err)
	}
	w.server = newServer(Deps{
		Store: w.store, Blobs: blobs, Search: w.search, Answer: w.answers, Accounts: w.accounts, Log: log,
		Version: "test", Policy: "greedy", Instance: "one",
	})
	for _, f := range change {
		f(w.server)
	}
	w.http = httptest.NewUnstartedServer(w.server.handler())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	w.http.Config.BaseContext = func(net.Listener) context.Context { return life }
	w.http.Start()
	t.Cleanup(func() {
		end()
		w.http.Close()
		for _, close := range []func() error{
			func() error { return w.search.Close(context.Background()) }, blobs.Close, w.store.Close,
		} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	w.alice, w.bob, w.admin = w.person("alice", ""), w.person("bob", ""), w.person("root", account.RoleAdmin)
	return w
}

func (w *world) person(name, role string) *person {
	w.t.Helper()
	user, err := w.accounts.Ensure(w.t.Context(), name, role)
	if err != nil {
		w.t.Fatal(err)
	}
	token, err := w.accounts.NewToken(w.t.Context(), user, "test")
	if err != nil {
		w.t.Fatal(err)
	}
	client := api.New(w.http.URL, token)
	w.t.Cleanup(client.Close)
	return &person{User: user, token: token, client: client}
}

// ask sends a request as it stands and returns status, headers and body.
func (w *world) ask(method, path, token string, body any, header ...string) (int, http.Header, string) {
	w.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, reader)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// declare declares alice's digits and returns its row.
func (w *world) declare(name string) store.Task {
	w.t.Helper()
	if _, err := w.alice.client.Declare(w.t.Context(), "alice", name, api.Declare{Program: digits}); err != nil {
		w.t.Fatal(err)
	}
	return w.row(w.alice, name)
}

func (w *world) row(of *person, name string) (task store.Task) {
	w.t.Helper()
	w.read(func(r *store.Reader) (err error) { task, err = r.TaskByName(of.ID, name); return err })
	return task
}

func (w *world) read(f func(r *store.Reader) error) {
	w.t.Helper()
	if err := w.store.Read(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(f func(tx *store.Tx) error) (seq int64) {
	w.t.Helper()
	seq, err := w.store.Write(w.t.Context(), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return seq
}

// event commits one event of a task.
func (w *world) event(task store.Task, n int) int64 {
	return w.write(func(tx *store.Tx) error {
		_, err := tx.Event(store.TopicTask(task.ID), "notice", map[string]int{"n": n})
		return err
	})
}

// result of a trial as the search keeps it.
func result(quality, low, high float64, n int, test string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"quality":%g,"interval":[%g,%g],"n":%d,"metrics":{"log_loss":0.1,"odd":"nan"},"test":%s,"steps":3}`,
		quality, low, high, n, test))
}

// losses are 0 for a right and 1 for a wrong answer, wrong ones at the places given.
func losses(n int, wrong ...int) []byte {
	out := make([]byte, 4*n)
	for _, i := range wrong {
		copy(out[4*i:], []byte{0, 0, 0x80, 0x3f}) // float32 1
	}
	return out
}

// withFile is searched with a file of examples: what is in it nobody reads here.
func (w *world) withFile(task store.Task) store.Task {
	if err := os.WriteFile(filepath.Join(w.answers.folder, trial.ExamplesFile), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.searched(task)
}

// searched fills a task with a version, candidates and trials.
func (w *world) searched(task store.Task) store.Task {
	w.t.Helper()
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time { return new(began.Add(time.Duration(seconds) * time.Second)) }
	searchID := uuid.Must(uuid.NewV7()).String()
	w.write(func(tx *store.Tx) error {
		objects := []string{
			`{"id":"dummy","version":1,"family":"dummy","label":"the guess","baseline":true,"settings":{}}`,
			`{"id":"knn.k5","version":1,"family":"knn","label":"kNN, k = 5","settings":{"k":5}}`,
			`{"id":"svm","version":1,"family":"svm","label":"SVM","settings":{}}`,
			`{"id":"tree","version":1,"family":"tree","label":"a tree","settings":{}}`,
			`{"id":"vgg16","version":1,"family":"vgg","label":"VGG-16","settings":{}}`,
			`{"id":"lightgbm","version":1,"family":"lightgbm","label":"LightGBM","settings":{}}`,
			`{"id":"resnet18","version":1,"family":"resnet","label":"ResNet-18","settings":{}}`,
		}
		profile := json.RawMessage(`{"format":1,"metric":{"name":"accuracy","reason":"the classes are even"},
			"guess":{"text":"always \"5\"","quality":0.107},"read_as":["digits.npz: X, y"],
			"warnings":[{"code":"id_column","message":"row_id differs in every row","column":"row_id","fix":"with ignore = row_id"}]}`)
		err := tx.InsertSearch(store.Search{
			ID: searchID, DatasetVersion: "sha256:ab", Metric: "accuracy", Protocol: json.RawMessage(`{"kind":"holdout"}`), Salt: task.UserID,
			Program: task.Program, Template: task.Template, Target: json.RawMessage(`{"kind":"classes","labels":["0","1"]}`), Profile: profile,
			DataPath: w.answers.folder, Rows: 10, Parts: json.RawMessage(`{"train":6,"validation":2,"test":2}`), State: "settled", Reason: "likely_final", Settled: at(90),
		})
		if err != nil {
			return err
		}
		var candidates []store.Candidate
		for i, object := range objects {
			var c candidate
			decode(json.RawMessage(object), &c)
			candidates = append(candidates, store.Candidate{SearchID: searchID, ID: c.ID, Version: 1, Ordinal: i, Object: json.RawMessage(object)})
		}
		if err := tx.InsertCandidates(candidates); err != nil {
			return err
		}
		var examples []store.Example
		for n := 1; n <= 10; n++ {
			part := "train"
			if n > 6 {
				part = "validation"
			}
			if n > 8 {
				part = "test"
			}
			examples = append(examples, store.Example{
				Number: n, ExampleHash: fmt.Sprintf("%064x", n), InputHash: fmt.Sprintf("%064x", 100+n), Label: fmt.Sprint(n % 2), Part: part,
				Feed: 1, Version: 1, Source: "digits.npz", Row: int64(n - 1), On: n != 3,
			})
		}
		if err := tx.InsertExamples(task.ID, examples); err != nil {
			return err
		}
		feedID := uuid.Must(uuid.NewV7()).String()
		if err := tx.InsertFeed(store.Feed{
			ID: feedID, TaskID: task.ID, Number: 1, Key: "k", State: "ended", Request: json.RawMessage(`{"sources":[{"name":"digits.npz","sha256":"ab"}]}`),
			Folder: w.answers.folder, Read: 12, Accepted: 10, Rejected: 2, Profile: profile, Version: 1, Seconds: 1.5, Ended: at(0),
		}); err != nil {
			return err
		}
		if err := tx.InsertRejects(feedID, []store.Reject{
			{Source: "digits.npz", Row: 17, Column: "digit", Value: "12", Reason: "there are classes 0–9", Remedy: "leave it out"},
			{Source: "digits.npz", Row: 90, Reason: "broken"},
		}); err != nil {
			return err
		}
		trials := []store.Trial{
			{Candidate: "dummy", State: "ok", Quality: new(0.1), Result: result(0.1, 0.05, 0.2, 200, "null"), Seconds: 1, Ended: at(1)},
			{Candidate: "svm", State: "ok", Quality: new(0.98), Result: result(0.98, 0.95, 0.99, 200, "null"), HeldOut: losses(200, 1, 2, 3, 4), Seconds: 3, Ended: at(5)},
			{Candidate: "vgg16", State: "failed", Kind: "memory", Message: "needs about 9 GB", Seconds: 2, Ended: at(8)},
			{Candidate: "knn.k5", State: "ok", Quality: new(0.98), Seconds: 0.5, Ended: at(9), HeldOut: losses(200, 1, 2, 3, 5),
				Result: result(0.98, 0.95, 0.99, 200, `{"quality":0.975,"interval":[0.94,0.99],"n":216,"metrics":{}}`)},
			{Candidate: "tree", State: "stopped", Quality: new(0.7), Result: result(0.7, 0.6, 0.8, 200, "null"), Seconds: 4, Ended: at(20),
				HeldOut: losses(200, seq(60)...)},
			{Candidate: "lightgbm", State: "running"},
		}
		var best search.Best
		for i, tr := range trials {
			tr.ID, tr.SearchID, tr.CandidateVersion = uuid.Must(uuid.NewV7()).String(), searchID, 1
			tr.Charge, tr.Reason, tr.Created = tr.Seconds, json.RawMessage(`{"policy":"greedy"}`), *at(i)
			if tr.Candidate == "knn.k5" {
				tr.Model = w.answers.folder
				best = search.Best{TrialID: tr.ID, Candidate: tr.Candidate, Label: "kNN, k = 5", Family: "knn", Version: 1, Scored: 1, Seconds: tr.Seconds}
				best.Search, best.Test = search.Measured(tr)
			}
			if err := tx.InsertTrial(tr); err != nil {
				return err
			}
			if err := tx.InsertTaskTrial(store.TaskTrial{TaskID: task.ID, Number: i + 1, TrialID: tr.ID}); err != nil {
				return err
			}
			attempt := store.Attempt{TrialID: tr.ID, Number: 1, Device: "cpu0", DeviceClass: "cpu1", Engine: "local", Seconds: tr.Seconds, Ended: tr.Ended}
			if attempt.Ended != nil {
				attempt.Outcome = tr.State
			}
			if err := tx.InsertAttempt(attempt); err != nil {
				return err
			}
		}
		if err := tx.InsertVersion(store.Version{
			TaskID: task.ID, Number: 1, Hash: "sha256:ab", On: 9, Off: 1, Parts: json.RawMessage(`{"train":5,"validation":2,"test":2}`),
			Cause: "feed", Feed: new(1), SearchID: searchID,
		}); err != nil {
			return err
		}
		task.State, task.Reason, task.Version, task.SearchID, task.Settled = "settled", "likely_final", 1, searchID, at(90)
		task.Target, task.Profile = json.RawMessage(`{"kind":"classes","labels":["0","1"]}`), profile
		task.NextExample, task.NextTrial, task.NextFeed = 11, 7, 2
		task.Served, err = json.Marshal(best)
		if err != nil {
			return err
		}
		return tx.UpdateTask(task)
	})
	return w.row(w.alice, task.Name)
}

func seq(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// idleEngine starts nothing.
type idleEngine struct{ notices chan engine.Notice }

func (e *idleEngine) Start(context.Context, engine.Job) error {
	return errors.New("nothing is run here")
}
func (e *idleEngine) Signal(string, string) error   { return engine.ErrNotRunning }
func (e *idleEngine) Notices() <-chan engine.Notice { return e.notices }
func (e *idleEngine) Close(context.Context) error   { return nil }

// twoCandidates is a catalogue of one light and one deep candidate.
type twoCandidates struct{}

func (twoCandidates) Candidates(context.Context, []byte, []byte, string) ([]trial.Candidate, error) {
	return []trial.Candidate{
		{ID: "dummy", Version: 1, Baseline: true}, {ID: "knn", Version: 1, Devices: []string{"cpu"}}, {ID: "net", Version: 1, Devices: []string{"gpu"}},
	}, nil
}

func (twoCandidates) Rescore(context.Context, string, trial.Data, string) (*trial.Score, *trial.Score, error) {
	return nil, nil, errors.New("nothing is scored here")
}

// scripted answers with given lines of the trainer's form.
type scripted struct {
	folder string
	mu     sync.Mutex
	lines  string
	err    error
	asked  []answer.Request
}

func (s *scripted) Answer(_ context.Context, r answer.Request) (answer.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	if s.err != nil {
		return answer.Result{}, s.err
	}
	file, err := os.CreateTemp(s.folder, "answers-*")
	if err != nil {
		return answer.Result{}, err
	}
	defer file.Close()
	_, err = file.WriteString(s.lines)
	return answer.Result{Path: file.Name(), Answers: strings.Count(s.lines, `"answer"`), Refused: strings.Count(s.lines, `"refused"`), Seconds: 0.2}, err
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Prepare loads nothing: what a script answers is there at once.
func (*scripted) Prepare(string) {}
