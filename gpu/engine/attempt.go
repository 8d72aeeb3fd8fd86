package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/easeml/easeml/gpu/trial"
)

// attempt is a folder that runs. Owned by the engine's loop.
type attempt struct {
	job     Job
	warm    bool   // forked by the warm parent
	retried bool   // this is the cold try after a warm one
	pid     int    // leader of its group; 0 = not known yet
	started uint64 // see startOf
	child   *child // of a cold one

	since  time.Time // when this try began
	spoke  bool      // its first event has been seen
	size   int64     // of events.jsonl when last looked at
	peak   int64     // private bytes
	killed time.Time // when the engine killed it; zero = it did not

	asked   bool   // somebody sent TERM or KILL: no second try
	left    bool   // the leader has gone, others of the group are awaited
	code    int    // after left
	signal  string // after left
	cause   string
	message string
}

// begin runs an attempt's first try: warm when that is to be had, else cold.
func (l *Local) begin(a *attempt) error {
	a.size = eventsSize(a.job.Folder)
	if l.warm != nil && l.warm.ready && !l.warm.hungUp {
		a.warm = true
		a.since = l.o.Clock.Now()
		l.attempts[a.job.Folder] = a
		l.warm.order(trial.Order{Run: a.job.Folder, Command: a.job.Command, Env: l.jobEnv(a.job), Limits: limits(a.job)})
		return nil
	}
	return l.beginCold(a)
}

func limits(job Job) map[string]int64 {
	m := map[string]int64{"threads": int64(max(job.Threads, 1))}
	if job.MemoryBytes > 0 {
		m["memory_bytes"] = job.MemoryBytes
	}
	return m
}

func (l *Local) jobEnv(job Job) map[string]string {
	threads := fmt.Sprint(max(job.Threads, 1))
	env := map[string]string{"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
	for k, v := range job.Env {
		env[k] = v
	}
	return env
}

// beginCold runs a process of its own for the folder.
func (l *Local) beginCold(a *attempt) error {
	log, err := os.OpenFile(filepath.Join(a.job.Folder, trial.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", a.job.Folder, err)
	}
	defer log.Close()
	cmd := exec.Command(l.o.Python, "-m", "easeml.trainer", a.job.Command, a.job.Folder)
	cmd.Env = environment(quiet, l.o.Env, l.jobEnv(a.job), map[string]string{markName: l.mark})
	cmd.Dir = a.job.Folder
	cmd.Stdout, cmd.Stderr = log, log
	c, err := launch(cmd, true)
	if err != nil {
		return fmt.Errorf("start %s with %s: %w", a.job.Folder, l.o.Python, err)
	}
	a.warm, a.child, a.pid, a.started = false, c, c.pid, c.started
	a.since, a.killed, a.spoke, a.left = l.o.Clock.Now(), time.Time{}, false, false
	l.attempts[a.job.Folder] = a
	l.tell(Notice{Folder: a.job.Folder, Kind: Started, PID: a.pid})
	go func() {
		<-c.done
		l.post(func() {
			if a.child == c {
				l.leave(a, c.code, c.signal)
			}
		})
	}()
	return nil
}

// signal passes a signal on. A warm child is signalled by its parent, which knows whether it is still there.
func (l *Local) signal(a *attempt, name string, sig syscall.Signal) {
	if sig == syscall.SIGUSR1 && !a.spoke {
		return
	}
	if sig != syscall.SIGUSR1 {
		a.asked = true
	}
	if a.warm && l.warm != nil {
		l.warm.order(trial.Order{Signal: a.job.Folder, Name: name})
	}
	switch {
	case sig == syscall.SIGUSR1 && !a.warm:
		// Only the leader listens; the others of its group would die of it.
		if a.child != nil && !a.child.ended() {
			syscall.Kill(a.pid, sig)
		}
	case !a.warm || sig == syscall.SIGKILL:
		a.kill(sig)
	}
	if sig == syscall.SIGKILL && a.killed.IsZero() {
		a.killed = l.o.Clock.Now()
	}
}

// kill signals the group where it is known.
func (a *attempt) kill(sig syscall.Signal) {
	if a.pid != 0 {
		killGroup(a.pid, a.started, sig)
	}
}

// endFor kills an attempt and remembers why.
func (l *Local) endFor(a *attempt, cause, message string) {
	asked := a.asked
	a.cause, a.message = cause, message
	l.signal(a, "KILL", syscall.SIGKILL)
	a.asked = asked
}

// lose marks an attempt as lost unless the engine has another word for its end already.
func (a *attempt) lose(message string) {
	if a.cause == "" || a.cause == trial.CauseNoFirstEvent {
		a.cause, a.message = trial.CauseLost, message
	}
}

// leave notes that the leader has gone, and sends the rest of its group after it.
func (l *Local) leave(a *attempt, code int, signal string) {
	if a.left || l.attempts[a.job.Folder] != a {
		return
	}
	a.left, a.code, a.signal = true, code, signal
	l.afterLeaving(a)
}

// afterLeaving ends the attempt as soon as its group is empty: until then it holds memory and the device.
func (l *Local) afterLeaving(a *attempt) {
	if a.pid != 0 && killGroup(a.pid, a.started, syscall.SIGKILL) && groupLives(a.pid, a.started) {
		return // look comes again
	}
	if a.warm && a.cause == trial.CauseNoFirstEvent && !a.asked && !l.ending {
		a.cause, a.message, a.retried, a.pid, a.started = "", "", true, 0, 0
		err := l.beginCold(a)
		if err == nil {
			l.o.Logger.Warn("no first event from a warm start, trying it cold", "folder", a.job.Folder)
			return
		}
		a.cause, a.message = trial.CauseLost, err.Error()
	}
	if a.code == 0 && a.cause == trial.CauseLost {
		a.cause, a.message = "", "" // it made it in time
	}
	delete(l.attempts, a.job.Folder)
	l.tell(Notice{Folder: a.job.Folder, Kind: Ended, Warm: a.warm, Code: a.code, Signal: a.signal, PeakBytes: a.peak,
		Cause: a.cause, Message: a.message})
}
