//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCells talks to a real process as another program does: with a private server
// behind it, requests in flight, questions, interrupts of both kinds, and an end in
// the middle of a cell.
func TestCells(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "site.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "EASEML_SITE="+filepath.Join(folder, "site.json"), "EASEML_STATE="+filepath.Join(folder, "state"),
		"EASEML_PYTHON="+python(t), "EASEML_SERVER=", "EASEML_TOKEN=")
	t.Cleanup(func() {
		stop := exec.Command(binary, "server", "stop")
		stop.Env = environment
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%s%v", out, err)
		}
	})
	cmd := exec.CommandContext(t.Context(), binary, "cells", "--stdio")
	cmd.Dir, cmd.Env = folder, environment
	var stderr strings.Builder
	cmd.Stderr = &stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Type, Name, Text, Status string
		Request                  any
		Start, End               int
		Data                     map[string]any
		Matches                  []struct{ Text string }
	}
	come := make(chan line, 1000)
	go func() {
		defer close(come)
		for lines := bufio.NewReader(from); ; {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			come <- l
		}
	}()
	var kept []line
	take := func(kind string, request any) line {
		t.Helper()
		for i, l := range kept {
			if l.Type == kind && l.Request == request {
				kept = append(kept[:i:i], kept[i+1:]...)
				return l
			}
		}
		late := time.After(time.Minute)
		for {
			select {
			case l, more := <-come:
				if !more {
					t.Fatalf("it ended before a %s of %v: %s; there is %+v", kind, request, stderr.String(), kept)
				}
				if l.Type == kind && l.Request == request {
					return l
				}
				kept = append(kept, l)
			case <-late:
				t.Fatalf("no %s of %v; there is %+v", kind, request, kept)
			}
		}
	}
	say := func(format string, values ...any) {
		t.Helper()
		if _, err := fmt.Fprintf(to, format+"\n", values...); err != nil {
			t.Fatal(err)
		}
	}
	take("ready", nil)

	const declared = `schema boxes { input: {[a :: Tensor[1]], []}, output: {[kind :: Class[2]], []} }`
	say(`{"type": "execute", "request": 1, "code": %q}`, declared)
	if l := take("display", 1.0); !strings.Contains(fmt.Sprint(l.Data["text/plain"]), "boxes · ") {
		t.Errorf("%+v", l)
	}
	take("done", 1.0)

	// Two cells and a completion in flight; the line that is none costs nothing.
	say(`{"type": "execute", "request": 2, "code": "watch boxes\nwait boxes until 5m"}`)
	for range 3 { // chart, table, and what is waited for
		take("display", 2.0)
	}
	say(`{"type": "execute", "request": 3, "code": "boxes.examples"}`)
	say(`no request`)
	say(`{"type": "complete", "request": 4, "code": "best bo", "cursor": 7}`)
	if l := take("error", nil); !strings.HasPrefix(l.Text, "Line 4 is no request") {
		t.Errorf("%+v", l)
	}
	if l := take("done", 4.0); len(l.Matches) != 1 || l.Matches[0].Text != "boxes" || l.Start != 5 || l.End != 7 {
		t.Errorf("%+v", l)
	}
	say(`{"type": "interrupt", "request": 5, "of": 2}`)
	take("done", 5.0)
	if l := take("error", 2.0); l.Name != "Interrupted" || !strings.Contains(l.Text, "the search for boxes goes on") {
		t.Errorf("%+v", l)
	}
	if l := take("result", 3.0); l.Data["text/plain"] != "0" {
		t.Errorf("%+v", l)
	}

	// By a signal, as of Ctrl+C.
	say(`{"type": "execute", "request": 6, "code": "wait boxes until 5m"}`)
	take("display", 6.0)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	take("error", 6.0)

	say(`{"type": "execute", "request": 7, "code": "drop boxes", "ask": true}`)
	if l := take("question", 7.0); !strings.Contains(l.Text, "boxes") {
		t.Errorf("%+v", l)
	}
	say(`{"type": "answer", "text": "no"}`)
	if l := take("done", 7.0); l.Status != "ok" {
		t.Errorf("%+v", l)
	}

	// Its program ends in the middle of a cell: so does it, at once and in order.
	say(`{"type": "execute", "request": 8, "code": "wait boxes until 5m"}`)
	take("display", 8.0)
	to.Close()
	take("error", 8.0)
	take("done", 8.0)
	for l := range come {
		if l.Type != "update" {
			t.Errorf("after the end: %+v", l)
		}
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, stderr.String())
	}
	if err := syscall.Kill(cmd.Process.Pid, 0); err == nil {
		t.Error("the process is still there")
	}
}
