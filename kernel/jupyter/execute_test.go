package jupyter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

// What each command leaves: the kinds of messages between busy and idle, in order, and the status of the reply.
func TestOutputs(t *testing.T) {
	c := start(t, newTiny())
	for _, x := range []struct{ code, kinds, status string }{
		{"", "execute_input", "ok"},
		{"print hello", "execute_input stream", "ok"},
		{"print a\nprint b\nwarn c\nprint d", "execute_input stream stream stream", "ok"},
		{"print a\nshow b\nprint c", "execute_input stream display_data stream", "ok"},
		{"value 1", "execute_input execute_result", "ok"},
		{"clear wait\nshow x", "execute_input clear_output display_data", "ok"},
		{"chart x\nupdate x v1", "execute_input display_data update_display_data", "ok"},
		{"print a\nfail b", "execute_input stream error", "error"},
		{"error b", "execute_input error", "error"},
		{"panic b", "execute_input error", "error"},
		{"page help", "execute_input", "ok"},
	} {
		r := c.Run(x.code)
		if r.Kinds() != x.kinds || r.Status() != x.status {
			t.Errorf("%q: %s, %s; want %s, %s", x.code, r.Kinds(), r.Status(), x.kinds, x.status)
		}
	}
}

func TestContents(t *testing.T) {
	c := start(t, newTiny())
	r := c.Run("print hello, world\nvalue 42\nchart x\nupdate x v1\nclear wait\npage help\nnext feed")
	for _, x := range []struct {
		got  jupytertest.Message
		path string
		want string
	}{
		{r.First("execute_input"), "code", "print hello, world\nvalue 42\nchart x\nupdate x v1\nclear wait\npage help\nnext feed"},
		{r.First("execute_input"), "execution_count", "1"},
		{r.First("stream"), "name", "stdout"},
		{r.First("stream"), "text", "hello, world\n"},
		{r.First("execute_result"), "execution_count", "1"},
		{r.First("execute_result"), "data", `{"text/plain":"42"}`},
		{r.First("execute_result"), "metadata", `{}`},
		{r.First("display_data"), "transient", `{"display_id":"x"}`},
		{r.First("update_display_data"), "transient", `{"display_id":"x"}`},
		{r.First("update_display_data"), "data", `{"text/plain":"v1"}`},
		{r.First("clear_output"), "wait", "true"},
		{r.Reply, "execution_count", "1"},
		{r.Reply, "payload", `[{"data":{"text/plain":"help"},"source":"page","start":0},{"replace":true,"source":"set_next_input","text":"feed"}]`},
		{r.Reply, "user_expressions", `{}`},
	} {
		if got := x.got.Text(x.path); got != x.want {
			t.Errorf("%s %s = %s, want %s", x.got.Kind, x.path, got, x.want)
		}
	}
	if r.Reply.Metadata["started"] == nil {
		t.Error("the reply doesn't say when the cell began")
	}
	if s := r.First("stream"); !strings.HasSuffix(s.Topic, ".stream") || !strings.HasPrefix(s.Topic, "kernel.") {
		t.Errorf("topic %q", s.Topic)
	}
}

func TestErrors(t *testing.T) {
	c := start(t, newTiny())
	for _, x := range []struct{ code, name, value, traceback string }{
		{"fail no such task", "Oops", "no such task", `["line 1","Oops: no such task"]`},
		{"error plain", "Error", "wrapped: plain", `["Error: wrapped: plain"]`},
	} {
		r := c.Run(x.code)
		for _, m := range []jupytertest.Message{r.First("error"), r.Reply} {
			if m.Text("ename") != x.name || m.Text("evalue") != x.value || m.Text("traceback") != x.traceback {
				t.Errorf("%s: %v", x.code, m)
			}
		}
	}
	r := c.Run("panic secret inner state")
	if got := r.First("error"); got.Text("ename") != "InternalError" || strings.Contains(got.String(), "goroutine") || strings.Contains(got.String(), "secret") {
		t.Errorf("a panic is shown as %v", got)
	}
	if r := c.Run("print on it goes"); r.Stdout() != "on it goes\n" {
		t.Errorf("after a panic: %v", r)
	}
}

// The request's header comes back byte for byte, with fields nobody here knows.
func TestParentHeader(t *testing.T) {
	c := start(t, newTiny())
	id := c.Execute("print a")
	r := c.Wait(id)
	for _, m := range append(r.Outputs, r.Reply) {
		if string(m.Parent) != string(c.HeaderOf(id)) {
			t.Errorf("%s has the parent %s, want %s", m.Kind, m.Parent, c.HeaderOf(id))
		}
		if m.Version != ProtocolVersion || m.Session == c.Session {
			t.Errorf("version %s, session %s", m.Version, m.Session)
		}
	}
}

func TestSilent(t *testing.T) {
	c := start(t, newTiny())
	c.Run("print counted")
	for range 2 {
		r := c.Run("print a\nshow b\nvalue c\nwarn d\nchart e\nupdate e f\nclear", jupytertest.With("silent", true))
		if len(r.Outputs) != 0 || r.Status() != "ok" || r.Reply.Text("execution_count") != "1" {
			t.Errorf("silent: %v, %v", r.Outputs, r.Reply)
		}
	}
	if r := c.Run("fail x", jupytertest.With("silent", true)); len(r.Outputs) != 0 || r.Status() != "error" {
		t.Errorf("a silent error: %v, %v", r.Outputs, r.Reply)
	}
	if r := c.Run("count"); r.Stdout() != "2" || r.Reply.Text("execution_count") != "2" {
		t.Errorf("the count rose: %v", r.Reply)
	}
}

func TestStoreHistory(t *testing.T) {
	c := start(t, newTiny())
	c.Run("value first")
	c.Run("value unseen", jupytertest.With("store_history", false))
	c.Run("value second")
	m := c.Request("history_request", map[string]any{"hist_access_type": "tail", "n": 10, "output": true, "raw": true})
	if got, want := m.Text("history"), `[[1,1,["value first","first"]],[1,2,["value second","second"]]]`; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}

// A client that leaves out the flags means: store, don't be silent, questions are welcome, stop on errors.
func TestDefaults(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	first := c.Send(jupytertest.Shell, "execute_request", map[string]any{"code": "hold\nfail x"})
	second := c.Send(jupytertest.Shell, "execute_request", map[string]any{"code": "print y"})
	<-h.hold
	h.hold <- "go"
	if r := c.Wait(first); r.Status() != "error" || r.Reply.Text("execution_count") != "1" {
		t.Errorf("%v", r.Reply)
	}
	if r := c.Wait(second); r.Status() != "aborted" {
		t.Errorf("%v", r.Reply)
	}
}

func TestMalformedRequests(t *testing.T) {
	c := start(t, newTiny())
	for _, kind := range []string{"execute", "complete", "inspect", "is_complete", "history"} {
		m := c.Request(kind+"_request", map[string]any{"code": 7, "hist_access_type": 7})
		if m.Text("status") != "error" || m.Text("ename") != "BadRequest" {
			t.Errorf("%s: %v", kind, m)
		}
	}
	for _, kind := range []string{"no_such_request", "debug_request", "comm_msg", "comm_close", "comm_open"} {
		if out := c.Outputs(c.Send(jupytertest.Shell, kind, map[string]any{})); len(out) != 0 {
			t.Errorf("%s: %v", kind, out)
		}
	}
	if w := c.Waiting(jupytertest.Shell); len(w) != 0 {
		t.Errorf("replies to requests that have none: %v", w)
	}
	if r := c.Run("print alive"); r.Stdout() != "alive\n" {
		t.Error(r)
	}
}

func TestUserExpressions(t *testing.T) {
	c := start(t, newTiny())
	r := c.Run("", jupytertest.With("user_expressions", map[string]string{"good": "g", "bad": "fail b", "none": "skip"}))
	if r.Status() != "ok" || r.Reply.Text("user_expressions", "good", "data", "text/plain") != "g" ||
		r.Reply.Text("user_expressions", "bad", "ename") != "Oops" || r.Reply.Text("user_expressions", "none", "status") != "error" {
		t.Errorf("%v", r.Reply)
	}
}

func TestMetadataReachesTheHandler(t *testing.T) {
	c := start(t, newTiny())
	id := c.SendWith(jupytertest.Shell, "execute_request", map[string]any{"code": "metadata"}, nil, []byte(`{"cellId":"7"}`))
	if r := c.Wait(id); r.Stdout() != `{"cellId":"7"}` {
		t.Errorf("%v", r.Outputs)
	}
}

// What can't be put into JSON costs that output, nothing else.
func TestUnshowable(t *testing.T) {
	c := start(t, newTiny())
	r := c.Run("nan\nprint after")
	if r.Kinds() != "execute_input execute_result stream" || !strings.Contains(r.First("execute_result").Text("data", "text/plain"), "can't be shown") {
		t.Errorf("%v", r.Outputs)
	}
}

func TestStreamsAreGathered(t *testing.T) {
	c := start(t, newTiny())
	r := c.Run("repeat line")
	if n := len(r.Outputs); n > 50 {
		t.Errorf("200 writes travelled as %d messages", n)
	}
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if r.Stdout() != want.String() {
		t.Error("lines are lost or out of order")
	}
	r = c.Run("long")
	if r.Stdout() != strings.Repeat("ä€𝄞", 100_000) {
		t.Error("a long text is not what was written")
	}
	for _, m := range r.Outputs {
		if len(m.Text("text")) > defaultLimits().text {
			t.Errorf("a stream message of %d bytes", len(m.Text("text")))
		}
	}
}

// What is written shows while the cell goes on.
func TestStreamsFlow(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	id := c.Execute("print early\nhold\nprint late")
	<-h.hold
	c.Take(jupytertest.IOPub, "early text", func(m jupytertest.Message) bool { return m.Text("text") == "early\n" })
	h.hold <- "go"
	if r := c.Wait(id); r.Stdout() != "late\n" {
		t.Errorf("%v", r.Outputs)
	}
}

func TestStopOnError(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	first := c.Execute("hold\nfail x")
	second := c.Execute("print second")
	info := c.Send(jupytertest.Shell, "kernel_info_request", struct{}{})
	third := c.Execute("print third")
	<-h.hold
	h.hold <- "go"
	if r := c.Wait(first); r.Status() != "error" {
		t.Errorf("%v", r.Reply)
	}
	for _, id := range []string{second, third} {
		if r := c.Wait(id); r.Status() != "aborted" || len(r.Outputs) != 0 {
			t.Errorf("%v, %v", r.Reply, r.Outputs)
		}
	}
	if m := c.Reply(jupytertest.Shell, info); m.Text("status") != "ok" {
		t.Errorf("%v", m)
	}
	if r := c.Run("print fourth"); r.Stdout() != "fourth\n" || r.Reply.Text("execution_count") != "2" {
		t.Errorf("after the abort: %v", r.Reply)
	}
}

// The cells of a "Run All" that fails at once are aborted too, though they are still on their way when the first one fails.
func TestStopOnErrorOfAFastCell(t *testing.T) {
	c := start(t, newTiny(), tight(func(l *limits) { l.quiet, l.settle = 2*time.Second, 2*time.Second }))
	first := c.Execute("fail x")
	c.Take(jupytertest.IOPub, "the error", func(m jupytertest.Message) bool { return m.Kind == "error" })
	second := c.Execute("print second") // sent before the reply to the first one
	if w := c.Waiting(jupytertest.Shell); len(w) != 0 {
		t.Fatalf("the reply has come: %v", w)
	}
	if r := c.Reply(jupytertest.Shell, first); r.Text("status") != "error" {
		t.Errorf("%v", r)
	}
	if r := c.Reply(jupytertest.Shell, second); r.Text("status") != "aborted" {
		t.Errorf("%v", r)
	}
}

func TestDoNotStopOnError(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	first := c.Execute("hold\nfail x", jupytertest.With("stop_on_error", false))
	second := c.Execute("print second")
	<-h.hold
	h.hold <- "go"
	if r := c.Wait(first); r.Status() != "error" {
		t.Errorf("%v", r.Reply)
	}
	if r := c.Wait(second); r.Status() != "ok" || r.Stdout() != "second\n" {
		t.Errorf("%v", r.Reply)
	}
}

// A live display goes on after its cell: with the parent of the cell that runs, or at rest with that of its own cell.
func TestUpdatesAfterTheCell(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	owner := c.Execute("chart x\nkeep")
	c.Wait(owner)
	sink := <-h.kept

	update := func(text string) jupytertest.Message {
		sink.Update(Text(text), "x")
		return c.Take(jupytertest.IOPub, "the update", func(m jupytertest.Message) bool { return m.Kind == "update_display_data" })
	}
	if m := update("at rest"); m.ParentID != owner || m.Text("data", "text/plain") != "at rest" {
		t.Errorf("%v has the parent %s", m, m.ParentID)
	}
	other := c.Execute("hold")
	<-h.hold
	if m := update("during another cell"); m.ParentID != other {
		t.Errorf("%v has the parent %s, want %s", m, m.ParentID, other)
	}
	h.hold <- "go"
	c.Wait(other)
	quiet := c.Execute("hold", jupytertest.With("silent", true))
	<-h.hold
	if m := update("during a silent cell"); m.ParentID != owner {
		t.Errorf("%v has the parent %s", m, m.ParentID)
	}
	h.hold <- "go"
	c.Wait(quiet)
	if m := update("at rest again"); m.ParentID != owner {
		t.Errorf("%v has the parent %s", m, m.ParentID)
	}
	// All else of an ended cell is over.
	sink.Stream("stdout", "late")
	sink.Display(Text("late"), "")
	sink.Result(Text("late"))
	sink.Clear(false)
	c.Run("print something")
	for _, m := range c.Waiting(jupytertest.IOPub) {
		if m.ParentID == owner {
			t.Errorf("from an ended cell: %v", m)
		}
	}
}

// Updates from other goroutines while cells come and go always lie between a busy and its idle, or have the parent of their own cell.
func TestUpdatesBesideCells(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	owner := c.Execute("chart x\nkeep")
	c.Wait(owner)
	sink := <-h.kept
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			sink.Update(Text(fmt.Sprint(i)), "x")
		}
	}()
	var ids []string
	for range 20 {
		ids = append(ids, c.Execute("print a"))
	}
	for _, id := range ids {
		r := c.Wait(id) // fails if busy isn't first
		if r.Stdout() != "a\n" {
			t.Errorf("%v", r.Outputs)
		}
	}
	stop()
	<-done
	c.Run("")
	for _, m := range c.Waiting(jupytertest.IOPub) {
		if m.Kind == "update_display_data" && m.ParentID != owner {
			t.Errorf("an update after the idle of its cell: %v", m)
		}
	}
}
