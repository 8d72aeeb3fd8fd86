package trial

import (
	"fmt"
	"strings"
)

// Ended is how a process left, as an engine saw it.
type Ended struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "KILL", "SEGV" …; empty when it exited
	Cause  string // what the engine itself did or saw: "", "memory", "no_first_event", "lost"
}

// Causes of an Ended.
const (
	CauseMemory       = "memory"         // killed by the engine, over its limit of private bytes
	CauseNoFirstEvent = "no_first_event" // killed by the engine, had not said anything in time
	CauseLost         = "lost"           // ended with its parent, its engine or its machine
)

// Classify says why an attempt ended without a result.json: one of the failure kinds and one sentence for people. What
// the trainer said itself in a failed event goes first, then what the engine did, then the signal and the log. An
// attempt that said it is paused has not failed: its kind is Paused.
func Classify(ended Ended, events []Event, logTail string) (kind, message string) {
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Type == EventFailed && e.Kind != "" {
			return e.Kind, orElse(e.Message, "The trainer gave no reason.")
		}
	}
	if _, paused := PausedAt(events); paused && ended.Code == 0 {
		return Paused, "It was paused."
	}
	switch ended.Cause {
	case CauseMemory:
		return KindMemory, "It needed more memory than it may use."
	case CauseNoFirstEvent:
		return KindTimeout, "It did not start in time."
	case CauseLost:
		return KindLost, "It ended together with the process it belonged to; it is not to blame."
	}
	if line, found := memoryLine(logTail); found {
		return KindMemory, "It ran out of memory: " + line
	}
	switch ended.Signal {
	case "":
	case "KILL":
		// Not by the engine, or Cause would say so: the kernel's out-of-memory killer is who does that.
		return KindMemory, "The system killed it, most likely because memory ran out."
	case "TERM", "INT", "HUP":
		return KindLost, "Somebody outside easeml ended it."
	case "XCPU":
		return KindTimeout, "It used up the processor time it may use."
	default:
		return KindBug, fmt.Sprintf("It crashed (signal %s).", ended.Signal)
	}
	if line := lastError(logTail); line != "" {
		return KindBug, "An error in its own code: " + line
	}
	if ended.Code == 0 {
		return KindBug, "It ended without a result."
	}
	return KindBug, fmt.Sprintf("It ended with status %d and no result.", ended.Code)
}

// memoryMarks are the words with which frameworks say that memory ran out.
var memoryMarks = []string{"CUDA out of memory", "torch.OutOfMemoryError", "CUDA error: out of memory", "RESOURCE_EXHAUSTED",
	"MemoryError", "Cannot allocate memory", "std::bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED", "DefaultCPUAllocator: not enough memory",
	"DefaultCPUAllocator: can't allocate memory"}

// memoryLine looks for such a word in the log's last lines.
func memoryLine(log string) (string, bool) {
	lines := strings.Split(log, "\n")
	for i := len(lines) - 1; i >= max(0, len(lines)-30); i-- {
		for _, mark := range memoryMarks {
			if strings.Contains(lines[i], mark) {
				return clip(strings.TrimSpace(lines[i]), 200), true
			}
		}
	}
	return "", false
}

// lastError is the line after a Python traceback that names the error; empty when there is no traceback.
func lastError(log string) string {
	at := strings.LastIndex(log, "Traceback (most recent call last):")
	if at < 0 {
		return ""
	}
	lines := strings.Split(log[at:], "\n")
	for _, l := range lines[1:] {
		if l = strings.TrimRight(l, "\r "); l != "" && l[0] != ' ' && l[0] != '\t' {
			return clip(l, 200)
		}
	}
	return ""
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
