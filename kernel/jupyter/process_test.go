package jupyter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

// beKernel is the test program as a kernel: argument "kernel" serves, "launcher" starts such a process and waits for its input to end.
func beKernel(role, file string) {
	if role == "launcher" {
		cmd := exec.Command(os.Args[0], "kernel")
		cmd.Env = append(os.Environ(), "JPY_PARENT_PID="+strconv.Itoa(os.Getpid()))
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(cmd.Process.Pid)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if role != "kernel" { // started by a kernelspec, which passes the connection file
		file = role
	}
	c := Config{ConnectionFile: file, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), HistoryFile: os.Getenv("TINY_HISTORY"), Info: config(nil, "").Info}
	if d, err := time.ParseDuration(os.Getenv("TINY_QUIET")); err == nil {
		c.limits = defaultLimits()
		c.limits.quiet, c.limits.settle = d, 4*d
	}
	if err := Serve(context.Background(), c, newTiny()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// The kernel ends when the process that started it does, however that ended.
func TestEndsWithItsParent(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	launcher := exec.Command(os.Args[0], "launcher")
	launcher.Env = append(os.Environ(), "TINY_KERNEL="+f.Path)
	stdin, err := launcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := launcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%q", line)
	}
	c := jupytertest.Connect(t, f)
	alwaysAnswers(t, c)
	conn := f.Dial(t, jupytertest.HB)
	launcher.Process.Kill()
	launcher.Wait()
	ends(t, conn) // the kernel's sockets close with it
	if p, err := os.FindProcess(pid); err == nil && t.Failed() {
		p.Kill()
	}
}

// A busy port ends the process with an exit code and the port on stderr.
func TestExitOnAddressInUse(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.IOPub)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd := exec.Command(os.Args[0], "kernel")
	cmd.Env = append(os.Environ(), "TINY_KERNEL="+f.Path)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), strconv.Itoa(f.IOPub)) {
		t.Errorf("%v: %s", err, out)
	}
}

// python finds the Python with Jupyter's own client, which speaks through libzmq.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no .venv/bin/python (make setup lays it down)")
	}
	if err := exec.Command(path, "-c", "import jupyter_client, jupyter_kernel_test, jupyter_server, nbclient").Run(); err != nil {
		t.Skip(".venv has no jupyter_client, jupyter_kernel_test, jupyter_server and nbclient (make setup installs them)")
	}
	return path
}

// script runs a Python program of testdata in which a kernel named tiny is installed.
func script(t *testing.T, args ...string) {
	t.Helper()
	py := python(t)
	dir := t.TempDir()
	spec := filepath.Join(dir, "kernels", "tiny")
	if err := os.MkdirAll(spec, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{
		"argv": []string{os.Args[0], "{connection_file}"}, "display_name": "tiny", "language": "tiny", "interrupt_mode": "message",
		"kernel_protocol_version": ProtocolVersion,
		"env":                     map[string]string{"TINY_KERNEL": "spec", "TINY_HISTORY": filepath.Join(dir, "history.jsonl")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spec, "kernel.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the peer suite can hang
	defer cancel()
	cmd := exec.CommandContext(ctx, py, args...)
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "JUPYTER_RUNTIME_DIR="+filepath.Join(dir, "runtime"), "JUPYTER_PREFER_ENV_PATH=0", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "skipped") {
		t.Errorf("a test of the peer suite was skipped:\n%s", out)
	}
	t.Logf("%s", out)
}

// The peer suite of all kernels, over libzmq, without a skip.
func TestPeerSuite(t *testing.T) { script(t, "-m", "unittest", "-v", "peer") }

// Displays that go on while other cells run, as programs that run notebooks see them.
func TestNBClient(t *testing.T) { script(t, "notebook.py") }

// As JupyterLab meets a kernel: through a Jupyter server. That may be slow here to pass on the cells of a "Run All".
func TestPeerServer(t *testing.T) {
	t.Setenv("TINY_QUIET", "500ms")
	script(t, "server.py")
}

// What the peer suite leaves out.
func TestPeerClient(t *testing.T) { script(t, "client.py") }
