package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/blob"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// lab is a search service with its real store, engine and trainer.
type lab struct {
	t       *testing.T
	root    string
	python  string
	store   *store.Store
	blobs   *blob.Store
	engine  *engine.Local
	answers *answer.Service
	*search.Service
}

func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the Python environment is missing: make setup")
	}
	return path
}

func openLab(t *testing.T, root string) *lab {
	t.Helper()
	l := &lab{t: t, root: root, python: python(t)}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	var err error
	l.store, err = store.Open(t.Context(), filepath.Join(root, "easeml.db"), log)
	must(t, err)
	l.blobs, err = blob.Open(filepath.Join(root, "blobs"))
	must(t, err)
	l.answers, err = answer.New(answer.Config{Python: l.python, Root: filepath.Join(root, "answers"), Log: log})
	must(t, err)
	_, err = engine.Sweep(root)
	must(t, err)
	l.engine, err = engine.NewLocal(engine.Options{Python: l.python, Root: root, Log: filepath.Join(root, "trainer.log"), Logger: log})
	must(t, err)
	l.Service, err = search.Open(t.Context(), search.Config{
		Store: l.store, Blobs: l.blobs, Engine: l.engine, Trainer: l, Root: root, Log: log, Ready: l.engine.Settled(),
		Devices: []gpu.Device{{ID: "cpu0", Class: "cpu1", Kind: gpu.CPU, Rate: 1, Threads: 1}, {ID: "cpu1", Class: "cpu1", Kind: gpu.CPU, Index: 1, Rate: 1, Threads: 1}},
	})
	must(t, err)
	return l
}

func (l *lab) close() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	must(l.t, errors.Join(l.Service.Close(ctx), l.engine.Close(ctx), l.answers.Close(), l.blobs.Close(), l.store.Close()))
}

// Candidates keeps the quick families, so that a search ends in seconds.
func (l *lab) Candidates(ctx context.Context, program, profile []byte, template string) ([]trial.Candidate, error) {
	all, err := engine.Candidates(ctx, l.python, program, profile, template)
	var quick []trial.Candidate
	for _, c := range all {
		if c.Baseline || c.Family == "knn" || c.Family == "linear" {
			quick = append(quick, c)
		}
	}
	return quick, err
}

func (l *lab) Rescore(ctx context.Context, model string, data trial.Data, metric string) (validation, test *trial.Score, err error) {
	return l.answers.Rescore(ctx, model, data, metric)
}

func (l *lab) user(name string) store.User {
	l.t.Helper()
	u := store.User{ID: uuid.NewString(), Name: name, Role: "user", Created: time.Now()}
	_, err := l.store.Write(l.t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) })
	must(l.t, err)
	return u
}

// upload puts a file's bytes among the blobs.
func (l *lab) upload(name string, content []byte) feed.Source {
	l.t.Helper()
	id := uuid.NewString()
	must(l.t, l.blobs.Create(id))
	_, err := l.blobs.Append(id, 0, bytes.NewReader(content), int64(len(content)))
	must(l.t, err)
	sha, _, err := l.blobs.Commit(id)
	must(l.t, err)
	return feed.Source{Name: name, SHA256: sha}
}

// until waits for a state of the task, commit by commit.
func (l *lab) until(taskID, what string, holds func(store.Task) bool) store.Task {
	l.t.Helper()
	deadline := time.After(3 * time.Minute)
	for {
		changed := l.store.Changed()
		task := l.task(taskID)
		if holds(task) {
			return task
		}
		select {
		case <-changed:
		case <-deadline:
			l.t.Fatalf("the task is not %s after 3 minutes: %+v", what, task)
		}
	}
}

func settled(task store.Task) bool { return task.State == "settled" }

func (l *lab) task(id string) (task store.Task) {
	l.t.Helper()
	l.read(func(r *store.Reader) (err error) {
		task, err = r.TaskByID(id)
		return err
	})
	return task
}

func (l *lab) read(f func(*store.Reader) error) {
	l.t.Helper()
	must(l.t, l.store.Read(l.t.Context(), f))
}

func (l *lab) trials(searchID string) (list []store.Trial) {
	l.read(func(r *store.Reader) (err error) {
		list, err = r.Trials(searchID)
		return err
	})
	return list
}

// feedWait feeds and waits until it has been read.
func (l *lab) feedWait(task store.Task, sources ...feed.Source) (store.Feed, bool) {
	l.t.Helper()
	f, earlier, err := l.Feed(l.t.Context(), task, search.FeedRequest{Sources: sources})
	must(l.t, err)
	for {
		changed := l.store.Changed()
		l.read(func(r *store.Reader) (err error) {
			f, err = r.Feed(task.ID, f.Number)
			return err
		})
		if f.State != "running" {
			return f, earlier
		}
		select {
		case <-changed:
		case <-time.After(2 * time.Minute):
			l.t.Fatal("the feed was not read within two minutes")
		}
	}
}

const program = `{input: {[x :: Tensor[1], y :: Tensor[1]], []}, output: {[side :: Class["in", "out"]], []}}`

// rings are points inside and outside of a circle.
func rings(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("x,y,side\n")
	for range n {
		x, y := rng.NormFloat64(), rng.NormFloat64()
		side := "out"
		if math.Hypot(x, y) < 1.1 {
			side = "in"
		}
		fmt.Fprintf(&b, "%.6f,%.6f,%s\n", x, y, side)
	}
	return []byte(b.String())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFeedSearchSettle(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	ada := l.user("ada")
	outcome, task, err := l.Declare(t.Context(), ada, "rings", program, nil)
	must(t, err)
	if outcome != search.Created || task.State != "declared" {
		t.Fatalf("declared: %s, %s", outcome, task.State)
	}
	file := l.upload("rings.csv", append(rings(1, 600), "1,nonsense,in\n2,3,between\n"...))
	f, earlier := l.feedWait(task, file)
	if f.State != "ended" || earlier || f.Accepted != 600 || f.Rejected != 2 || f.Version != 1 {
		t.Fatalf("fed: %+v", f)
	}
	task = l.until(task.ID, "settled", settled)
	best, ok := search.Served(task)
	if !ok || best.Search.Value < 0.8 || best.Test == nil || best.Test.N == 0 {
		t.Fatalf("served: %+v", best)
	}
	trials := l.trials(task.SearchID)
	checkAgainstFolders(t, l)
	checkTied(t, l, task, best)

	// Run All again: same answers, nothing starts twice.
	if outcome, _, err = l.Declare(t.Context(), ada, "rings", program, nil); err != nil || outcome != search.Same {
		t.Fatalf("declared again: %s, %v", outcome, err)
	}
	if again, earlier := l.feedWait(task, file); !earlier || again.Number != f.Number {
		t.Fatalf("fed again: %+v, earlier %t", again, earlier)
	}
	renamed := file
	renamed.Name = "copy.csv"
	if again, earlier := l.feedWait(task, renamed); !earlier || again.Number != f.Number {
		t.Fatalf("fed again under another name: %+v", again)
	}
	after := l.task(task.ID)
	if after.Version != 1 || after.SearchID != task.SearchID || len(l.trials(task.SearchID)) != len(trials) {
		t.Fatalf("Run All changed something: %+v", after)
	}

	// Another program on a task with examples is refused, with the ways out.
	_, _, err = l.Declare(t.Context(), ada, "rings", `{input: {[Tensor[4]], []}, output: {[Tensor[2]], []}}`, nil)
	var refusal *search.Refusal
	if !errors.As(err, &refusal) || refusal.Status != 409 || !strings.Contains(refusal.Hint, "drop rings") {
		t.Fatalf("another program: %v", err)
	}

	// A second user with the same file gets a search of their own.
	bob := l.user("bob")
	_, his, err := l.Declare(t.Context(), bob, "rings", program, nil)
	must(t, err)
	if f, _ := l.feedWait(his, file); f.State != "ended" {
		t.Fatalf("the second user: %+v %s", f, f.Error)
	}
	his = l.until(his.ID, "settled", settled)
	if his.SearchID == task.SearchID {
		t.Fatal("two users share a search")
	}
	if a, b := l.search(task.SearchID), l.search(his.SearchID); a.DatasetVersion != b.DatasetVersion {
		t.Fatalf("equal data, different versions: %s, %s", a.DatasetVersion, b.DatasetVersion)
	}

	// A second task of the same user with the same data points to the same search.
	_, twin, err := l.Declare(t.Context(), ada, "twin", program, nil)
	must(t, err)
	l.feedWait(twin, file)
	twin = l.task(twin.ID)
	if twin.SearchID != task.SearchID || !settled(twin) {
		t.Fatalf("the twin: %+v", twin)
	}
	if b, ok := search.Served(twin); !ok || b.TrialID != best.TrialID {
		t.Fatalf("the twin serves %+v", b)
	}
}

func (l *lab) search(id string) (row store.Search) {
	l.read(func(r *store.Reader) (err error) {
		row, err = r.SearchByID(id)
		return err
	})
	return row
}

func TestMoreExamplesAndRefine(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	ada := l.user("ada")
	_, task, err := l.Declare(t.Context(), ada, "rings", program, map[string]any{"seed": "3"})
	must(t, err)
	l.feedWait(task, l.upload("a.csv", rings(1, 500)))
	first := l.until(task.ID, "settled", settled)
	before, _ := search.Served(first)
	parts := l.parts(task.ID)

	// What a feed wrote that a crash cut off is nobody's, and in nobody's way.
	_, err = l.store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertExamples(task.ID, []store.Example{{Number: first.NextExample, Part: "test"}, {Number: first.NextExample + 700, Part: "test"}})
	})
	must(t, err)
	if len(l.parts(task.ID)) != len(parts) {
		t.Fatal("examples on their way are seen")
	}

	// Feed more, with the old rows among them: only the new ones are taken, the old ones keep their parts.
	f, _ := l.feedWait(task, l.upload("b.csv", append(rings(1, 500), rings(2, 300)[len("x,y,side\n"):]...)))
	if f.Accepted != 300 || f.Known != 500 || f.Version != 2 {
		t.Fatalf("fed more: accepted %d, known %d, version %d", f.Accepted, f.Known, f.Version)
	}
	second := l.task(task.ID)
	if b, ok := search.Served(second); !ok || b.Scored != 2 {
		t.Fatalf("no model answers on the new version: %+v", b)
	}
	second = l.until(task.ID, "settled", settled)
	if second.SearchID == first.SearchID || l.search(second.SearchID).Inherits != first.SearchID {
		t.Fatal("the new version has no search of its own that inherits")
	}
	dealt := l.parts(task.ID)
	if len(dealt) != 800 {
		t.Fatalf("%d examples", len(dealt))
	}
	for n, part := range dealt {
		if old, there := parts[n]; there && old != part {
			t.Fatalf("example %d moved from %s to %s", n, old, part)
		}
	}
	if after, _ := search.Served(second); after.Search.Value < before.Search.Value-0.1 {
		t.Fatalf("more examples: from %.3f to %.3f", before.Search.Value, after.Search.Value)
	}

	// Switching off and on again is a version each, and the last one is the second's search again.
	v, err := l.Refine(t.Context(), task, search.Refinement{Off: []int{3, 4, 4}})
	must(t, err)
	if v != 3 {
		t.Fatalf("refined to version %d", v)
	}
	if again, err := l.Refine(t.Context(), task, search.Refinement{Off: []int{3}}); err != nil || again != 3 {
		t.Fatalf("refined again: %d, %v", again, err)
	}
	v, err = l.Refine(t.Context(), task, search.Refinement{On: []int{3, 4}})
	must(t, err)
	if now := l.task(task.ID); v != 4 || now.SearchID != second.SearchID || !settled(now) {
		t.Fatalf("back at the second version: %d, %+v", v, now)
	}
	if _, err := l.Refine(t.Context(), task, search.Refinement{Off: []int{9999}}); err == nil {
		t.Fatal("an example that isn't there was switched off")
	}

	// Without any example nothing runs, the model of before stays, and all of it comes back.
	all := make([]int, 800)
	for i := range all {
		all[i] = i + 1
	}
	_, err = l.Refine(t.Context(), task, search.Refinement{Off: all})
	must(t, err)
	now := l.task(task.ID)
	if b, ok := search.Served(now); !ok || b.Version != 2 || now.State != "settled" || now.Reason != "no_data" {
		t.Fatalf("all off: %s, %s, served %+v", now.State, now.Reason, b)
	}
	_, err = l.Refine(t.Context(), task, search.Refinement{On: all})
	must(t, err)
	if now := l.task(task.ID); now.SearchID != second.SearchID || !settled(now) {
		t.Fatalf("all on again: %+v", now)
	}
	checkAgainstFolders(t, l)
}

func (l *lab) parts(taskID string) map[int]string {
	out := map[int]string{}
	l.read(func(r *store.Reader) error {
		examples, err := r.AllExamples(taskID)
		for _, e := range examples {
			out[e.Number] = e.Part
		}
		return err
	})
	return out
}

// TestRestart ends the service in the middle of a search, several times at
// random events, and looks that nothing is lost or counted twice.
func TestRestart(t *testing.T) {
	root := t.TempDir()
	l := openLab(t, root)
	ada := l.user("ada")
	_, task, err := l.Declare(t.Context(), ada, "rings", program, nil)
	must(t, err)
	l.feedWait(task, l.upload("rings.csv", rings(5, 900)))
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 4 {
		for range 1 + rng.IntN(4) {
			changed := l.store.Changed()
			if settled(l.task(task.ID)) {
				break // nothing will change any more, but a restart must not either
			}
			<-changed
		}
		l.crash()
		l = openLab(t, root)
		checkAgainstFolders(t, l)
		if now := l.task(task.ID); now.Version != 1 {
			t.Fatalf("round %d: version %d", round, now.Version)
		}
	}
	task = l.until(task.ID, "settled", settled)
	seen := map[string]bool{}
	for _, tr := range l.trials(task.SearchID) {
		if seen[tr.Candidate] {
			t.Errorf("candidate %s was tried twice", tr.Candidate)
		}
		seen[tr.Candidate] = true
		if tr.State != "ok" {
			t.Errorf("candidate %s ended %s: %s", tr.Candidate, tr.State, tr.Message)
		}
	}
	if _, ok := search.Served(task); !ok {
		t.Error("nothing answers")
	}
	checkAgainstFolders(t, l)
	l.close()
}

// TestALostTrialOfAFinishedSearch takes the server away in the middle of a
// trial that promises nothing any more once the others have ended: it is queued
// again, and its search doesn't end before it has run.
func TestALostTrialOfAFinishedSearch(t *testing.T) {
	root := t.TempDir()
	l := openLab(t, root)
	_, task, err := l.Declare(t.Context(), l.user("ada"), "rings", program, nil)
	must(t, err)
	l.feedWait(task, l.upload("rings.csv", rings(5, 900)))
	task = l.until(task.ID, "settled", settled)
	best, _ := search.Served(task)
	var lost store.Trial
	for _, tr := range l.trials(task.SearchID) {
		if strings.HasPrefix(tr.Candidate, "knn") && tr.Candidate != best.Candidate {
			lost = tr
		}
	}
	// The rows as a crash leaves them: the trial runs, and its folder has no result.
	_, err = l.store.Write(t.Context(), func(tx *store.Tx) error {
		attempts, err := tx.Attempts(lost.ID)
		if err != nil {
			return err
		}
		a := attempts[len(attempts)-1]
		if err := os.Remove(filepath.Join(a.Folder, trial.ResultFile)); err != nil {
			return err
		}
		lost.Seconds, lost.Charge = lost.Seconds-a.Seconds, lost.Charge-a.Charge
		a.Outcome, a.Ended, a.Seconds, a.Charge = "", nil, 0, 0
		lost.State, lost.Quality, lost.Ended, lost.Model, lost.HeldOut, lost.Result = "running", nil, nil, "", nil, nil
		if err := errors.Join(tx.UpdateAttempt(a), tx.UpdateTrial(lost)); err != nil {
			return err
		}
		row, err := tx.SearchByID(task.SearchID)
		if err != nil {
			return err
		}
		row.State, row.Reason, row.Settled = "open", "", nil
		top, err := tx.TrialByID(best.TrialID)
		if err != nil {
			return err
		}
		perfect := 1.0
		top.Quality = &perfect
		now, err := tx.TaskByID(task.ID)
		if err != nil {
			return err
		}
		now.State, now.Reason, now.Settled = "searching", "", nil
		return errors.Join(tx.UpdateSearch(row), tx.UpdateTrial(top), tx.UpdateTask(now))
	})
	must(t, err)
	l.crash()
	l = openLab(t, root)
	task = l.until(task.ID, "settled", settled)
	for _, tr := range l.trials(task.SearchID) {
		if tr.State != "ok" {
			t.Errorf("the search ended %s while candidate %s is %s", task.Reason, tr.Candidate, tr.State)
		}
	}
	l.close()
}

// crash leaves as a killed server would: nothing is told to the rows.
func (l *lab) crash() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	must(l.t, errors.Join(l.Service.Close(ctx), l.engine.Close(ctx), l.answers.Close(), l.blobs.Close(), l.store.Close()))
}

// A search that has ended says after a restart what it said before, of what is left and of what it had.
func TestSettledOutlivesTheServer(t *testing.T) {
	root := t.TempDir()
	l := openLab(t, root)
	_, task, err := l.Declare(t.Context(), l.user("ada"), "rings", program, nil)
	must(t, err)
	l.feedWait(task, l.upload("rings.csv", rings(1, 300)))
	l.until(task.ID, "settled", settled)
	said := func() string {
		live, err := l.Live(t.Context(), task.ID)
		must(t, err)
		text, err := json.Marshal(live)
		must(t, err)
		if live.Outlook == nil || live.Share == nil || len(live.Arms) == 0 {
			t.Errorf("of a settled search is known %s", text)
		}
		// Nine digits: what was learned step by step differs in the last ones from what is learned at once.
		return regexp.MustCompile(`-?\d+\.\d+(e[-+]?\d+)?`).ReplaceAllStringFunc(string(text), func(number string) string {
			x, err := strconv.ParseFloat(number, 64)
			must(t, err)
			return strconv.FormatFloat(x, 'g', 9, 64)
		})
	}
	before := said()
	l.close()
	l = openLab(t, root)
	defer l.close()
	if after := said(); after != before {
		t.Errorf("before the restart\n%s\nafter it\n%s", before, after)
	}
	// Nothing starts by itself, also where other priors would have more tried.
	must(t, l.SetPriors(t.Context(), nil))
	if busy, err := l.Busy(t.Context()); err != nil || busy {
		t.Errorf("it is busy: %t, %v", busy, err)
	}
}

// checkTied holds the last best.changed against the rows: of what had ended by then, it names those that can't be told apart.
func checkTied(t *testing.T, l *lab, task store.Task, best search.Best) {
	t.Helper()
	var said struct {
		Label    string   `json:"label"`
		TiedWith []string `json:"tied_with"`
	}
	l.read(func(r *store.Reader) error {
		events, err := r.Events(0, []string{"task:" + task.ID}, 0)
		for _, e := range events {
			if e.Type == "best.changed" {
				must(t, json.Unmarshal(e.Data, &said))
			}
		}
		return err
	})
	var winner store.Trial
	before := []store.Trial{}
	for _, tr := range l.trials(task.SearchID) {
		if tr.ID == best.TrialID {
			winner = tr
		}
	}
	for _, tr := range l.trials(task.SearchID) {
		if tr.Ended != nil && !tr.Ended.After(*winner.Ended) && tr.Candidate != "dummy" {
			before = append(before, tr)
		}
	}
	if want := len(search.Ties(winner, before)); said.Label != best.Label || said.TiedWith == nil || len(said.TiedWith) != want {
		t.Errorf("best.changed says %q tied with %v; %d of those that had ended can't be told apart from %s", said.Label, said.TiedWith, want, best.Label)
	}
}

// checkAgainstFolders holds the rows against the attempts' folders: each
// finished trial has one attempt that finished it, whose result.json says the
// quality of the row; its seconds are the sum over its attempts.
func checkAgainstFolders(t *testing.T, l *lab) {
	t.Helper()
	l.read(func(r *store.Reader) error {
		searches, err := r.Searches()
		if err != nil {
			return err
		}
		for _, s := range searches {
			trials, err := r.Trials(s.ID)
			if err != nil {
				return err
			}
			for _, tr := range trials {
				attempts, err := r.Attempts(tr.ID)
				if err != nil {
					return err
				}
				seconds, finished := 0.0, 0
				for _, a := range attempts {
					seconds += a.Seconds
					if a.Outcome != "" && !a.Requeued {
						finished++
					}
					if tr.Ended == nil || a.Requeued || strings.HasPrefix(s.Salt, "forgotten ") {
						continue
					}
					result, found, err := trial.ReadResult(a.Folder)
					if err != nil {
						return err
					}
					if tr.State == "ok" && (!found || float64(result.Quality) != *tr.Quality) {
						t.Errorf("trial %s of %s: the row says %v, the folder %v", tr.ID, tr.Candidate, *tr.Quality, result.Quality)
					}
				}
				if tr.Ended != nil && finished != 1 {
					t.Errorf("trial %s of %s ended by %d attempts", tr.ID, tr.Candidate, finished)
				}
				if math.Abs(seconds-tr.Seconds) > 1e-6 {
					t.Errorf("trial %s of %s: %g seconds, its attempts %g", tr.ID, tr.Candidate, tr.Seconds, seconds)
				}
			}
		}
		events, err := r.AllEvents(0, 0)
		if err != nil {
			return err
		}
		ended := map[string]int{}
		for _, e := range events {
			if e.Type != "trial.ended" {
				continue
			}
			var data struct {
				Trial int `json:"trial"`
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			key := fmt.Sprintf("%s %d", e.Topic, data.Trial)
			if ended[key]++; ended[key] > 1 {
				t.Errorf("the end of trial %d of %s was told twice", data.Trial, e.Topic)
			}
		}
		return nil
	})
}

func TestStopResumeDrop(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	ada := l.user("ada")
	_, task, err := l.Declare(t.Context(), ada, "rings", program, nil)
	must(t, err)
	l.feedWait(task, l.upload("rings.csv", rings(9, 700)))
	stopped, err := l.SetStopped(t.Context(), task, true)
	must(t, err)
	if stopped.State != "settled" || stopped.Reason != "stopped" {
		t.Fatalf("stopped: %+v", stopped)
	}
	if again, err := l.SetStopped(t.Context(), task, true); err != nil || !again.Changed.Equal(stopped.Changed.Truncate(time.Microsecond)) {
		t.Fatalf("stopped again: %+v, %v", again, err)
	}
	resumed, err := l.SetStopped(t.Context(), task, false)
	must(t, err)
	if resumed.State != "searching" {
		t.Fatalf("resumed: %+v", resumed)
	}
	l.until(task.ID, "settled", settled)
	file := l.upload("rings.csv", rings(9, 700)).SHA256
	if needed, err := l.Needed(t.Context()); err != nil || !needed[file] || len(needed) != 1 {
		t.Fatalf("needed are %v, %v", needed, err)
	}
	must(t, l.Drop(t.Context(), task))
	if now := l.task(task.ID); now.State != "dropped" {
		t.Fatalf("dropped: %+v", now)
	}
	if needed, err := l.Needed(t.Context()); err != nil || len(needed) != 0 {
		t.Fatalf("still needed are %v, %v", needed, err)
	}
	// What was fed is forgotten, what was found is history.
	for left := 1; left > 0; runtime.Gosched() {
		l.read(func(r *store.Reader) error {
			feeds, err := r.Feeds(task.ID)
			left = len(feeds)
			return err
		})
	}
	trials := l.trials(stopped.SearchID)
	if len(l.parts(task.ID)) > 0 || len(trials) == 0 {
		t.Fatalf("%d examples and %d trials are left", len(l.parts(task.ID)), len(trials))
	}
	for _, tr := range trials {
		if _, err := os.Stat(filepath.Join(l.root, "trials", tr.ID)); tr.Model != "" || !os.IsNotExist(err) {
			t.Errorf("a model of %s is left: %q, %v", tr.Candidate, tr.Model, err)
		}
	}
	if _, fresh, err := l.Declare(t.Context(), ada, "rings", program, nil); err != nil || fresh.ID == task.ID {
		t.Fatalf("declared after the drop: %+v, %v", fresh, err)
	}
	checkAgainstFolders(t, l)
}

// One class is nothing to tell apart, one example nothing to learn from: no trial is begun before there is more.
func TestTooFewToSearch(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	_, task, err := l.Declare(t.Context(), l.user("ada"), "rings", program, nil)
	must(t, err)
	l.feedWait(task, l.upload("one.csv", []byte("x,y,side\n1,2,in\n")))
	l.feedWait(task, l.upload("more.csv", []byte("x,y,side\n2,2,in\n3,1,in\n5,5,in\n")))
	if now := l.task(task.ID); !settled(now) || now.Reason != "no_data" || now.Version != 2 || len(l.trials(now.SearchID)) > 0 {
		t.Fatalf("one class: %+v, %d trials", now, len(l.trials(now.SearchID)))
	}
	l.feedWait(task, l.upload("other.csv", rings(9, 60)))
	if now := l.task(task.ID); now.State != "searching" {
		t.Fatalf("two classes: %+v", now)
	}
	l.until(task.ID, "a model", func(task store.Task) bool { _, ok := search.Served(task); return ok })
	checkAgainstFolders(t, l)
}

func TestUnreadableFeedChangesNothing(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	_, task, err := l.Declare(t.Context(), l.user("ada"), "rings", program, nil)
	must(t, err)
	f, _ := l.feedWait(task, l.upload("rings.csv", []byte("a,b\n1,2\n")))
	if f.State != "failed" || len(f.Error) == 0 {
		t.Fatalf("fed: %+v", f)
	}
	var problem struct{ Detail string }
	must(t, json.Unmarshal(f.Error, &problem))
	if problem.Detail == "" || strings.Contains(problem.Detail, "Traceback") {
		t.Errorf("the error reads %q", problem.Detail)
	}
	if now := l.task(task.ID); now.Version != 0 || now.State != "declared" {
		t.Errorf("after an unreadable feed: %+v", now)
	}
	f, _ = l.feedWait(task, l.upload("rings.csv", rings(1, 100)))
	if f.State != "ended" || f.Accepted != 100 {
		t.Errorf("the next feed: %+v", f)
	}
}
