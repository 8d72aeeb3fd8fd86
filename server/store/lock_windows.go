package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION: somebody has the file open.
const sharingViolation = syscall.Errno(32)

// lockFile opens the file without sharing it: nobody else can open it until
// this process closes it or ends.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, fmt.Errorf("another server holds the state %s: %w", strings.TrimSuffix(path, ".lock"), errHeld)
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	return os.NewFile(uintptr(h), path), nil
}
