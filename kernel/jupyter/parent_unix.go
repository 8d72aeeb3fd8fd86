//go:build !windows

package jupyter

import (
	"errors"
	"os"
	"syscall"
)

// parent is the process that a kernel must not outlive.
type parent struct {
	direct int // the parent when this process began
	named  int // the process in JPY_PARENT_PID, 0 if it isn't watched
}

func watchParent(named int) parent {
	p := parent{direct: os.Getppid()}
	if named > 1 && alive(named) {
		p.named = named
	}
	return p
}

// gone tells by the direct parent, which changes when it ends, and by the named one.
func (p parent) gone() bool {
	// Process 1 of a container may well be the parent. It never goes away before its children.
	if p.direct > 1 && os.Getppid() != p.direct {
		return true
	}
	return p.named != 0 && !alive(p.named)
}

// alive says whether there is such a process, ours or not.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || !errors.Is(err, syscall.ESRCH)
}
