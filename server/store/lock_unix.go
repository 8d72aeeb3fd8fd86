//go:build unix

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// lockFile takes the lock that a server holds on its state for as long as it
// lives. The kernel gives it free when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := "another server"
		if pid, _ := io.ReadAll(io.LimitReader(f, 20)); len(pid) > 0 {
			holder = "another server, process " + strings.TrimSpace(string(pid)) + ","
		}
		f.Close()
		return nil, fmt.Errorf("%s holds the state %s: %w", holder, strings.TrimSuffix(path, ".lock"), errHeld)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The number is for the message above only; the lock holds without it.
	if err := f.Truncate(0); err == nil {
		fmt.Fprintln(f, os.Getpid())
	}
	return f, nil
}
