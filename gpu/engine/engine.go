package engine

import (
	"context"
	"errors"

	"github.com/easeml/easeml/gpu/trial"
)

// Engine starts folders and says how they ended. All methods may be called from several goroutines.
type Engine interface {
	// Start accepts a folder, which must be complete, and returns before anything runs. Exactly one Ended notice
	// follows each Start that returns nil, whatever happens. A folder that is running already is ErrRunning, an
	// engine that was closed ErrClosed.
	Start(ctx context.Context, job Job) error
	// Signal sends USR1 (look at control now) to a running folder's leader, or TERM or KILL to its process group. A folder that is not
	// running is ErrNotRunning; it may have ended just now.
	Signal(folder, name string) error
	// Notices is the stream of what happens, in order; it is closed by Close. There is one stream and one reader.
	Notices() <-chan Notice
	// Close ends everything that runs: asks, waits a grace, kills. It returns when no process is left.
	Close(ctx context.Context) error
}

// Commands of a Job.
const (
	Run    = "run"
	Ingest = "ingest"
	Study  = "study"
)

// Job is one folder to run.
type Job struct {
	Folder      string            // absolute path
	Command     string            // Run, Ingest or Study
	Env         map[string]string // gpu.Environment of the lease, and what else the attempt must see
	MemoryBytes int64             // limit of private bytes over the process group; 0 = none
	Threads     int               // threads it may use; 0 = 1
}

// NoticeKind says what a Notice is about.
type NoticeKind string

const (
	// Started: a process runs. Comes again when a warm start is tried cold.
	Started NoticeKind = "started"
	// Event: there is something new in events.jsonl. Several may be told by one notice.
	Event NoticeKind = "event"
	// Ended: the process group is gone. The last notice of a Start.
	Ended NoticeKind = "ended"
)

// Notice is one thing that happened to a folder.
type Notice struct {
	Folder    string
	Kind      NoticeKind
	PID       int  // Started
	Warm      bool // forked by the warm parent
	Code      int  // Ended: exit status; -1 when a signal ended it
	Signal    string
	PeakBytes int64  // Ended: the most private bytes that were seen
	Cause     string // Ended: "", or one of trial.CauseMemory, trial.CauseNoFirstEvent, trial.CauseLost
	Message   string // Ended: a sentence for people where the engine knows more than the exit status
}

// Ended is what trial.Classify wants to know of an Ended notice.
func (n Notice) Ended() trial.Ended {
	return trial.Ended{Code: n.Code, Signal: n.Signal, Cause: n.Cause}
}

// Errors of an Engine; they come wrapped in a sentence.
var (
	ErrRunning    = errors.New("it is running already")
	ErrNotRunning = errors.New("it is not running")
	ErrClosed     = errors.New("the engine is closed")
)
