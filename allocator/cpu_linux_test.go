package allocator

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime is the processor time that the calling thread has had.
func threadTime() time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&now)), 0); e != 0 {
		return 0
	}
	return time.Duration(now.Nano())
}
