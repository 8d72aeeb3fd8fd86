package engine

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/easeml/easeml/gpu/trial"
)

// child is a process that we started, the leader of its own group.
type child struct {
	pid     int
	started uint64        // see startOf; 0 = unknown
	done    chan struct{} // closed when it has been waited for
	code    int           // after done: exit status, -1 when a signal ended it
	signal  string        // after done
}

// launch starts a command as the leader of a new process group. With tied, the kernel kills it when this process dies:
// it does so when the *thread* that started it ends, so one goroutine keeps that thread until the child has left.
func launch(cmd *exec.Cmd, tied bool) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if tied {
		dieWithParent(cmd.SysProcAttr)
	}
	c := &child{done: make(chan struct{})}
	begun := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			begun <- err
			return
		}
		c.pid = cmd.Process.Pid
		c.started = identify(c.pid)
		begun <- nil
		err := cmd.Wait()
		c.code, c.signal = exitOf(cmd.ProcessState, err)
		close(c.done)
	}()
	if err := <-begun; err != nil {
		return nil, err
	}
	return c, nil
}

func exitOf(state *os.ProcessState, err error) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, trial.SignalOf(int(ws.Signal()))
	}
	return state.ExitCode(), ""
}

// ended reports whether the child itself has left; others of its group may be there still.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill signals the child's group.
func (c *child) kill(sig syscall.Signal) { killGroup(c.pid, c.started, sig) }

// killGroup signals a process group, unless its leader's pid belongs to another process by now. With started = 0 the
// leader is not known and taken on trust. It reports whether there is anybody left to signal.
func killGroup(leader int, started uint64, sig syscall.Signal) bool {
	if leader <= 1 { // 0 is our own group, 1 everybody
		return false
	}
	now, there := startOf(leader)
	if there && started != 0 && now != started {
		return false
	}
	if !errors.Is(syscall.Kill(-leader, sig), syscall.ESRCH) {
		return true
	}
	// A child that was forked just now has not made its group yet.
	return there && now == started && !errors.Is(syscall.Kill(leader, sig), syscall.ESRCH)
}

// groupLives reports whether the leader, or anybody else of its group, is still at work.
func groupLives(leader int, started uint64) bool {
	now, there := startOf(leader)
	if there && started != 0 && now != started {
		return false
	}
	return there && alive(leader) || len(members()[leader]) > 0
}

// secrets are not the trainer's business: it runs candidates that a lab wrote.
var secrets = []string{"EASEML_TOKEN", "JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN"}

// environment is this process's own without secrets, with the given assignments over it.
func environment(over ...map[string]string) []string {
	replaced := map[string]bool{}
	for _, name := range secrets {
		replaced[name] = true
	}
	for _, m := range over {
		for name := range m {
			replaced[name] = true
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !replaced[name] {
			env = append(env, v)
		}
	}
	last := map[string]string{}
	for _, m := range over {
		for name, value := range m {
			last[name] = value
		}
	}
	for name, value := range last {
		env = append(env, name+"="+value)
	}
	return env
}

// quiet are the settings of every Python that we start: the working directory is not searched for modules, output is
// not held back, and threads that wait sleep instead of spinning (a step beside a busy process else takes tenfold).
var quiet = map[string]string{"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": "PASSIVE"}
