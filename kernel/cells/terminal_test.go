package cells

import (
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter"
)

func TestTerminalThatMoves(t *testing.T) {
	var out, errs strings.Builder
	s := NewTerminal(&out, &errs, func() (int, int) { return 80, 24 })
	s.Display(jupyter.Text("one\ntwo"), "a")
	s.Display(jupyter.Text("under it"), "")
	s.Update(jupyter.Text("ONE\ntwo"), "a")
	s.Close()
	if got, want := out.String(), "one\ntwo\nunder it\n\x1b[3A\x1b[JONE\ntwo\nunder it\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestTerminalThatScrolled(t *testing.T) {
	var out, errs strings.Builder
	s := NewTerminal(&out, &errs, func() (int, int) { return 80, 5 })
	s.Display(jupyter.Text("state 1"), "a")
	s.Stream("stdout", strings.Repeat("line\n", 10))
	s.Update(jupyter.Text("state 2"), "a")
	if strings.Contains(out.String(), "\x1b") {
		t.Error("it moved to a place that is gone")
	}
	s.Stream("stderr", "oops\n")
	s.Update(jupyter.Text("state 3"), "a")
	s.Close()
	if !strings.HasSuffix(out.String(), "line\nstate 3\n") || errs.String() != "oops\n" {
		t.Errorf("%q %q", out.String(), errs.String())
	}
}

func TestPlainTerminal(t *testing.T) {
	var out, errs strings.Builder
	s := NewTerminal(&out, &errs, nil)
	s.Display(jupyter.Text("10 %"), "p")
	s.Update(jupyter.Text("50 %"), "p")
	s.Update(jupyter.Text("done"), "p")
	s.Result(jupyter.Text("0.95"))
	s.Display(jupyter.Text("watched"), "w")
	s.Stream("stdout", "hello\n")
	s.Update(jupyter.Text("at the end"), "w")
	s.Close()
	if got, want := out.String(), "done\n0.95\nwatched\nhello\nat the end\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// Each output stands under its statement; what changed after all is told under it once more.
func TestTerminalNamesStatements(t *testing.T) {
	play := func(size func() (int, int)) string {
		var out, errs strings.Builder
		s := NewTerminal(&out, &errs, size)
		s.Statement("watch digits")
		s.Display(jupyter.Text("one"), "chart")
		s.Display(jupyter.Text("row"), "table")
		s.Statement("wait digits")
		s.Display(jupyter.Text("waiting"), "wait")
		s.Update(jupyter.Text("two"), "chart")
		s.Update(jupyter.Text("held"), "wait")
		s.Statement("assert 1 > 0") // says nothing
		s.Statement("tasks")
		s.Display(jupyter.Text("digits"), "")
		s.Update(jupyter.Text("three"), "chart")
		s.Close()
		return out.String()
	}
	if got, want := play(nil), "› watch digits\ntwo\nrow\n\n› wait digits\nheld\n\n› tasks\ndigits\n\n› watch digits\nthree\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	got := play(func() (int, int) { return 80, 24 })
	screen := got[strings.LastIndex(got, "\x1b[J")+len("\x1b[J"):]
	if want := "three\nrow\n\n› wait digits\nheld\n\n› assert 1 > 0\n\n› tasks\ndigits\n"; screen != want || !strings.HasPrefix(got, "› watch digits\none\n") {
		t.Errorf("%q, not %q", screen, want)
	}
}

// What changes in place is held back together, so that a chart is printed once and
// above the wait that it belongs to.
func TestPlainTerminalHoldsChangesTogether(t *testing.T) {
	var out, errs strings.Builder
	s := NewTerminal(&out, &errs, nil)
	s.Display(jupyter.Text("no model yet"), "chart")
	s.Display(jupyter.Text("waiting"), "wait")
	s.Update(jupyter.Text("98.6 %"), "chart")
	s.Update(jupyter.Text("final holds"), "wait")
	s.Display(jupyter.Text("the best"), "")
	s.Close()
	if got, want := out.String(), "98.6 %\nfinal holds\nthe best\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestLines(t *testing.T) {
	var out strings.Builder
	l := NewLines(&out)
	l.Stream("stdout", "<hello>\n")
	l.Display(jupyter.Text("a"), "1")
	l.Update(jupyter.Text("b"), "1")
	l.Result(jupyter.Text("3"))
	l.Clear(true)
	l.Page("help")
	l.Failure(&jupyter.Failure{Name: "NoSuchTask", Value: "There is none.", Traceback: []string{"x"}})
	want := `{"type":"stream","name":"stdout","text":"<hello>\n"}
{"type":"display","id":"1","data":{"text/plain":"a"}}
{"type":"update","id":"1","data":{"text/plain":"b"}}
{"type":"result","data":{"text/plain":"3"}}
{"type":"clear","wait":true}
{"type":"page","text":"help"}
{"type":"error","name":"NoSuchTask","text":"There is none.","traceback":["x"]}
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
