package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/easeml/easeml/gpu/trial"
)

// look is the engine's one poller: new events, first events that are due, memory, groups that are still leaving.
func (l *Local) look() {
	now := l.o.Clock.Now()
	measure := now.Sub(l.measured) >= measureEvery
	var groups map[int][]int
	if measure {
		l.measured = now
		groups = members()
	}
	for _, a := range l.attempts {
		if a.left {
			l.afterLeaving(a)
			continue
		}
		l.lookAtEvents(a)
		if measure && a.pid != 0 {
			l.measure(a, groups[a.pid])
		}
		within := firstEventCold
		if a.warm {
			within = firstEventWarm
		}
		switch {
		case !a.killed.IsZero():
			if a.warm && l.warm != nil && now.Sub(a.killed) > killedWithin {
				l.warm.reason = "it did not say that a killed child had ended"
				l.warm.child.kill(syscall.SIGKILL)
			}
		case !a.spoke && now.Sub(a.since) > within:
			l.endFor(a, trial.CauseNoFirstEvent, fmt.Sprintf("It said nothing within %.0f s of its start.", within.Seconds()))
		}
		if l.killing {
			a.kill(syscall.SIGKILL)
		}
	}
}

// lookAtEvents tells when events.jsonl has grown.
func (l *Local) lookAtEvents(a *attempt) {
	size := eventsSize(a.job.Folder)
	if size == a.size {
		return
	}
	from := a.size
	a.size = size
	if !a.spoke {
		// The file may be older than this try, and its last line torn: only a whole new line is a first event.
		events, end, err := trial.ReadEvents(a.job.Folder, from)
		if err == nil && len(events) == 0 {
			a.size = end
			return
		}
		a.spoke = true
	}
	l.tell(Notice{Folder: a.job.Folder, Kind: Event, Warm: a.warm})
}

func eventsSize(folder string) int64 {
	info, err := os.Stat(filepath.Join(folder, trial.EventsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// measure adds up the private bytes of a group and ends one that has more than it may.
func (l *Local) measure(a *attempt, pids []int) {
	var sum int64
	for _, pid := range pids {
		n, err := privateBytes(pid)
		if err != nil {
			l.o.Logger.Warn("the memory of a process cannot be read", "pid", pid, "error", err)
			return
		}
		sum += n
	}
	a.peak = max(a.peak, sum)
	if limit := a.job.MemoryBytes; limit > 0 && sum > limit && a.killed.IsZero() {
		l.endFor(a, trial.CauseMemory, fmt.Sprintf("It needed %d MB of memory, %d MB is what it may use.", sum>>20, limit>>20))
	}
}
