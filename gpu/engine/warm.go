package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/easeml/easeml/gpu/trial"
)

// warmParent is one process "python -m easeml.trainer serve". Owned by the engine's loop, but for its two pumps.
type warmParent struct {
	child  *child
	orders chan trial.Order // to the pump that writes; closed by hangUp
	ready  bool
	hungUp bool // no order will be sent any more
	since  time.Time
	reason string // why it is being ended, where we know
}

// maxLog is how long the warm parent's log may be before it is begun anew.
const maxLog = 8 << 20

// startWarmParent starts a parent; when it cannot be had, it is tried again after the backoff.
func (l *Local) startWarmParent() {
	if l.ending || l.warm != nil {
		return
	}
	w, err := l.launchWarmParent()
	if err != nil {
		l.state.Reason = fmt.Sprintf("The warm parent could not be started: %v", err)
		l.o.Logger.Warn("the warm parent could not be started", "error", err)
		l.againLater()
		return
	}
	l.warm = w
	l.state.PID = w.child.pid
	l.afterwards(readyWithin, func() {
		if l.warm == w && !w.ready {
			w.reason = "it was not ready in time"
			w.child.kill(syscall.SIGKILL)
		}
	})
}

func (l *Local) launchWarmParent() (*warmParent, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(l.o.Log); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(l.o.Log, flags, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	cmd := exec.Command(l.o.Python, "-m", "easeml.trainer", "serve")
	cmd.Env = environment(quiet, l.o.Env, map[string]string{markName: l.mark})
	cmd.Dir = l.o.Root
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, log
	// Not tied: the end of its input tells it that we have gone, and it must live long enough to end its children.
	c, err := launch(cmd, false)
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	w := &warmParent{child: c, orders: make(chan trial.Order, 1024), since: l.o.Clock.Now()}
	go w.write(in)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer out.Close()
		eachLine(out, func(line []byte) {
			var word trial.Word
			if json.Unmarshal(line, &word) == nil {
				l.post(func() { l.hear(w, word) })
			}
		})
	}()
	go func() {
		<-c.done
		c.kill(syscall.SIGKILL)
		// Its last words come before its end. Whoever outlives it and holds the pipe is not waited for.
		out.SetReadDeadline(time.Now().Add(time.Second))
		<-heard
		l.post(func() { l.warmParentLeft(w) })
	}()
	return w, nil
}

// write passes orders on until there are no more; then the parent's input ends.
func (w *warmParent) write(in *os.File) {
	defer in.Close()
	for o := range w.orders {
		line, err := json.Marshal(o)
		if err == nil {
			_, err = in.Write(append(line, '\n'))
		}
		if err != nil {
			// It has left, which is noticed elsewhere; the rest is not wanted by anybody.
			continue
		}
	}
}

// order queues one line. A parent that has let a thousand pile up does not read any more.
func (w *warmParent) order(o trial.Order) {
	if w.hungUp {
		return
	}
	select {
	case w.orders <- o:
	default:
		w.reason = "it did not read its orders any more"
		w.child.kill(syscall.SIGKILL)
	}
}

// hangUp ends the parent's input: it kills its groups and leaves.
func (w *warmParent) hangUp() {
	if !w.hungUp {
		w.hungUp = true
		close(w.orders)
	}
}

// hear takes in one line of the parent.
func (l *Local) hear(w *warmParent, word trial.Word) {
	if l.warm != w {
		return
	}
	switch {
	case word.Error != "":
		l.o.Logger.Warn("the warm parent did not understand an order", "error", word.Error)
	case word.Ready != nil:
		w.ready = true
		l.state.Ready, l.state.Says = true, word.Ready
		l.settle()
	case word.Started != "":
		a := l.attempts[word.Started]
		if a == nil || !a.warm {
			return
		}
		a.pid = word.PID
		a.started = identify(a.pid)
		l.tell(Notice{Folder: a.job.Folder, Kind: Started, PID: a.pid, Warm: true})
		if !a.killed.IsZero() {
			a.kill(syscall.SIGKILL)
		}
	case word.Event != "":
		if a := l.attempts[word.Event]; a != nil {
			l.lookAtEvents(a)
		}
	case word.Ended != "":
		a := l.attempts[word.Ended]
		if a == nil || !a.warm {
			return
		}
		code := -1
		if word.Code != nil && *word.Code >= 0 && word.Signal == "" {
			code = *word.Code
		} else if word.Code != nil && *word.Code < 0 && word.Signal == "" {
			word.Signal = trial.SignalName(trial.SignalOf(-*word.Code))
		}
		a.peak = max(a.peak, word.PeakBytes)
		if a.message == "" {
			a.message = word.Message
		}
		l.leave(a, code, string(word.Signal))
	}
}

// warmParentLeft ends what the parent had forked, as lost, and starts another after the backoff.
func (l *Local) warmParentLeft(w *warmParent) {
	if l.warm != w {
		return
	}
	w.hangUp()
	l.warm = nil
	l.state.Ready, l.state.PID = false, 0
	why := w.reason
	switch {
	case why != "":
	case w.child.signal != "":
		why = "it was ended by signal " + w.child.signal
	default:
		why = fmt.Sprintf("it left with status %d", w.child.code)
		if line := lastLine(l.o.Log); line != "" && w.child.code != 0 {
			why += ": " + line
		}
	}
	if !l.ending {
		l.state.Reason = "The warm parent has gone: " + why + "."
		l.o.Logger.Warn("the warm parent has gone", "why", why)
	}
	l.killOrphans()
	for _, a := range l.attempts {
		if a.warm && !a.left {
			if !(a.cause == trial.CauseNoFirstEvent && !l.ending) {
				a.lose("The trainer that it was part of ended: " + why + ".")
			}
			l.leave(a, -1, "KILL")
		}
	}
	if w.ready && l.o.Clock.Now().Sub(w.since) > lastBackoff {
		l.backoff = firstBackoff
	}
	l.againLater()
}

// killOrphans kills every process of this engine that belongs to no cold attempt: what a parent has forked must not
// outlive it, also where it had no time to say so.
func (l *Local) killOrphans() {
	cold := map[int]bool{}
	for _, a := range l.attempts {
		if !a.warm {
			cold[a.pid] = true
		}
	}
	for _, pid := range marked(l.mark) {
		if g := groupOf(pid); g != 0 && !cold[g] {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// againLater starts another parent after a pause that doubles each time.
func (l *Local) againLater() {
	l.settle()
	if l.ending {
		return
	}
	l.state.Restarts++
	l.afterwards(l.backoff, l.startWarmParent)
	l.backoff = min(2*l.backoff, lastBackoff)
}

// afterwards has the loop do something later, unless the engine is closed before.
func (l *Local) afterwards(d time.Duration, f func()) {
	later := l.o.Clock.After(d)
	go func() {
		select {
		case <-later:
			l.post(f)
		case <-l.closing:
		case <-l.gone:
		}
	}()
}
