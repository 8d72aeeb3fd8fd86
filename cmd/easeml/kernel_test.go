//go:build unix

package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

// kernelAt starts a kernel as Jupyter does, in an environment with these variables and no others.
func kernelAt(t *testing.T, f *jupytertest.File, environment ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, "kernel", "--connection-file", f.Path)
	cmd.Dir, cmd.Env = t.TempDir(), environment
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	return cmd
}

// TestKernelWithoutPath: some frontends start kernels with another PATH than a
// person's, or none; nothing that the kernel needs is looked up there.
func TestKernelWithoutPath(t *testing.T) {
	state := t.TempDir()
	f := jupytertest.NewFile(t, "ipc")
	environment := []string{"HOME=" + t.TempDir(), "EASEML_STATE=" + state, "EASEML_PYTHON=" + python(t)}
	cmd := kernelAt(t, f, environment...)
	c := jupytertest.Connect(t, f)
	if r := c.Run(`print "hello"; 7`); r.Stdout() != "hello\n" || r.First("execute_result").Text("data", "text/plain") != "7" {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}
	r := c.Run("server")
	if text := r.First("display_data").Text("data", "text/plain"); !strings.Contains(text, "private server, yours alone") {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}

	// Ctrl+C in the terminal reaches the whole group: it ends the cell, neither the kernel nor the server that it has started.
	c.Run("schema boxes {input: {[a :: Tensor[1]], []}, output: {[kind :: Class[2]], []}}")
	id := c.Execute("wait boxes until 5m")
	c.Take(jupytertest.IOPub, "the wait", func(m jupytertest.Message) bool { return m.Kind == "display_data" && m.ParentID == id })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if r := c.Wait(id); r.Reply.Text("ename") != "Interrupted" {
		t.Errorf("%v", r.Reply)
	}
	if r := c.Run("boxes.examples"); r.First("execute_result").Text("data", "text/plain") != "0" {
		t.Errorf("%v %v", r.Reply, r.Outputs)
	}
	if n := servers(t, state); n != 1 {
		t.Errorf("%d servers run", n)
	}

	// A shutdown ends the kernel and leaves the server, which others may use.
	c.Reply(jupytertest.Control, c.Send(jupytertest.Control, "shutdown_request", map[string]bool{"restart": false}))
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	if n := servers(t, state); n != 1 {
		t.Errorf("%d servers run after the kernel's end", n)
	}
	stop := exec.Command(binary, "server", "stop")
	stop.Env = environment
	if out, err := stop.CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
}

// TestKernelThatCannotStart ends with a status and one sentence, and not in a panic.
func TestKernelThatCannotStart(t *testing.T) {
	taken := jupytertest.NewFile(t, "tcp")
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(taken.HB)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	md5 := jupytertest.NewFile(t, "ipc")
	md5.Scheme = "hmac-md5"
	md5.Write(t)
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage.json")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		taken.Path:                         "port " + strconv.Itoa(taken.HB) + " is taken",
		md5.Path:                           "signature scheme",
		garbage:                            "not a JSON object",
		filepath.Join(folder, "none.json"): "can't be read",
	} {
		cmd := exec.Command(binary, "kernel", "--connection-file", path)
		cmd.Env = []string{"HOME=" + folder, "EASEML_STATE=" + folder}
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), want) || strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
			t.Errorf("%s: %v, %s", path, err, out)
		}
	}
}

// TestKernelEndsByTerm: the manager's SIGTERM ends it in order.
func TestKernelEndsByTerm(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	cmd := kernelAt(t, f, "EASEML_STATE="+t.TempDir())
	c := jupytertest.Connect(t, f)
	c.Run("print 1")
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(f.IP + "-1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket is left: %v", err)
	}
}
