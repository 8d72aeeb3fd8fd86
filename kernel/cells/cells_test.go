package cells

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, s := range wanted {
		if !strings.Contains(text, s) {
			t.Errorf("%q is not in\n%s", s, text)
		}
	}
}

const program = "{input: {[a :: Tensor[1]], []}, output: {[kind :: Class[2]], []}}"

func TestDeclareAndFeed(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.file("a.csv", "a,kind\n1,x\n")
	w.file("data/b.csv", "a,kind\n2,y\n")
	w.file("data/c.csv", "a,kind\n3,y\n")
	r := run(t, c, "schema digits "+program+" with metric = accuracy")
	contains(t, r.text(), "digits · numbers → one of 2 classes", "22 candidates: 13 light", "Next: feed digits")
	if got := w.views["alice/digits"].Options["metric"]; got != "accuracy" {
		t.Errorf("option metric is %v", got)
	}
	contains(t, run(t, c, "schema digits "+program).text(), "as before")
	// The task just declared is the current one; files, patterns and rows in the cell are one feed.
	var fed api.NewFeed
	w.onFeed = func(f api.NewFeed) api.Feed {
		fed = f
		return api.Feed{Number: 1, State: "ended", Accepted: 3, Version: 1}
	}
	r = run(t, c, `feed "a.csv", "data/*.csv", [{"a": 4, "kind": "x"}] output kind using a = "A" with ignore = p, ignore = q`)
	contains(t, r.text(), "3 examples taken, 0 rejected · version 1", "Next: watch digits")
	var sources []string
	for _, id := range fed.Uploads {
		sources = append(sources, w.names[id])
	}
	if got := strings.Join(sources, "|"); got != "a.csv|data/b.csv|data/c.csv|this cell" {
		t.Errorf("sources %s", got)
	}
	if fed.Output[0] != "kind" || fed.Using["a"] != "A" || strings.Join(fed.Options["ignore"], " ") != "p q" {
		t.Errorf("the feed was %+v", fed)
	}
	f := fails(t, c, "schema digits {input: {[a :: Tensor[2]], []}, output: {[kind :: Class[2]], []}}")
	if f.Name != conflict || !strings.Contains(f.Value, "Keep both: schema digits2") {
		t.Errorf("%s: %s", f.Name, f.Value)
	}
}

func TestBareProgram(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	contains(t, run(t, c, program).text(), "table_")
	w.file("a.csv", "a,kind\n1,x\n")
	contains(t, run(t, c, `feed "a.csv"`).text(), "3 examples taken")
	contains(t, run(t, c, program).text(), "as before")
}

func TestFeedProgress(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.file("a.csv", "a,kind\n1,x\n")
	w.onFeed = func(api.NewFeed) api.Feed { return api.Feed{Number: 1, State: "running"} }
	r := &recorder{}
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: `feed digits "a.csv"`, Out: r})
		done <- err
	}()
	w.listening()
	await(t, "progress is shown", func() bool {
		w.whisper(api.TransientFeedProgress, "digits", api.FeedProgress{Feed: 1, Phase: "read", Rows: 30, Of: 60})
		return strings.Contains(r.text(), "30 of 60 rows")
	})
	w.mu.Lock()
	w.feed = api.Feed{Number: 1, State: "ended", Accepted: 60, Version: 2, Sources: []string{"a.csv"}}
	w.tell(api.EventFeedEnded, "digits", map[string]any{"feed": 1})
	w.mu.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(r.outputs) != 1 {
		t.Errorf("%d outputs", len(r.outputs))
	}
	contains(t, r.text(), "60 examples taken")
}

// A large folder is read before it is sent, and that is shown too.
func TestHashingIsShown(t *testing.T) {
	w := newWorld(t)
	c := &cell{Cells: w.cells()}
	run(t, c.Cells, "tasks") // finds the server
	first := &firstOf{}
	d := &display{out: first, id: "x"} // began long ago
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if _, err := c.send(t.Context(), []source{{name: "scans/", text: text, size: int64(len(text))}}, d); err != nil {
		t.Fatal(err)
	}
	contains(t, first.text, "Looking through scans/", " of 1.0 MB", "only what is new is sent")
}

// firstOf keeps the first output.
type firstOf struct {
	recorder
	text string
}

func (f *firstOf) Display(b jupyter.Bundle, _ string) { f.text = textOf(b) }

func TestFailedFeed(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.file("a.csv", "x\n")
	w.onFeed = func(api.NewFeed) api.Feed {
		return api.Feed{Number: 1, State: "failed", Error: &api.Problem{Detail: "a.csv has no column a; it has x."}}
	}
	f := fails(t, c, `feed digits "a.csv"`)
	if f.Name != dataError || f.Value != "a.csv has no column a; it has x. Nothing was fed." {
		t.Errorf("%s: %s", f.Name, f.Value)
	}
}

func TestStatements(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.task("penguins")
	contains(t, run(t, c, "best digits").text(), "97 % right: 58 of 60 examples that the search never saw", "Trial 2: kNN, k = 5")
	contains(t, run(t, c, "models").text(), "95.0 % right in the search (95 of 100)", "Not tried yet (1 of 22): tree")
	run(t, c, `models digits into "board.csv"`)
	contains(t, w.read("board.csv"), "trial,candidate,label", "2,knn.k5,\"kNN, k = 5\"", "tree")
	contains(t, run(t, c, "tasks").text(), "2 tasks, 2 searching", "penguins")
	contains(t, run(t, c, "stop digits").text(), "stopped by you")
	contains(t, run(t, c, "stop digits").text(), "stopped already")
	contains(t, run(t, c, "resume digits").text(), "searching again")
	contains(t, run(t, c, "server").text(), "private server", "You are alice")
	r := run(t, c, `print "quality", digits.quality, 3; warn "oops"; assert digits.test >= 0.9; assert digits.state == "searching"; clear`)
	if got := r.stdout.String(); got != "quality 0.95 3\n" {
		t.Errorf("stdout %q", got)
	}
	if got := r.stderr.String(); got != "oops\n" || r.clears != 1 {
		t.Errorf("stderr %q, %d clears", got, r.clears)
	}
	for code, want := range map[string]string{"digits.examples": "300", "1": "1", "0.50": "0.50", `"text"`: "text", "digits.best": "knn.k5", "penguins.trials": "3"} {
		if r := run(t, c, code); len(r.results) != 1 || r.results[0] != want {
			t.Errorf("%s gives %q, not %s", code, r.results, want)
		}
	}
	contains(t, run(t, c, "drop penguins", "no").text(), "was not dropped")
	contains(t, run(t, c, "drop penguins", "yes").text(), "penguins is dropped")
	contains(t, run(t, c, "drop digits yes; tasks").text(), "digits is dropped", "No tasks yet")
}

func TestHelp(t *testing.T) {
	c := newWorld(t).cells()
	var paged string
	c.config.Page = func(text string) { paged = text }
	run(t, c, "help feed")
	contains(t, paged, "feed")
	if f := fails(t, c, "help fede"); !strings.Contains(f.Value, "feed") {
		t.Error(f.Value)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.task("penguins")
	w.file("digits.npz", "")
	w.file("new.npz", "")
	w.file("new.csv", "x")
	tests := []struct{ code, name, text string }{
		{"schema digits {\n  input: {[image :: Tensor[8, 8 1]], []},", grammarError, "^"},
		{"watch digit", noSuchTask, "watch digit\n      ^^^^^\nThere is no task digit. Did you mean digits?  (yours: "},
		{`feed digits "digit.npz"`, noSuchFile, "There is no digit.npz beside this notebook. There are digits.npz and new.npz."},
		{`feed digits "none/x.npz"`, noSuchFile, "the folder none isn't there"},
		{`feed digits "."`, noSuchFile, "holds no pictures"},
		{`feed digits from df`, notServedError, "Python notebook"},
		{`feed digits "http://x.org/a.csv"`, notServedError, "Addresses"},
		{"class ml101", notServedError, "`class` is not served yet. Nothing was done."},
		{"pool drain gpu0", notServedError, "`pool drain` is not served yet."},
		{"%%python\nprint(1)", notServedError, "%%"},
		{"assert digits.test >= 0.99", assertion, "digits.test is 0.966667, so it is not >= 0.99."},
		{"digits.rho", noValue, "digits has no rho yet: it has had less than a second of device time."},
		{"drop digits", refused, "To answer at once: drop digits yes"},
		{`infer digits "./new.csv" into "new.csv"`, fileError, "new.csv is a file that is asked about, and would be written over."},
		{`infer digits "new.*" into "new.csv"`, fileError, "would be written over"},
		{`infer digits "new.npz" into "a.xls"`, fileError, "has to end in .csv, .tsv, .jsonl, .parquet, .arrow, .feather or .xlsx."},
		{"tasks; best nobody", noSuchTask, "There is no task nobody."},
	}
	for _, test := range tests {
		f := fails(t, c, test.code)
		if f.Name != test.name {
			t.Errorf("%s: %s, not %s", test.code, f.Name, test.name)
		}
		contains(t, strings.Join(f.Traceback, "\n"), test.text)
	}
	// Several tasks and none named yet: which one is meant can't be known.
	if f := fails(t, w.cells(), "best"); f.Name != noSuchTask || !strings.Contains(f.Value, "Which task is meant?") {
		t.Error(f)
	}
}

func TestWholeCellIsParsedFirst(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	fails(t, c, "schema digits "+program+"\nshema other")
	if len(w.views) != 0 {
		t.Error("a statement ran before all were parsed")
	}
}

func TestInfer(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.file("new.csv", "id,a\n7,1\n8,x\n9,2\n")
	sure, unsure := 0.97, 0.6
	line := int64(3)
	w.lines = []api.InferLine{
		{Answer: &api.Answer{Source: "new.csv", Row: 2, Values: []api.Cell{{Column: "id", Text: "7"}, {Column: "a", Text: "1"}}, Answer: map[string]any{"kind": "x"}, Sure: &sure, Probabilities: map[string]float64{"x": 0.97, "y": 0.03}}},
		{Answer: &api.Answer{Source: "new.csv", Row: 3, Values: []api.Cell{{Column: "id", Text: "8"}, {Column: "a", Text: "x"}}, Refused: &api.Reject{Source: "new.csv", Row: 3, Line: &line, Column: "a", Value: "x", Reason: "is no number"}}},
		{Answer: &api.Answer{Source: "new.csv", Row: 4, Values: []api.Cell{{Column: "id", Text: "9"}, {Column: "a", Text: "2"}, {Column: "kind", Text: "?"}}, Answer: map[string]any{"kind": "y"}, Sure: &unsure}},
		{Done: &api.Inferred{Answers: 2, Refused: 1, Unsure: 1, Seconds: 0.2, Version: 1, Best: *w.views["alice/digits"].Best}},
	}
	r := run(t, c, `infer digits "new.csv" into "out.csv" with probabilities = on`)
	contains(t, r.text(), "2 answers in out.csv, 0.2 s, by trial 2 (97 % right on the test part)", "refused: new.csv line 3: a x, is no number",
		"1 answer is unsure (below 0.8), marked in the column \"check\". Order and all your columns are kept.")
	want := "id,a,kind,kind (answer),sure,p(x),p(y),check\n7,1,,x,0.9700,0.9700,0.0300,\n8,x,,,,,,refused: a is no number\n9,2,?,y,0.6000,,,unsure\n"
	if got := w.read("out.csv"); got != want {
		t.Errorf("the file is\n%s\nnot\n%s", got, want)
	}
	run(t, c, `infer digits "new.csv" into "out.jsonl" with probabilities = on`)
	want = `{"id":"7","a":"1","kind":null,"kind (answer)":"x","sure":0.9700,"p(x)":0.9700,"p(y)":0.0300,"check":null}
{"id":"8","a":"x","kind":null,"kind (answer)":null,"sure":null,"p(x)":null,"p(y)":null,"check":"refused: a is no number"}
{"id":"9","a":"2","kind":"?","kind (answer)":"y","sure":0.6000,"p(x)":null,"p(y)":null,"check":"unsure"}
`
	if got := w.read("out.jsonl"); got != want {
		t.Errorf("the file is\n%s\nnot\n%s", got, want)
	}
	run(t, c, `tasks into "tasks.jsonl"`)
	contains(t, w.read("tasks.jsonl"), `"task":"digits"`, `"examples":300`)
	if strings.Join(w.asked.Options["probabilities"], "") != "on" || !w.asked.Wait {
		t.Errorf("asked %+v", w.asked)
	}
	contains(t, run(t, c, `infer digits "new.csv"`).text(), `Next: infer digits "new.csv" into "answers.csv"`)
	// A stream that ends in a problem leaves no file.
	w.lines = []api.InferLine{w.lines[0], {Problem: &api.Problem{Status: 422, Detail: "new.csv has no column a."}}}
	if f := fails(t, c, `infer digits "new.csv" into "other.csv"`); f.Name != dataError {
		t.Error(f)
	}
	if _, err := c.heads("other.csv"); err == nil {
		t.Error("a file was left behind")
	}
}

// heads tells whether a file is there, for the test above.
func (c *Cells) heads(name string) ([]string, error) {
	columns := c.names.heads.of(c.resolve(name))
	if columns == nil {
		return nil, errors.New("not there")
	}
	return columns, nil
}

func TestWait(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	contains(t, run(t, c, "wait digits until quality >= 0.9 or final").text(), "digits · quality >= 0.9 holds, at once")
	contains(t, run(t, c, "wait digits until quality >= 0.99 or 1s").text(), "digits · 1s is over, nothing else held before · searching, 3 of 22")
}

func TestWaitUntilItHolds(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	r := &recorder{}
	run(t, c, "watch digits")
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: "wait digits until quality >= 0.97", Out: r})
		done <- err
	}()
	w.listening()
	await(t, "the wait shows itself", func() bool { return strings.Contains(r.text(), "waiting until quality >= 0.97") })
	w.change("digits", func(v *api.View) { v.Best.Search.Value, v.Tried = 0.98, 9 })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	contains(t, r.text(), "quality >= 0.97 holds, after")
	// The displays of the watch were drawn once more, by way of this cell.
	if r.count() < 3 {
		t.Errorf("only %d updates", r.count())
	}
}

func TestWaitForWhatNeverHolds(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.change("digits", func(v *api.View) { v.State, v.Reason = api.TaskSettled, api.SettledLikelyFinal })
	contains(t, run(t, c, "wait digits until quality >= 0.99").text(), "nothing that was waited for holds, and nothing runs any more: likely final")
	run(t, c, "schema empty "+program)
	if f := fails(t, c, "wait empty"); f.Name != noValue {
		t.Error(f)
	}
}

func TestInterruptedWait(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &recorder{}
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(ctx, jupyter.ExecuteRequest{Code: "wait digits", Out: r})
		done <- err
	}()
	await(t, "it waits", func() bool { return strings.Contains(r.text(), "waiting until final") })
	cancel(jupyter.ErrInterrupted)
	f, ok := errors.AsType[*jupyter.Failure](<-done)
	if !ok || f.Name != interrupted || !strings.Contains(f.Value, "the search for digits goes on") {
		t.Errorf("%v", f)
	}
}

func TestWatch(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	first := run(t, c, "watch digits")
	if len(first.outputs) != 2 {
		t.Fatalf("%d displays", len(first.outputs))
	}
	chart, table := first.outputs[0].bundle.Data, first.outputs[1].bundle.Data
	if chart["application/vnd.vegalite.v5+json"] == nil || chart["image/png"] == nil || chart["text/html"] != nil || chart["application/json"] != nil {
		t.Errorf("the chart has the wrong forms")
	}
	if table["text/html"] == nil {
		t.Errorf("the table has no HTML")
	}
	if _, err := json.Marshal(chart); err != nil {
		t.Error(err)
	}
	w.listening()
	// Events that change nothing draw nothing; others draw in the cell that ran last.
	second := run(t, c, "print 1")
	w.change("digits", func(*api.View) {})
	w.change("digits", func(v *api.View) { v.Tried = 11 })
	await(t, "the table is drawn", func() bool { return second.count() > 0 })
	if n := first.count(); n > 0 {
		t.Errorf("%d updates went to a cell that is over", n)
	}
	third := run(t, c, "watch digits")
	if third.outputs[0].id != first.outputs[0].id {
		t.Error("a second watch has other displays")
	}
	contains(t, third.text(), "11 of 22 candidates tried")
	w.change("digits", func(v *api.View) {
		v.State, v.Reason, v.Tried, v.Running = api.TaskSettled, api.SettledExhausted, 22, 0
	})
	await(t, "the end is drawn", func() bool { return strings.Contains(third.text(), "all candidates tried") })
	await(t, "the chart has its picture", func() bool {
		third.mu.Lock()
		defer third.mu.Unlock()
		return third.outputs[0].bundle.Data["image/png"] != nil
	})
	// Many events are few looks.
	w.mu.Lock()
	w.looks = 0
	w.mu.Unlock()
	for i := range 200 {
		w.change("digits", func(v *api.View) { v.Seconds = float64(i) })
	}
	await(t, "the newest is drawn", func() bool { return strings.Contains(third.text(), "used 3 min 19 s") })
	w.mu.Lock()
	looks := w.looks
	w.mu.Unlock()
	if looks > 20 {
		t.Errorf("%d looks for 200 events", looks)
	}
	w.mu.Lock()
	delete(w.views, "alice/digits")
	w.tell(api.EventTaskDropped, "digits", nil)
	w.mu.Unlock()
	await(t, "the drop is told", func() bool { return strings.Contains(third.text(), "digits is dropped") })
}

// A notebook that is saved in mid-search has a picture of its chart: at any time the last one, soon the newest, and at the
// kernel's end that of the chart as it stands.
func TestWatchHasItsPicture(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	c.watches.every = time.Hour
	w.task("digits")
	r := run(t, c, "watch digits")
	w.listening()
	picture := func() any {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.outputs[0].bundle.Data["image/png"]
	}
	trial := func(n int, quality float64) {
		w.change("digits", func(v *api.View) {
			v.Tried = n
			v.Curve = append(v.Curve, api.Point{Trial: n, Label: "kNN", Quality: quality, Best: quality, Seconds: float64(n)})
		})
		await(t, "the trial is drawn", func() bool { return strings.Contains(r.text(), fmt.Sprintf("%d of 22 candidates tried", n)) })
	}
	trial(11, 0.5)
	first := picture()
	if first == nil {
		t.Fatal("there is no picture")
	}
	trial(12, 0.6)
	if picture() != first {
		t.Error("each change draws a picture anew")
	}
	c.Close()
	last := picture()
	if last == first {
		t.Error("the kernel ends with the picture of another chart")
	}

	c = w.cells()
	c.watches.every = time.Millisecond
	r = run(t, c, "watch digits")
	w.listening()
	first = picture()
	if first != last {
		t.Error("the same chart has two pictures")
	}
	trial(13, 0.7)
	await(t, "its picture is new", func() bool { return picture() != first })
}

func TestWatchSurvivesALostServer(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	r := run(t, c, "watch digits")
	w.listening()
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.closeStreams()
	await(t, "the loss is told", func() bool { return strings.Contains(r.text(), "The server hasn't answered since") })
	w.mu.Lock()
	w.down = false
	w.views["alice/digits"].Tried = 6
	w.mu.Unlock()
	await(t, "it caught up", func() bool {
		return strings.Contains(r.text(), "6 of 22 candidates tried") && !strings.Contains(r.text(), "hasn't answered")
	})
	contains(t, r.text(), "Back at", "Meanwhile: 3 trials finished.")
	w.change("digits", func(v *api.View) { v.Tried = 7 })
	await(t, "it goes on", func() bool { return strings.Contains(r.text(), "7 of 22 candidates tried") })
	contains(t, r.text(), "Meanwhile: 3 trials finished.") // who looks later sees it too
	w.change("digits", func(v *api.View) { v.State, v.Reason = api.TaskSettled, api.SettledLikelyFinal })
	await(t, "it settles", func() bool { return strings.Contains(r.text(), "likely final") })
	if strings.Contains(r.text(), "Back at") {
		t.Errorf("the final state still tells of the loss:\n%s", r.text())
	}
}

func TestServerIsLookedForAgain(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.task("digits")
	other.task("digits")
	current := w
	c := New(Config{Connect: func(context.Context, string) (*api.Client, Found, error) {
		return api.New(current.http.URL, ""), Found{URL: current.http.URL}, nil
	}})
	t.Cleanup(c.Close)
	run(t, c, "watch digits")
	w.listening()
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.closeStreams()
	current = other
	other.change("digits", func(v *api.View) { v.Tried = 7 })
	again := run(t, c, "best digits")
	contains(t, again.text(), "97 % right")
	other.listening()
	other.change("digits", func(v *api.View) { v.Tried = 8 })
	await(t, "the watch goes on at the other server", func() bool { return again.count() > 0 })
}

func TestExpressions(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	reply, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: "print 1", Out: &recorder{}, UserExpressions: map[string]string{"q": "digits.quality", "bad": "nobody.quality", "no": "tasks"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(reply.UserExpressions["q"].Value); got != "0.95" {
		t.Errorf("q is %q", got)
	}
	if f := reply.UserExpressions["bad"].Failure; f == nil || f.Name != noSuchTask {
		t.Errorf("bad is %v", f)
	}
	if _, ok := reply.UserExpressions["no"]; ok {
		t.Error("a statement was run as an expression")
	}
}

func TestCompletionAndInspection(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.file("iris.csv", "Sepal Length;species\n1;x\n")
	w.file("rows.jsonl", "{\"b\": 1, \"a\": 2}\n")
	matches := func(code string) []string { return c.Complete(t.Context(), code, len([]rune(code))).Matches }
	// Nothing is known before the first statement, and nobody is asked.
	began := time.Now()
	if got := matches("best "); len(got) > 0 {
		t.Errorf("before a server was found: %v", got)
	}
	if c.session.client != nil || time.Since(began) > 5*time.Second {
		t.Error("completion looked for a server")
	}
	run(t, c, "tasks")
	run(t, c, "best digits")
	run(t, c, "models digits")
	if got := strings.Join(matches("wat"), " "); got != "watch" {
		t.Errorf("wat: %s", got)
	}
	if got := strings.Join(matches("best d"), " "); !strings.Contains(got, "digits") {
		t.Errorf("best d: %s", got)
	}
	if got := strings.Join(matches(`feed digits "ir`), " "); !strings.Contains(got, "iris.csv") {
		t.Errorf("files: %s", got)
	}
	if got := strings.Join(matches(`feed digits "iris.csv" output `), " "); !strings.Contains(got, "species") || !strings.Contains(got, "Sepal Length") {
		t.Errorf("columns: %s", got)
	}
	if got := strings.Join(matches(`feed digits "rows.jsonl" output `), " "); !strings.Contains(got, "a") {
		t.Errorf("keys: %s", got)
	}
	b, ok := c.Inspect(t.Context(), "best digits", 7, 1)
	if !ok {
		t.Fatal("a task can't be inspected")
	}
	contains(t, textOf(b), "95.0 % right in the search", "Class[2]")
	if b, ok = c.Inspect(t.Context(), "watch digits", 2, 0); !ok {
		t.Fatal("a word can't be inspected")
	}
	contains(t, textOf(b), "watch")
	if s, indent := c.IsComplete("schema t {"); s != "incomplete" || indent == "" {
		t.Errorf("%s %q", s, indent)
	}
}

func TestWaitSurvivesALostServer(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	r := &recorder{}
	done := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: "wait digits", Out: r})
		done <- err
	}()
	w.listening()
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.closeStreams()
	await(t, "the loss is told", func() bool { return strings.Contains(r.text(), "The server hasn't answered since") })
	w.mu.Lock()
	w.down = false
	v := w.views["alice/digits"]
	v.State, v.Reason = api.TaskSettled, api.SettledLikelyFinal
	w.mu.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	contains(t, r.text(), "digits · final holds")
}

func TestStatementsOfLater(t *testing.T) {
	c := newWorld(t).cells()
	for _, word := range later {
		for _, m := range c.Complete(t.Context(), word[:2], 2).Matches {
			if m == word && word != "share" { // that is an attribute too
				t.Errorf("%s is proposed", word)
			}
		}
	}
	var paged string
	c.config.Page = func(text string) { paged = text }
	run(t, c, "help")
	contains(t, paged, "Not served yet: budget")
	run(t, c, "help budget")
	contains(t, paged, "not served yet")
}

func TestRefine(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	contains(t, run(t, c, "refine digits").text(), "all 300 examples on · version 1", "a.csv, data row 6", "294 more")
	contains(t, run(t, c, "refine 17, 290..305").text(), "Only 12 of the 17 asked for are there", "a.csv, data row 300")
	contains(t, run(t, c, "refine digits off 17, 90..95").text(), "2 examples off (5 more were so already) · version 2: 298 examples")
	if got := strings.Join(w.refined.Off, " "); got != "17 90..95" {
		t.Errorf("asked for %s", got)
	}
	contains(t, run(t, c, "refine").text(), "298 of 300 examples on", "refine digits on 1..2")
	contains(t, run(t, c, "refine digits off gone").text(), "1 example off")
	if got := strings.Join(w.refined.Off, " "); got != "gone" {
		t.Errorf("asked for %s", got)
	}
	contains(t, run(t, c, "refine digits on 3").text(), "1 example on")
	contains(t, run(t, c, "refine digits on 2").text(), "1 example on · version 5: 299 examples")
	// All of them only after a question.
	if f := fails(t, c, "refine digits off all"); f.Name != refused || !strings.Contains(f.Value, "refine digits off all yes") {
		t.Error(f)
	}
	contains(t, run(t, c, "refine digits off all", "no").text(), "stay as they are")
	contains(t, run(t, c, "refine digits off all", "yes").text(), "299 examples off", "no example is on")
	contains(t, run(t, c, "refine digits off all yes").text(), "Nothing changed: all 300 are off already.")
	contains(t, run(t, c, `refine digits 17, 204 as "y z"`).text(), "2 labels corrected")
	if got := w.refined.Labels; len(got) != 1 || got[0].Label != "y z" || strings.Join(got[0].Examples, " ") != "17 204" {
		t.Errorf("asked for %v", got)
	}
}

func TestRefineShow(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits") // 300 examples
	contains(t, run(t, c, "refine digits show 3, 7..8").text(), "digits · what is in 3 examples\n", "7   train   x          3.5", "Next: refine digits off NUMBERS")
	contains(t, run(t, c, "refine show 299..310").text(), "what is in 2 examples of 12", "149.5")
	contains(t, run(t, c, "refine show 1..20, 31..50, 90").text(), "what is in 24 examples of 41", "15.5", "More: refine digits show 35..50, 90")
	contains(t, run(t, c, "refine show all").text(), "what is in 24 examples of 300", "More: refine digits show 25..300")
	contains(t, run(t, c, "refine show 400").text(), "digits has no such examples: the numbers go from 1 to 300.")
	// What is in examples is shown where it is asked for, nowhere else.
	if text := run(t, c, "refine digits; refine digits 3, 7..8").text(); strings.Contains(text, "3.5") {
		t.Errorf("content in\n%s", text)
	}
}

func TestSuspects(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	contains(t, run(t, c, "refine digits suspects").text(), "None of 0 labels of digits looks wrong")
	w.found = api.Findings{Of: 300, Found: 2, Suspects: []api.Suspect{{Number: 17, Says: "3", LooksLike: "8", Sure: new(0.9)}, {Number: 4, Says: "1", LooksLike: "7", Sure: new(0.8)}}}
	contains(t, run(t, c, "refine digits suspects").text(), "2 of 300 labels look wrong", "refine digits 17 as 8", "refine digits off 17")
	contains(t, run(t, c, "refine digits show suspects").text(), "2 of 300 labels look wrong", "what is in 2 examples", "17   train")
	if f := fails(t, c, "refine digits on suspects"); f.Name != conflict {
		t.Error(f)
	}
	contains(t, run(t, c, "refine digits off suspects").text(), "2 examples off · version 2: 298 examples")
	if got := strings.Join(w.refined.Off, " "); got != "17 4" || !w.refined.Suspects {
		t.Errorf("asked for %s", got)
	}
	// Run All: the suspects that came up after that are left alone.
	contains(t, run(t, c, "refine digits off suspects").text(), "Nothing changed: the suspects of version 1 are off already (2 examples).")
	contains(t, run(t, c, "refine digits on suspects").text(), "2 examples on · version 3")
}

func TestExplain(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	w.found = api.Findings{Kind: "explain", Of: 60, Part: "test", Measure: "right", Uses: []api.Use{{Name: "ink", Lost: 0.3, Noise: 0.1, Beyond: true}}}
	contains(t, run(t, c, "explain digits").text(), "What it uses (right answers lost if it is shuffled): ink 30 ± 10 %.")
	w.found = api.Findings{Kind: "explain", Answer: "8", Sure: new(0.9), Measure: "probability", Nearest: []api.Near{{Number: 4, Label: "8"}}}
	contains(t, run(t, c, `explain {"ink": 3}`).text(), "This example is read as 8 (sure 0.90).", "Next: refine digits show 4")
	w.found.Example, w.found.Truth = 17, new("3")
	contains(t, run(t, c, "explain 17").text(), "Example 17 is read as 8 (sure 0.90); its label says 3.", "refine digits show 17, 4")
}

func TestWhy(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	contains(t, run(t, c, "why digits").text(), "cpu0 went to kNN, k = 5 (trial 2): most improvement per second over the 50.0 %",
		" tree", "no other task waited")
	contains(t, run(t, c, "why trial 2").text(), "went to kNN, k = 5 (trial 2)", "Your turn, because")
	contains(t, run(t, c, "why digits knn.k5").text(), "It reached 95 of 100 in the search, in 0.1 s.")
	contains(t, run(t, c, "why digits tree").text(), "tree · not tried yet")
	for code, want := range map[string]string{
		"why tree":       "There is no task tree. Did you mean  why digits tree ?",
		"why digits kn":  "digits has no candidate kn. Did you mean  why digits knn.k5 ?",
		"why digits abc": "There are knn.k5, tree.",
	} {
		if f := fails(t, c, code); !strings.Contains(f.Value, want) {
			t.Errorf("%s: %s", code, f.Value)
		}
	}
	run(t, c, "schema empty "+program)
	contains(t, run(t, c, "why").text(), "empty has no examples yet")
}

func TestPool(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.pool = api.Pool{Now: time.Now(), Waiting: 1, Devices: []api.Device{
		{ID: "gpu0", Class: "h200", Name: "H200", State: "held", Mine: true, Task: "alice/digits", Label: "ResNet-18"},
		{ID: "gpu1", Class: "h200", Name: "H200", State: "held"}}}
	contains(t, run(t, c, "pool").text(), "2 of 2 GPUs at work", " digits ", "ResNet-18", "another user", "1 task waits for a device.")
}

// TestInspectionIsLive: a task's state is that of the newest list, a candidate's
// and a trial's completion that of the newest view.
func TestInspectionIsLive(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.task("digits")
	run(t, c, "models digits")
	w.change("digits", func(v *api.View) { v.Tried, v.Changed = 9, time.Now() })
	run(t, c, "tasks")
	b, ok := c.Inspect(t.Context(), "why digits", 6, 0)
	if !ok {
		t.Fatal("a task can't be inspected")
	}
	contains(t, textOf(b), "9 of 22 candidates tried", "95.0 % right in the search")
	run(t, c, "models digits")
	if b, ok = c.Inspect(t.Context(), "why digits knn.k5", 14, 0); !ok {
		t.Fatal("a candidate can't be inspected")
	}
	contains(t, textOf(b), "kNN, k = 5", "Trial 2")
	for code, want := range map[string]string{"digits.quality": "Now 0.95 for digits.", "wait digits until test": "test: quality of the best model",
		"assert digits.rho": "digits has none yet: it has had less than a second of device time.", "nobody.test": "test: quality of the best model"} {
		b, ok := c.Inspect(t.Context(), code, len([]rune(code))-1, 0)
		if !ok {
			t.Errorf("%s can't be inspected", code)
		}
		contains(t, textOf(b), want)
	}
	for code, want := range map[string]string{"why digits k": "knn.k5", "why digits trial ": "2", "refine digits o": "off", "po": "pool", "pool ": ""} {
		if got := strings.Join(c.Complete(t.Context(), code, len([]rune(code))).Matches, " "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", code, got)
		}
	}
}
