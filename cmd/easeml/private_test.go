package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/easeml/easeml/api/connect"
)

// servers counts the private servers of a state folder.
func servers(t *testing.T, state string) (n int) {
	t.Helper()
	for _, words := range descendants(t, state) {
		if strings.HasPrefix(words, binary+" server --private") {
			n++
		}
	}
	return n
}

// TestSixtyNotebooksStartOneServer: sixty programs that need a server at the same
// time make one, and end it once.
func TestSixtyNotebooksStartOneServer(t *testing.T) {
	folder := t.TempDir()
	state := filepath.Join(folder, "state")
	for name, text := range map[string]string{"site.json": "{}", "cell.easeml": "server; tasks"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environment := append(os.Environ(), "EASEML_SITE="+filepath.Join(folder, "site.json"), "EASEML_STATE="+state, "EASEML_PYTHON="+python(t),
		"EASEML_SERVER=", "EASEML_TOKEN=", "GOMAXPROCS=1")
	stop := func() {
		cmd := exec.Command(binary, "server", "stop")
		cmd.Env = environment
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v", out, err)
		}
	}
	defer stop()
	var wait sync.WaitGroup
	outs := make([]string, 60)
	for i := range outs {
		wait.Go(func() {
			cmd := exec.CommandContext(t.Context(), binary, "run", "cell.easeml")
			cmd.Dir, cmd.Env = folder, environment
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("notebook %d: %s%v", i, out, err)
			}
			outs[i] = string(out)
		})
	}
	wait.Wait()
	started, address := 0, address.FindString(outs[0])
	for i, out := range outs {
		if !strings.Contains(out, address+" · private server, yours alone") || !strings.Contains(out, "No tasks yet") {
			t.Errorf("notebook %d: %s", i, out)
		}
		if strings.Contains(out, "it was started for this notebook") {
			started++
		}
	}
	if n := servers(t, state); address == "" || started != 1 || n != 1 {
		t.Errorf("%d notebooks started a server, %d run, at %q", started, n, address)
	}
	stop()
	if n := servers(t, state); n != 0 {
		t.Errorf("%d servers run after the stop", n)
	}
	if _, recorded := connect.ReadRecord(state); recorded {
		t.Error("the record is still there")
	}
}

// TestPrivateServerLeaves by itself when nobody uses it, and takes its record and
// its processes with it.
func TestPrivateServerLeaves(t *testing.T) {
	state := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "server", "--private", "--state", state, "--idle", "200ms", "--devices", "cpu:1", "--python", python(t))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if !strings.Contains(log.String(), "nobody has used this private server") {
		t.Errorf("it left for another reason:\n%s", log.String())
	}
	if _, recorded := connect.ReadRecord(state); recorded {
		t.Error("the record is still there")
	}
	if left := descendants(t, state); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestNoPrivateServerInALab: where a site's file names a server, a statement fails
// with a sentence, and nothing is started or written.
func TestNoPrivateServerInALab(t *testing.T) {
	folder := t.TempDir()
	state := filepath.Join(folder, "state")
	site := filepath.Join(folder, "site.json")
	for path, text := range map[string]string{site: `{"server": "http://127.0.0.1:1"}`, filepath.Join(folder, "cell.easeml"): "tasks"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "run", "cell.easeml")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "EASEML_SITE="+site, "EASEML_STATE="+state, "EASEML_SERVER=", "EASEML_TOKEN=")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "This lab's server is not running. No private one was started") {
		t.Errorf("%s%v", out, err)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("a state folder was made")
	}
	if left := descendants(t, state); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
