package jupyter

import "syscall"

// parent is the process that a kernel must not outlive. On Windows JPY_PARENT_PID is a handle of it that this process has inherited.
type parent struct{ handle syscall.Handle }

func watchParent(named int) parent {
	p := parent{syscall.Handle(named)}
	if named <= 0 || p.gone() {
		return parent{}
	}
	return p
}

// gone asks without waiting. A handle that can't be asked is not watched.
func (p parent) gone() bool {
	if p.handle == 0 {
		return false
	}
	event, err := syscall.WaitForSingleObject(p.handle, 0)
	return err == nil && event == syscall.WAIT_OBJECT_0
}
