package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/store"
)

func TestATasksLife(t *testing.T) {
	w := newWorld(t)
	ctx, c := t.Context(), w.alice.client
	declared, err := c.Declare(ctx, "alice", "digits", api.Declare{Program: digits})
	if err != nil {
		t.Fatal(err)
	}
	if declared.Outcome != "created" || declared.Count != (api.CatalogCount{Light: 1, Deep: 1}) || declared.View.State != api.TaskDeclared {
		t.Errorf("declared %+v", declared)
	}
	if d := declared.View.Description; d != "pictures of 8×8, 1 channel → one of 10 classes" {
		t.Errorf("described as %q", d)
	}
	if again, err := c.Declare(ctx, "alice", "digits", api.Declare{Program: digits}); err != nil || again.Outcome != "same" {
		t.Errorf("again: %+v, %v", again.Outcome, err)
	}
	view, seq, err := c.Task(ctx, "alice", "digits")
	if err != nil || seq == 0 || view.Rows == nil || view.Name != "digits" {
		t.Errorf("view at %d: %+v, %v", seq, view, err)
	}
	if view, err = c.Patch(ctx, "alice", "digits", api.PatchTask{Stopped: new(true), Options: map[string]any{"seed": 3}}); err != nil || !view.Stopped {
		t.Errorf("stopped: %v, %v", view.Stopped, err)
	}
	if fmt.Sprint(view.Options["seed"]) != "3" {
		t.Errorf("options: %v", view.Options)
	}
	tasks, err := c.Tasks(ctx, "")
	if err != nil || len(tasks) != 1 || tasks[0].Name != "digits" {
		t.Errorf("tasks: %+v, %v", tasks, err)
	}
	if tasks, err = c.Tasks(ctx, "shared"); err != nil || len(tasks) != 0 {
		t.Errorf("shared: %+v, %v", tasks, err)
	}
	if err := c.Drop(ctx, "alice", "digits"); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Task(ctx, "alice", "digits"); !api.IsStatus(err, http.StatusNotFound) {
		t.Errorf("after its drop: %v", err)
	}
}

func TestAnotherMetricIsAnotherSearch(t *testing.T) {
	w := newWorld(t)
	w.withFile(w.declare("digits"))
	c, ctx := w.alice.client, t.Context()
	with := func(name string, value any) (api.Declared, error) {
		return c.Declare(ctx, "alice", "digits", api.Declare{Program: digits, Options: map[string]any{name: value}})
	}
	d, err := with("metric", "balanced_accuracy")
	if err != nil || d.Outcome != "changed" || d.View.Version != 2 || d.View.Metric.Name != "balanced_accuracy" {
		t.Fatalf("another metric: %+v, %v", d, err)
	}
	if d.View.Examples != 9 || d.View.Best == nil {
		t.Errorf("its examples and its model stay: %+v", d.View.Task)
	}
	if again, err := with("metric", "balanced_accuracy"); err != nil || again.Outcome != "same" || again.View.Version != 2 {
		t.Errorf("again: %+v, %v", again, err)
	}
	versions, err := c.Versions(ctx, "alice", "digits")
	if err != nil || len(versions) != 2 || versions[1].Cause != "options" || versions[1].On != 9 {
		t.Errorf("versions %+v, %v", versions, err)
	}
	if _, err := with("metric", "mae"); !api.IsStatus(err, 422) || !strings.Contains(err.Error(), "digits predicts classes") {
		t.Errorf("a metric of numbers: %v", err)
	}
	if _, err := with("test", 0.5); !api.IsStatus(err, 409) {
		t.Errorf("another test part: %v", err)
	}
	if v, err := c.Patch(ctx, "alice", "digits", api.PatchTask{Options: map[string]any{"metric": "accuracy"}}); err != nil || v.Version != 3 || v.Metric.Name != "accuracy" {
		t.Errorf("and back: %+v, %v", v.Task, err)
	}
}

func TestCorrectedLabels(t *testing.T) {
	w := newWorld(t)
	w.withFile(w.declare("digits"))
	c, ctx := w.alice.client, t.Context()
	correct := func(label string, examples ...string) (api.Version, error) {
		return c.Refine(ctx, "alice", "digits", api.PatchExamples{Labels: []api.Correction{{Examples: examples, Label: label}}})
	}
	before, err := c.Examples(ctx, "alice", "digits", api.ExamplesQuery{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"0": "1", "1": "0"}[before[1].Label]
	v, err := correct(other, "2")
	if err != nil || v.Number != 2 || v.By != "alice" || v.Changes == nil || len(v.Changes.Labels) != 1 ||
		v.Changes.Labels[0] != (api.Relabel{Number: 2, From: before[1].Label, To: other}) || v.Changes.Parts.Train != 1 {
		t.Fatalf("corrected: %+v, %v", v, err)
	}
	now, err := c.Examples(ctx, "alice", "digits", api.ExamplesQuery{After: 1, Limit: 1})
	if err != nil || now[0].Label != other || now[0].Fed != before[1].Label {
		t.Errorf("now %+v, %v", now, err)
	}
	if again, err := correct(other, "2"); err != nil || again.Number != 2 {
		t.Errorf("again: %+v, %v", again, err)
	}
	// What was fed is the first version's data again, by its hash too.
	versions, _ := c.Versions(ctx, "alice", "digits")
	back, err := correct(before[1].Label, "2")
	if err != nil || back.Number != 3 || back.Hash == v.Hash {
		t.Errorf("back: %+v, %v", back, err)
	}
	if third, err := correct(other, "2"); err != nil || third.Hash != v.Hash || len(versions) != 2 {
		t.Errorf("and once more: %+v, %v", third, err)
	}
	if _, err := correct("7", "2"); !api.IsStatus(err, 422) || !strings.Contains(err.Error(), "none of the classes of digits") {
		t.Errorf("no class: %v", err)
	}
	if _, err := c.Refine(ctx, "alice", "digits", api.PatchExamples{Labels: []api.Correction{
		{Examples: []string{"2"}, Label: "0"}, {Examples: []string{"1..3"}, Label: "1"}}}); !api.IsStatus(err, 422) {
		t.Errorf("two labels for one: %v", err)
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		user, name, program string
		status              int
		says                string
	}{
		{"alice", "Digits", digits, 422, "can't be called"},
		{"bob", "digits", digits, 404, "You can't declare bob/digits"},
		{"alice", "digits", "{input: {[Tensor[8, 8 1]], []}, output: {[Tensor[3]], []}}", 422, ""},
	} {
		_, err := w.alice.client.Declare(t.Context(), c.user, c.name, api.Declare{Program: c.program})
		p, ok := err.(*api.Problem)
		if !ok || p.Status != c.status || !strings.Contains(p.Detail, c.says) || p.Detail == "" {
			t.Errorf("%s/%s: %+v", c.user, c.name, err)
		}
		if c.says == "" && (p.Where == nil || *p.Where.Line != 1) {
			t.Errorf("no place in %+v", p)
		}
	}
	task := w.searched(w.declare("digits"))
	_, err := w.alice.client.Declare(t.Context(), "alice", task.Name, api.Declare{Program: strings.Replace(digits, "10", "12", 1)})
	if !api.IsStatus(err, http.StatusConflict) {
		t.Errorf("another program on a task with examples: %v", err)
	}
	// What huma finds wrong is a problem of our form, too.
	status, header, body := w.ask("PUT", "/api/v1/tasks/alice/x", w.alice.token, `{"programme":"x"}`)
	var p api.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != 422 || header.Get("Content-Type") != api.ProblemType || !strings.Contains(p.Detail, "program") {
		t.Errorf("%d %s %s", status, header.Get("Content-Type"), body)
	}
	if status, _, body := w.ask("PUT", "/api/v1/tasks/alice/x", w.alice.token, `{"program":"`+strings.Repeat("x", maxBody)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", status, body)
	}
}

func TestTheWholeView(t *testing.T) {
	w := newWorld(t)
	w.searched(w.declare("digits"))
	v, _, err := w.alice.client.Task(t.Context(), "alice", "digits")
	if err != nil {
		t.Fatal(err)
	}
	if v.Examples != 9 || v.Off != 1 || v.Rejected != 2 || v.Parts != (api.Parts{Train: 5, Validation: 2, Test: 2}) {
		t.Errorf("examples: %+v", v.Task)
	}
	if v.Candidates != 6 || v.Tried != 3 || v.Failed != 1 || v.Running != 1 || v.Seconds != 10.5 {
		t.Errorf("counts: candidates %d, tried %d, failed %d, running %d, seconds %g", v.Candidates, v.Tried, v.Failed, v.Running, v.Seconds)
	}
	if v.Metric != (api.Metric{Name: "accuracy", Reason: "the classes are even"}) || v.Guess.Text != `always "5"` || v.Guess.Quality != 0.107 || v.Protocol.Kind != "holdout" {
		t.Errorf("metric %+v, guess %+v, protocol %+v", v.Metric, v.Guess, v.Protocol)
	}
	b := v.Best
	if b == nil || b.Trial != 4 || b.Label != "kNN, k = 5" || *b.Search.Right != 196 || b.Test == nil || *b.Test.Right != 211 || b.Test.N != 216 || b.Baseline {
		t.Fatalf("best: %+v", b)
	}
	if !slices.Equal(b.TiedWith, []string{"SVM"}) {
		t.Errorf("tied with %v", b.TiedWith)
	}
	if m := b.Search.Metrics; len(m) != 1 || m["log_loss"] != 0.1 {
		t.Errorf("metrics %v", m)
	}
	var order []string
	for _, r := range v.Rows {
		order = append(order, fmt.Sprintf("%s %s %v", r.Candidate, r.State, r.Tied))
	}
	want := []string{ // the quicker one of two equal ones first; the guess after what was tried; failed ones last
		"knn.k5 ok false", "svm ok true", "tree stopped false", "dummy ok false", "lightgbm running false", "resnet18 open false", "vgg16 failed false",
	}
	if !slices.Equal(order, want) {
		t.Errorf("leaderboard\n%s\nnot\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	if r := v.Rows[6]; r.Kind != "memory" || r.Message == "" || *r.Trial != 3 || r.Search != nil {
		t.Errorf("failed row: %+v", r)
	}
	if r := v.Rows[5]; r.Trial != nil || string(r.Settings) != "{}" {
		t.Errorf("open row: %+v", r)
	}
	var curve []string
	for _, p := range v.Curve {
		curve = append(curve, fmt.Sprintf("%d %g %g %g %v", p.Trial, p.Seconds, p.Quality, p.Best, p.Baseline))
	}
	if want := []string{"1 1 0.1 0.1 true", "2 4 0.98 0.98 false", "4 6.5 0.98 0.98 false", "5 10.5 0.7 0.98 false"}; !slices.Equal(curve, want) {
		t.Errorf("curve %q, not %q", curve, want)
	}
	if len(v.Warnings) != 1 || v.Warnings[0].Column != "row_id" || v.Deep != nil || v.Now.IsZero() {
		t.Errorf("warnings %+v", v.Warnings)
	}
	if len(v.Live) != 0 { // the search knows nothing of the running row
		t.Errorf("live %+v", v.Live)
	}
}

func TestBeforeAModel(t *testing.T) {
	w := newWorld(t)
	task := w.searched(w.declare("digits"))
	w.write(func(tx *store.Tx) error {
		task.Served = nil
		return tx.UpdateTask(task)
	})
	v, _, err := w.alice.client.Task(t.Context(), "alice", "digits")
	if err != nil || v.Best == nil || !v.Best.Baseline || v.Best.Trial != 1 {
		t.Errorf("best: %+v, %v", v.Best, err)
	}
	report, err := w.alice.client.Best(t.Context(), "alice", "digits")
	if err != nil || report.Best != nil || report.Task.Name != "digits" {
		t.Errorf("report: %+v, %v", report, err)
	}
}

func TestReadingATask(t *testing.T) {
	w := newWorld(t)
	w.searched(w.declare("digits"))
	ctx, c := t.Context(), w.alice.client

	feed, err := c.GetFeed(ctx, "alice", "digits", 1)
	if err != nil || !slices.Equal(feed.Sources, []string{"digits.npz"}) || !slices.Equal(feed.ReadAs, []string{"digits.npz: X, y"}) ||
		len(feed.Rejects) != 2 || feed.Rejects[0].Row != 17 || len(feed.Warnings) != 1 {
		t.Errorf("feed: %+v, %v", feed, err)
	}
	if feeds, err := c.Feeds(ctx, "alice", "digits"); err != nil || len(feeds) != 1 {
		t.Errorf("feeds: %+v, %v", feeds, err)
	}
	if rejects, err := c.Rejects(ctx, "alice", "digits", 1, 1, 10); err != nil || len(rejects) != 1 || rejects[0].Row != 90 {
		t.Errorf("rejects: %+v, %v", rejects, err)
	}
	examples, err := c.Examples(ctx, "alice", "digits", api.ExamplesQuery{After: 2, Limit: 3, Part: "train", State: "on"})
	if err != nil || len(examples) != 3 || examples[0].Number != 4 || !examples[0].On || examples[0].Hash != fmt.Sprintf("%064x", 4) {
		t.Errorf("examples: %+v, %v", examples, err)
	}
	versions, err := c.Versions(ctx, "alice", "digits")
	if err != nil || len(versions) != 1 || versions[0].Parts.Train != 5 || *versions[0].Feed != 1 {
		t.Errorf("versions: %+v, %v", versions, err)
	}
	if rows, err := c.Candidates(ctx, "alice", "digits"); err != nil || len(rows) != 7 {
		t.Errorf("candidates: %+v, %v", rows, err)
	}
	trials, err := c.Trials(ctx, "alice", "digits")
	if err != nil || len(trials) != 6 || trials[2].Kind != "memory" || trials[3].Search == nil || trials[0].Label != "the guess" {
		t.Errorf("trials: %+v, %v", trials, err)
	}
	trial, err := c.Trial(ctx, "alice", "digits", 4)
	if err != nil || trial.Candidate != "knn.k5" || trial.Steps != 3 || len(trial.Attempts) != 1 || trial.Attempts[0].Outcome != "ok" || *trial.Search.Right != 196 {
		t.Errorf("trial: %+v, %v", trial, err)
	}
	if decisions, err := c.Decisions(ctx, "alice", "digits", 0, ""); err != nil || len(decisions) != 6 || decisions[0].Trial != 6 {
		t.Errorf("decisions: %+v, %v", decisions, err)
	}
	if decisions, err := c.Decisions(ctx, "alice", "digits", 4, ""); err != nil || len(decisions) != 1 || string(decisions[0].Reason) != `{"policy":"greedy"}` {
		t.Errorf("a decision: %+v, %v", decisions, err)
	}
	if report, err := c.Best(ctx, "alice", "digits"); err != nil || report.Best == nil || report.Best.Trial != 4 {
		t.Errorf("best: %+v, %v", report, err)
	}
	if err := c.StopTrial(ctx, "alice", "digits", 4); err != nil { // has ended: nothing to stop
		t.Error(err)
	}
	if pool, err := c.Pool(ctx); err != nil || pool.Devices == nil {
		t.Errorf("pool: %+v, %v", pool, err)
	}
	if count, err := c.Catalogue(ctx, digits); err != nil || count.Light != 1 || count.Deep != 1 {
		t.Errorf("catalogue: %+v, %v", count, err)
	}
	if me, err := c.Me(ctx); err != nil || me != (api.Me{User: "alice", Role: "user"}) {
		t.Errorf("me: %+v, %v", me, err)
	}
	if server, err := c.Server(ctx); err != nil || server.Version != "test" {
		t.Errorf("server: %+v, %v", server, err)
	}
	for _, path := range []string{"/trials/99", "/feeds/9", "/feeds/9/rejects", "/decisions?trial=99"} {
		if status, _, body := w.ask("GET", "/api/v1/tasks/alice/digits"+path, w.alice.token, nil); status != 404 || !strings.Contains(body, "digits has no") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if err := c.StopTrial(ctx, "alice", "digits", 99); !api.IsStatus(err, 404) {
		t.Errorf("stopping no trial: %v", err)
	}
}

func TestNumbersOfExamples(t *testing.T) {
	task := store.Task{Name: "digits", NextExample: 11}
	for _, c := range []struct {
		texts []string
		want  []int
		err   string
	}{
		{texts: []string{"1", "3..5", "4"}, want: []int{1, 3, 4, 5}},
		{texts: []string{"all"}, want: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{texts: nil, want: []int{}},
		{texts: []string{"11"}, err: "1 to 10"},
		{texts: []string{"0"}, err: "1 to 10"},
		{texts: []string{"5..3"}, err: "1 to 10"},
		{texts: []string{"1..9999999999"}, err: "1 to 10"},
		{texts: []string{"x"}, err: "names no examples"},
		{texts: []string{"1..2..3"}, err: "names no examples"},
	} {
		got, err := numbers(c.texts, task)
		if !slices.Equal(got, c.want) && c.err == "" || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v", c.texts, got, err)
		}
	}
	w := newWorld(t)
	w.searched(w.declare("digits"))
	if v, err := w.alice.client.Refine(t.Context(), "alice", "digits", api.PatchExamples{On: []string{"1..2"}}); err != nil || v.Number != 1 || v.On != 9 {
		t.Errorf("nothing changes: %+v, %v", v, err)
	}
	if _, err := w.alice.client.Refine(t.Context(), "alice", "digits", api.PatchExamples{}); !api.IsStatus(err, 422) {
		t.Errorf("nothing named: %v", err)
	}
}
