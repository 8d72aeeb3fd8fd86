package jupyter

import (
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

func TestComplete(t *testing.T) {
	c := start(t, newTiny())
	for _, x := range []struct {
		code                string
		cursor              int
		matches, start, end string
	}{
		{"pri", 3, `["print"]`, "0", "3"},
		{"", 0, `["print","warn","value"]`, "0", "0"},
		{"ä 🎉 pri", 7, `["print"]`, "4", "7"}, // code points: neither bytes nor UTF-16
		{"e\u0301 한 wa", 7, `["warn"]`, "5", "7"},
		{"zzz", 3, `[]`, "0", "3"},
		{"pri", 99, `["print"]`, "0", "3"},
		{"pri", -1, `["print","warn","value"]`, "0", "0"},
		{"panic", 5, `[]`, "5", "5"},
	} {
		m := c.Request("complete_request", map[string]any{"code": x.code, "cursor_pos": x.cursor})
		if m.Text("status") != "ok" || m.Text("matches") != x.matches || m.Text("cursor_start") != x.start || m.Text("cursor_end") != x.end {
			t.Errorf("%q at %d: %v", x.code, x.cursor, m)
		}
	}
	m := c.Request("complete_request", map[string]any{"code": "pri", "cursor_pos": 3})
	if got, want := m.Text("metadata", "_jupyter_types_experimental"), `[{"end":3,"start":0,"text":"print","type":"keyword"}]`; got != want {
		t.Errorf("types %s, want %s", got, want)
	}
}

func TestInspect(t *testing.T) {
	c := start(t, newTiny())
	m := c.Request("inspect_request", map[string]any{"code": "print", "cursor_pos": 3, "detail_level": 1})
	if m.Text("status") != "ok" || m.Text("found") != "true" || m.Text("data", "text/plain") != "print at 3 detail 1" {
		t.Errorf("%v", m)
	}
	m = c.Request("inspect_request", map[string]any{"code": "zzz", "cursor_pos": 3})
	if m.Text("status") != "ok" || m.Text("found") != "false" || m.Text("data") != "{}" || m.Text("metadata") != "{}" {
		t.Errorf("%v", m)
	}
}

func TestIsComplete(t *testing.T) {
	c := start(t, newTiny())
	for code, want := range map[string]string{
		"print a": `{"status":"complete"}`, "{": `{"status":"incomplete","indent":"    "}`, "}": `{"status":"invalid"}`, "?": `{"status":"unknown"}`,
	} {
		if m := c.Request("is_complete_request", map[string]any{"code": code}); string(m.Body) != want {
			t.Errorf("%q: %s, want %s", code, m.Body, want)
		}
	}
}

func TestComms(t *testing.T) {
	c := start(t, newTiny())
	if m := c.Request("comm_info_request", struct{}{}); m.Text("status") != "ok" || m.Text("comms") != "{}" {
		t.Errorf("%v", m)
	}
	out := c.Outputs(c.Send(jupytertest.Shell, "comm_open", map[string]any{"comm_id": "7", "target_name": "jupyter.widget", "data": map[string]any{}}))
	if len(out) != 1 || out[0].Kind != "comm_close" || out[0].Text("comm_id") != "7" {
		t.Errorf("%v", out)
	}
	for _, kind := range []string{"comm_msg", "comm_close"} {
		if out := c.Outputs(c.Send(jupytertest.Shell, kind, map[string]any{"comm_id": "7", "data": map[string]any{}})); len(out) != 0 {
			t.Errorf("%s: %v", kind, out)
		}
	}
}

func TestInput(t *testing.T) {
	c := start(t, newTiny())
	allow := jupytertest.With("allow_stdin", true)
	long := strings.Repeat("0123456789abcdef", 4096) // far more than a terminal's 4096
	for _, x := range []struct{ code, password, answer, out string }{
		{"ask name?", "false", "ann", "ann"},
		{"ask name?", "false", "", ""},
		{"ask name?", "false", long, long},
		{"ask name?", "false", "\x04", "end of input"},
		{"password secret?", "true", "s3cret", "s3cret"},
	} {
		id := c.Execute("print before\n"+x.code, allow)
		q := c.Question()
		if q.ParentID != id || q.Text("password") != x.password || q.Text("prompt") != strings.SplitN(x.code, " ", 2)[1] {
			t.Errorf("%v", q)
		}
		c.Take(jupytertest.IOPub, "text written before the question", func(m jupytertest.Message) bool { return m.Text("text") == "before\n" })
		c.Answer(q, x.answer)
		if r := c.Wait(id); r.Stdout() != x.out || r.Status() != "ok" {
			t.Errorf("%q: %.200s", x.code, r.Outputs)
		}
	}
	m := c.Request("history_request", map[string]any{"hist_access_type": "tail", "n": 100, "output": true})
	if strings.Contains(m.String(), "s3cret") {
		t.Error("a password is in the history")
	}
}

// Clients that don't name the question are understood as well.
func TestInputWithoutParent(t *testing.T) {
	c := start(t, newTiny())
	id := c.Execute("ask name?", jupytertest.With("allow_stdin", true))
	c.Question()
	c.Send(jupytertest.Stdin, "input_reply", map[string]string{"value": "ann"})
	if r := c.Wait(id); r.Stdout() != "ann" {
		t.Errorf("%v", r.Outputs)
	}
}

func TestInputNotAllowed(t *testing.T) {
	c := start(t, newTiny())
	r := c.Run("ask name?")
	if r.Status() != "error" || r.Reply.Text("evalue") != ErrNoStdin.Error() {
		t.Errorf("%v", r.Reply)
	}
}

// A client without a stdin connection must not leave the cell waiting for ever.
func TestInputWithoutConnection(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	startAt(t, f, newTiny(), tight(func(l *limits) { l.stdin = l.stream }))
	conn := f.Open(t, jupytertest.Shell, "lonely")
	defer conn.Close()
	id, header := jupytertest.Header("lonely", "execute_request")
	send(t, conn, jupytertest.Frames(f.Key, header, nil, nil, []byte(`{"code":"ask x","allow_stdin":true}`)))
	m, err := conn.RecvMsg()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(m.Bytes()); !strings.Contains(text, id) || !strings.Contains(text, "no connection for them") {
		t.Errorf("%s", text)
	}
}
