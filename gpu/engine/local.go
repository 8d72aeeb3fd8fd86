package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Options of a Local engine. Python, Root and Log must be given.
type Options struct {
	Python string            // the interpreter that has easeml.trainer
	Root   string            // folder under which the attempts' folders lie, one engine a root; see Sweep
	Log    string            // file for what the warm parent prints
	Env    map[string]string // over this process's own, for every trainer
	Cold   bool              // keep no warm parent
	Grace  time.Duration     // what Close gives before it kills; 0 = 5 s
	Clock  Clock             // nil = the system's
	Logger *slog.Logger      // nil = none
}

// Times of the engine. A network's imports take 10 s cold on a busy machine, hence the long wait there.
const (
	firstEventWarm = 30 * time.Second
	firstEventCold = 120 * time.Second
	readyWithin    = 120 * time.Second // the warm parent's imports
	killedWithin   = 10 * time.Second  // a killed warm child that is not reported ended: its parent hangs
	lookEvery      = 250 * time.Millisecond
	measureEvery   = time.Second
	firstBackoff   = time.Second
	lastBackoff    = time.Minute
	defaultGrace   = 5 * time.Second
)

// Local is the engine of this machine. One goroutine owns its state; everything else sends it work.
type Local struct {
	o       Options
	mark    string // see markOf
	out     chan Notice
	work    chan func()
	gone    chan struct{} // closed when the loop has ended
	closing chan struct{} // closed when Close was first called
	settled chan struct{} // closed when it is known whether there is a warm parent; see Settled
	once    sync.Once

	// Owned by the loop.
	attempts map[string]*attempt
	queue    []Notice
	warm     *warmParent // the present one, nil between two
	backoff  time.Duration
	state    Warm
	measured time.Time
	ending   bool
	killing  bool
}

// Warm is what is to be said about the warm parent, for doctor.
type Warm struct {
	Ready    bool            // attempts are forked from it
	PID      int             // 0 = there is none now
	Says     json.RawMessage // its ready line: versions
	Reason   string          // why the last one left or could not be started; empty when none did
	Restarts int
}

// NewLocal makes the engine, marks its root, and starts the warm parent, whose failure is no error: see Warm.
func NewLocal(o Options) (*Local, error) {
	if o.Python == "" || !filepath.IsAbs(o.Root) || o.Log == "" {
		return nil, fmt.Errorf("an engine needs a Python, an absolute root and a log, not %q, %q, %q", o.Python, o.Root, o.Log)
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	mark, err := makeMark(o.Root)
	if err != nil {
		return nil, err
	}
	l := &Local{o: o, mark: mark, out: make(chan Notice, 256), work: make(chan func()), gone: make(chan struct{}),
		closing: make(chan struct{}), settled: make(chan struct{}), attempts: map[string]*attempt{}, backoff: firstBackoff}
	go l.loop()
	if o.Cold {
		close(l.settled)
	} else {
		l.post(l.startWarmParent)
	}
	return l, nil
}

var _ Engine = (*Local)(nil)

// Start accepts a folder; see Engine. It fails where not even a process can be made.
func (l *Local) Start(ctx context.Context, job Job) error {
	if err := check(job); err != nil {
		return err
	}
	job.Env = maps.Clone(job.Env)
	return l.call(ctx, func() error {
		if l.ending {
			return fmt.Errorf("start %s: %w", job.Folder, ErrClosed)
		}
		if l.attempts[job.Folder] != nil {
			return fmt.Errorf("start %s: %w", job.Folder, ErrRunning)
		}
		return l.begin(&attempt{job: job})
	})
}

func check(job Job) error {
	if !filepath.IsAbs(job.Folder) || filepath.Clean(job.Folder) != job.Folder {
		return fmt.Errorf("the folder of an attempt must be a clean absolute path, not %q", job.Folder)
	}
	if job.Command != Run && job.Command != Ingest && job.Command != Study {
		return fmt.Errorf("a folder can be run, ingested or studied, not %q", job.Command)
	}
	if info, err := os.Stat(job.Folder); err != nil {
		return fmt.Errorf("start an attempt: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("start an attempt: %s is no folder", job.Folder)
	}
	return nil
}

// Signal sends USR1, TERM or KILL to a running folder; see Engine. USR1 is held back from a process that has
// not spoken yet, for it may not be listening: it will look at control by itself.
func (l *Local) Signal(folder, name string) error {
	sig, ok := map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[name]
	if !ok {
		return fmt.Errorf("an attempt can be sent USR1, TERM or KILL, not %q", name)
	}
	return l.call(context.Background(), func() error {
		a := l.attempts[folder]
		if a == nil {
			return fmt.Errorf("signal %s: %w", folder, ErrNotRunning)
		}
		l.signal(a, name, sig)
		return nil
	})
}

// Notices is the engine's one stream; see Engine.
func (l *Local) Notices() <-chan Notice { return l.out }

// Settled is closed when the first warm parent is ready, or has turned out not to be had. An attempt that is started
// before runs cold, which takes as long as waiting and slows the parent's own start: whoever is in no hurry waits.
func (l *Local) Settled() <-chan struct{} { return l.settled }

// settle closes settled, once. It is called by the loop.
func (l *Local) settle() {
	select {
	case <-l.settled:
	default:
		close(l.settled)
	}
}

// Warm tells about the warm parent.
func (l *Local) Warm() Warm {
	var w Warm
	if l.call(context.Background(), func() error { w = l.state; return nil }) != nil {
		return Warm{Reason: "the engine is closed"}
	}
	return w
}

// post hands work to the loop; it is dropped when the loop has ended.
func (l *Local) post(f func()) {
	select {
	case l.work <- f:
	case <-l.gone:
	}
}

// call has the loop do something and waits for it.
func (l *Local) call(ctx context.Context, f func() error) error {
	result := make(chan error, 1)
	select {
	case l.work <- func() { result <- f() }:
		return <-result
	case <-l.gone:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Local) loop() {
	defer close(l.gone)
	var look <-chan time.Time
	for !l.ending || len(l.attempts) > 0 || l.warm != nil {
		if look == nil && len(l.attempts) > 0 {
			look = l.o.Clock.After(lookEvery)
		}
		var out chan Notice
		var next Notice
		if len(l.queue) > 0 {
			out, next = l.out, l.queue[0]
		}
		select {
		case f := <-l.work:
			f()
		case out <- next:
			l.queue = l.queue[1:]
		case <-look:
			look = nil
			l.look()
		}
	}
	// Whoever still reads finds the rest in the channel's own buffer; nobody is waited for.
	for _, n := range l.queue {
		if n.Kind == Ended || len(l.out) < cap(l.out)/2 {
			select {
			case l.out <- n:
			default:
			}
		}
	}
	close(l.out)
}

// tell queues a notice. One Event that still waits for a folder says as much as two.
func (l *Local) tell(n Notice) {
	if n.Kind == Event {
		for i := len(l.queue) - 1; i >= 0; i-- {
			if l.queue[i].Folder == n.Folder {
				if l.queue[i].Kind == Event {
					return
				}
				break
			}
		}
	}
	l.queue = append(l.queue, n)
}

// Close ends everything: the warm parent's input, TERM to the cold groups, then, after the grace or when ctx ends,
// KILL to whatever is left. It returns when all has gone; every folder that was running has ended as lost.
func (l *Local) Close(ctx context.Context) error {
	l.once.Do(func() {
		close(l.closing)
		l.post(l.end)
	})
	select {
	case <-l.gone:
		return nil
	case <-l.o.Clock.After(l.o.Grace):
	case <-ctx.Done():
	}
	l.post(l.killAll)
	select {
	case <-l.gone:
		return nil
	case <-l.o.Clock.After(killedWithin):
		return errors.New("some trainers would not end, not even when killed")
	}
}

// end asks everything to leave.
func (l *Local) end() {
	l.ending = true
	if l.warm != nil {
		l.warm.hangUp()
	}
	for _, a := range l.attempts {
		a.lose("The server was stopped.")
		if !a.warm {
			a.kill(syscall.SIGTERM)
		}
	}
}

// killAll leaves nobody alive, and no time.
func (l *Local) killAll() {
	l.killing = true
	if l.warm != nil {
		l.warm.child.kill(syscall.SIGKILL)
	}
	for _, a := range l.attempts {
		a.kill(syscall.SIGKILL)
	}
}

// Owns reports whether a process was started by an engine of this root, at whatever remove. It may be called at any
// time from any goroutine.
func (l *Local) Owns(pid int) bool { return environmentHas(pid, markName+"="+l.mark) }
