package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// markName is the variable that every process of an engine is born with, down to the children of children. Its value
// is the root's mark: neither a pid, which may belong to somebody else by now, nor a path, which two machines share.
const markName = "EASEML_ENGINE"

const markFile = ".engine"

// makeMark reads the root's mark, or gives it one.
func makeMark(root string) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("mark the engine's root: %w", err)
	}
	mark, err := readMark(root)
	if err != nil || mark != "" {
		return mark, err
	}
	mark = uuid.NewString()
	if err := os.WriteFile(filepath.Join(root, markFile), []byte(mark+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("mark the engine's root: %w", err)
	}
	return mark, nil
}

func readMark(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the mark of the engine's root: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// sweepWithin is how long killed processes may take to vanish.
const sweepWithin = 10 * time.Second

// Sweep kills what a former server's engine of this root has left behind: every process of this user that was born
// with the root's mark. Call it before NewLocal, under the lock that keeps a second server away. It returns the pids
// and an error when one of them would not go.
func Sweep(root string) ([]int, error) {
	mark, err := readMark(root)
	if err != nil || mark == "" {
		return nil, err
	}
	var killed []int
	deadline := time.Now().Add(sweepWithin)
	for {
		left := marked(mark)
		if len(left) == 0 {
			return killed, nil
		}
		for _, pid := range left {
			if started, there := startOf(pid); there && environmentHas(pid, markName+"="+mark) {
				if now, _ := startOf(pid); now == started && syscall.Kill(pid, syscall.SIGKILL) == nil {
					killed = appendNew(killed, pid)
				}
			}
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("processes %v of a former server would not end", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// marked lists the living processes that were born with the mark, but for this one.
func marked(mark string) []int {
	var list []int
	self := os.Getpid()
	for _, pid := range pids() {
		if pid == self || !environmentHas(pid, markName+"="+mark) {
			continue
		}
		if alive(pid) {
			list = append(list, pid)
		}
	}
	return list
}

func appendNew(list []int, pid int) []int {
	for _, p := range list {
		if p == pid {
			return list
		}
	}
	return append(list, pid)
}
