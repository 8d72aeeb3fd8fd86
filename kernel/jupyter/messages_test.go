package jupyter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

// Every type of message that a kernel may send is sent here at least once; the client checks the form of each (see jupytertest.Message.Check).
func TestEveryMessage(t *testing.T) {
	c := start(t, newTiny())
	seen := map[string]bool{"iopub_welcome": true, "status": true} // by the client itself
	note := func(all ...jupytertest.Message) {
		for _, m := range all {
			seen[m.Kind] = true
		}
	}
	for kind, content := range map[string]string{
		"kernel_info_request": `{}`, "connect_request": `{}`, "comm_info_request": `{"target_name":"jupyter.widget"}`,
		"complete_request": `{"code":"pri","cursor_pos":3}`, "inspect_request": `{"code":"print","cursor_pos":1,"detail_level":0}`,
		"is_complete_request": `{"code":"{"}`, "history_request": `{"hist_access_type":"tail","n":3,"output":true,"raw":true}`,
	} {
		note(c.Request(kind, json.RawMessage(content)))
	}
	for _, code := range []string{"print a\nwarn b\nchart x\nupdate x y\nvalue 1\nclear wait\npage p\nnext q", "fail x"} {
		r := c.Run(code)
		note(append(r.Outputs, r.Reply)...)
	}
	id := c.Execute("password who?", jupytertest.With("allow_stdin", true))
	q := c.Question()
	c.Answer(q, "me")
	r := c.Wait(id)
	note(q, r.Reply)
	note(c.Outputs(c.Send(jupytertest.Shell, "comm_open", map[string]any{"comm_id": "1", "target_name": "x", "data": map[string]any{}}))...)
	note(c.Interrupt())
	id = c.Send(jupytertest.Control, "shutdown_request", map[string]bool{"restart": false})
	note(c.Reply(jupytertest.Control, id))
	for _, kind := range jupytertest.Kinds() {
		if !seen[kind] {
			t.Errorf("no %s was sent", kind)
		}
	}
	c.Ended()
}

func TestConnectRequest(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny())
	m := c.Request("connect_request", struct{}{})
	want := fmt.Sprintf(`{"shell_port":%d,"iopub_port":%d,"stdin_port":%d,"control_port":%d,"hb_port":%d}`, f.Shell, f.IOPub, f.Stdin, f.Control, f.HB)
	if string(m.Body) != want {
		t.Errorf("%s, want %s", m.Body, want)
	}
}

// What is sent as fast as it goes is answered in that order, each cell under its own number.
func TestOrder(t *testing.T) {
	c := start(t, newTiny())
	var ids []string
	for i := range 100 {
		ids = append(ids, c.Execute(fmt.Sprintf("value %d", i)))
	}
	for i, id := range ids {
		m := c.Next(jupytertest.Shell)
		if m.ParentID != id || m.Text("execution_count") != fmt.Sprint(i+1) {
			t.Fatalf("reply %d is %v to %s", i, m, m.ParentID)
		}
		out := c.Outputs(id)
		if len(out) != 2 || out[1].Text("data", "text/plain") != fmt.Sprint(i) || out[1].Text("execution_count") != fmt.Sprint(i+1) {
			t.Fatalf("cell %d left %v", i, out)
		}
	}
}

// Requests on the control channel are served one after the other, in their order, while a cell runs and others wait.
func TestOrderOnControl(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	running := c.Execute("hold")
	<-h.hold
	var shell, control []string
	for range 5 {
		shell = append(shell, c.Execute("print a"))
	}
	for range 5 {
		control = append(control, c.Send(jupytertest.Control, "kernel_info_request", struct{}{}))
	}
	for _, id := range control {
		if m := c.Next(jupytertest.Control); m.ParentID != id {
			t.Errorf("%v is not the next one", m)
		}
	}
	if w := c.Waiting(jupytertest.Shell); len(w) > 0 {
		t.Errorf("cells were answered first: %v", w)
	}
	h.hold <- "go"
	for _, id := range append([]string{running}, shell...) {
		if r := c.Wait(id); r.Status() != "ok" {
			t.Errorf("%v", r.Reply)
		}
	}
}

// An error aborts the cells behind it, and nothing but cells.
func TestOnlyCellsAreAborted(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	failing := c.Execute("hold\nfail x")
	var others []string
	for kind, content := range map[string]string{
		"kernel_info_request": `{}`, "comm_info_request": `{}`, "inspect_request": `{"code":"print","cursor_pos":1}`,
		"complete_request": `{"code":"pri","cursor_pos":3}`, "is_complete_request": `{"code":"{"}`, "history_request": `{"hist_access_type":"tail","n":1}`,
	} {
		others = append(others, c.Send(jupytertest.Shell, kind, json.RawMessage(content)))
	}
	behind := c.Execute("print never")
	<-h.hold
	h.hold <- "go"
	if r := c.Wait(failing); r.Status() != "error" {
		t.Errorf("%v", r.Reply)
	}
	for _, id := range others {
		if m := c.Reply(jupytertest.Shell, id); m.Text("status") != "ok" && m.Kind != "is_complete_reply" {
			t.Errorf("%v", m)
		}
	}
	if r := c.Wait(behind); r.Status() != "aborted" {
		t.Errorf("%v", r.Reply)
	}
}

// A silent cell can be interrupted, fails without an output, and aborts what waits; its expressions are evaluated.
func TestSilentCells(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	silent := jupytertest.With("silent", true)
	id := c.Execute("forever", silent)
	behind := c.Execute("print never")
	<-h.hold
	c.Interrupt()
	if r := c.Wait(id); r.Reply.Text("ename") != "Interrupted" || len(r.Outputs) != 0 {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}
	if r := c.Wait(behind); r.Status() != "aborted" {
		t.Errorf("%v", r.Reply)
	}
	r := c.Run("", silent, jupytertest.With("user_expressions", map[string]string{"a": "7"}))
	if r.Reply.Text("user_expressions", "a", "data", "text/plain") != "7" || r.Reply.Text("execution_count") != "0" {
		t.Errorf("%v", r.Reply)
	}
	if m := c.Request("history_request", map[string]any{"hist_access_type": "tail", "n": 9}); m.Text("history") != "[]" {
		t.Errorf("remembered: %v", m)
	}
}

// A cell that is interrupted between two questions gets no answer meant for another.
func TestInterruptAgainAndAgain(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	for range 20 {
		id := c.Execute("forever")
		<-h.hold
		c.Interrupt()
		c.Interrupt() // one that comes late must not hit the next cell
		if r := c.Wait(id); r.Reply.Text("ename") != "Interrupted" {
			t.Fatalf("%v", r.Reply)
		}
		if r := c.Run("print on"); r.Stdout() != "on\n" {
			t.Fatalf("%v", r.Reply)
		}
	}
}

// Ten megabytes, in and out, as one message and as many lines; one under the race detector, which is ten times as slow.
func TestTenMegabytes(t *testing.T) {
	c := start(t, newTiny())
	size := 10 << 20
	if raced {
		size = 1 << 20
	}
	big := strings.Repeat("0123456789abcde\n", size/16)
	for _, kind := range []string{"complete_request", "is_complete_request"} {
		if m := c.Request(kind, map[string]any{"code": big, "cursor_pos": len(big)}); m.Text("status") == "error" {
			t.Errorf("%s: %.200v", kind, m)
		}
	}
	line := strings.Repeat("x", size)
	if r := c.Run("show " + line); r.First("display_data").Text("data", "text/plain") != line {
		t.Errorf("%.200v", r.Reply)
	}
	if r := c.Run("print " + line); r.Stdout() != line+"\n" {
		t.Errorf("%d bytes came back", len(r.Stdout()))
	}
	if r := c.Run("fail " + line); r.Reply.Text("evalue") != line {
		t.Error("a long error is cut")
	}
	if m := c.Request("history_request", map[string]any{"hist_access_type": "search", "pattern": "print xx*", "n": 1}); len(m.Text("history")) < len(line) {
		t.Error("the history has lost it")
	}
}

// The forms of messages are told apart by jupytertest.
func TestCheck(t *testing.T) {
	for body, wrong := range map[string]string{
		`{"execution_state":"busy"}`: "",
		`{"execution_state":"dead"}`: "dead",
		`{"execution_state":null}`:   "null",
		`{}`:                         "lacks execution_state",
		`{"execution_state":"busy","x":{"y":[{"z":null}]}}`: "x.y[0].z",
	} {
		m := jupytertest.Message{Kind: "status", Body: json.RawMessage(body)}
		if err := json.Unmarshal(m.Body, &m.Content); err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if !slices.Contains(jupytertest.Kinds(), "execute_reply") || slices.Contains(jupytertest.Kinds(), "error reply") {
		t.Error(jupytertest.Kinds())
	}
}
