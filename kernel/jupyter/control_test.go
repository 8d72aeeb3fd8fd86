package jupyter

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

func TestKernelInfo(t *testing.T) {
	c := start(t, newTiny())
	for _, channel := range []string{jupytertest.Shell, jupytertest.Control} {
		m := c.RequestOn(channel, "kernel_info_request", struct{}{})
		for path, want := range map[string]string{
			"status": "ok", "protocol_version": "5.5", "implementation": "tiny", "implementation_version": "0.1", "banner": "tiny!",
			"help_links": "[]", "supported_features": "[]",
			"language_info": `{"codemirror_mode":{"name":"tiny"},"file_extension":".tiny","mimetype":"text/x-tiny","name":"tiny","version":"1"}`,
		} {
			if got := m.Text(path); got != want {
				t.Errorf("%s: %s = %s, want %s", channel, path, got, want)
			}
		}
	}
}

// The control channel answers while a cell runs; the shell channel keeps its order.
func TestControlBesideACell(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	cell := c.Execute("hold")
	<-h.hold
	info := c.Send(jupytertest.Shell, "kernel_info_request", struct{}{})
	if m := c.RequestOn(jupytertest.Control, "kernel_info_request", struct{}{}); m.Text("status") != "ok" {
		t.Errorf("%v", m)
	}
	if w := c.Waiting(jupytertest.Shell); len(w) != 0 {
		t.Errorf("shell answered out of order: %v", w)
	}
	h.hold <- "go"
	if m := c.Next(jupytertest.Shell); m.ParentID != cell {
		t.Errorf("%v came first", m)
	}
	if m := c.Next(jupytertest.Shell); m.ParentID != info {
		t.Errorf("%v came second", m)
	}
}

func TestUnknownOnControl(t *testing.T) {
	c := start(t, newTiny())
	if out := c.Outputs(c.Send(jupytertest.Control, "create_subshell_request", struct{}{})); len(out) != 0 {
		t.Errorf("%v", out)
	}
	c.RequestOn(jupytertest.Control, "kernel_info_request", struct{}{})
	if w := c.Waiting(jupytertest.Control); len(w) != 0 {
		t.Errorf("%v", w)
	}
}

func TestInterruptIdle(t *testing.T) {
	c := start(t, newTiny())
	if m := c.Interrupt(); m.Kind != "interrupt_reply" || m.Text("status") != "ok" {
		t.Errorf("%v", m)
	}
	if r := c.Run("print a"); r.Stdout() != "a\n" {
		t.Errorf("the next cell was hit: %v", r.Reply)
	}
}

// An interrupt stops the cell and, whatever their stop_on_error says, those behind it.
func TestInterruptRunning(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	for _, stop := range []bool{true, false} {
		first := c.Execute("print a\nforever", jupytertest.With("stop_on_error", stop))
		second := c.Execute("print second")
		<-h.hold
		if m := c.Interrupt(); m.Text("status") != "ok" {
			t.Errorf("%v", m)
		}
		if r := c.Wait(first); r.Status() != "error" || r.Reply.Text("ename") != "Interrupted" || r.Kinds() != "execute_input stream error" {
			t.Errorf("%v %v", r.Reply, r.Outputs)
		}
		if r := c.Wait(second); r.Status() != "aborted" {
			t.Errorf("%v", r.Reply)
		}
		if r := c.Run("print third"); r.Stdout() != "third\n" {
			t.Errorf("after an interrupt: %v", r.Reply)
		}
	}
}

func TestInterruptOfQuestion(t *testing.T) {
	c := start(t, newTiny())
	id := c.Execute("ask name?", jupytertest.With("allow_stdin", true))
	q := c.Question()
	c.Interrupt()
	if r := c.Wait(id); r.Status() != "error" || r.Reply.Text("ename") != "Interrupted" {
		t.Errorf("%v", r.Reply)
	}
	// The answer that was being typed names its question, so it is not taken for that of the next one. (One that names
	// none is dropped if it comes before the next question; sockets have no order among each other, so no test says so.)
	c.Answer(q, "late")
	id = c.Execute("ask again?", jupytertest.With("allow_stdin", true))
	again := c.Question()
	c.Answer(q, "later still")
	c.Answer(again, "right")
	if r := c.Wait(id); r.Stdout() != "right" {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}
}

// Ctrl+C in the terminal does the same.
func TestInterruptBySignal(t *testing.T) {
	h := newTiny()
	signals := make(chan os.Signal, 1)
	c := start(t, h, func(c *Config) { c.Interrupts = signals })
	id := c.Execute("forever")
	<-h.hold
	signals <- os.Interrupt
	if r := c.Wait(id); r.Reply.Text("ename") != "Interrupted" {
		t.Errorf("%v", r.Reply)
	}
}

func TestShutdown(t *testing.T) {
	for _, channel := range []string{jupytertest.Control, jupytertest.Shell} {
		t.Run(channel, func(t *testing.T) {
			c := start(t, newTiny())
			c.Run("print a")
			id := c.Send(channel, "shutdown_request", map[string]bool{"restart": true})
			if m := c.Reply(channel, id); m.Kind != "shutdown_reply" || m.Text("restart") != "true" || m.Text("status") != "ok" {
				t.Errorf("%v", m)
			}
			out := c.Outputs(id)
			if len(out) != 1 || out[0].Kind != "shutdown_reply" || out[0].Text("restart") != "true" {
				t.Errorf("on iopub: %v", out)
			}
			c.Ended()
		})
	}
}

// A shutdown stops the running cell, and what it says last still arrives, before the broadcast.
func TestShutdownWhileRunning(t *testing.T) {
	h := newTiny()
	c := start(t, h)
	cell := c.Execute("print a\nforever")
	<-h.hold
	c.Take(jupytertest.IOPub, "the text", func(m jupytertest.Message) bool { return m.Kind == "stream" })
	id := c.Send(jupytertest.Control, "shutdown_request", map[string]bool{"restart": false})
	if m := c.Reply(jupytertest.Control, id); m.Text("restart") != "false" {
		t.Errorf("%v", m)
	}
	if m := c.Reply(jupytertest.Shell, cell); m.Text("status") != "error" {
		t.Errorf("%v", m)
	}
	var order []string
	for len(order) == 0 || order[len(order)-1] != "shutdown idle" {
		m := c.Next(jupytertest.IOPub)
		whose := map[string]string{cell: "cell", id: "shutdown"}[m.ParentID]
		order = append(order, whose+" "+map[bool]string{true: m.Text("execution_state"), false: m.Kind}[m.Kind == "status"])
	}
	want := " starting, cell busy, cell execute_input, shutdown busy, cell error, cell idle, shutdown shutdown_reply, shutdown idle"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c.Ended()
}

// A cell that doesn't listen can't keep the kernel alive.
func TestShutdownOfAStubbornCell(t *testing.T) {
	h := newTiny()
	c := start(t, h, tight(func(l *limits) { l.stop = l.stream }))
	c.Execute("stubborn")
	<-h.hold
	id := c.Send(jupytertest.Control, "shutdown_request", map[string]bool{"restart": false})
	c.Reply(jupytertest.Control, id)
	c.Ended()
	h.hold <- "go" // let its goroutine end
}

func TestEndOfContext(t *testing.T) {
	h := newTiny()
	ctx, cancel := context.WithCancel(t.Context())
	c := jupytertest.Start(t, func(_ context.Context, file string) error { return Serve(ctx, config(t, file), h) })
	id := c.Execute("print a\nforever")
	<-h.hold
	cancel()
	if r := c.Wait(id); r.Status() != "error" || r.Stdout() != "a\n" {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}
	c.Ended()
}

// A kernel is at rest after each request, once, and never while a cell runs.
func TestAtRest(t *testing.T) {
	h := newTiny()
	rest := make(chan struct{}, 100)
	c := start(t, h, tight(func(l *limits) { l.rest = 1 }), func(c *Config) { c.AtRest = func() { rest <- struct{}{} } })
	<-rest // nothing was asked yet
	for range 3 {
		id := c.Execute("hold")
		<-h.hold
		c.RequestOn(jupytertest.Control, "kernel_info_request", struct{}{})
		if len(rest) > 0 {
			t.Error("at rest while a cell runs")
		}
		h.hold <- "go"
		c.Wait(id)
		<-rest
		if len(rest) > 0 {
			t.Error("at rest twice")
		}
	}
}
