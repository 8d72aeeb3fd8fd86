package engine

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel kill the child when the thread that started it ends; see launch.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// status is what /proc/PID/stat tells: enough to know a process again and to find its group.
type status struct {
	group   int
	started uint64 // ticks since boot: with the pid it names a process for ever
	zombie  bool
}

func statusOf(pid int) (status, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	// pid (name) state ppid pgrp …; the name may hold spaces and parentheses.
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 {
		return status{}, false
	}
	group, err := strconv.Atoi(f[2])
	if err != nil {
		return status{}, false
	}
	started, err := strconv.ParseUint(f[19], 10, 64)
	return status{group: group, started: started, zombie: f[0] == "Z" || f[0] == "X"}, err == nil
}

// startOf names the process that has this pid now; false when there is none, or nobody can tell.
func startOf(pid int) (uint64, bool) {
	s, ok := statusOf(pid)
	return s.started, ok
}

// identify is startOf for later: a pid that nobody has any more gets a mark that no process will ever match.
func identify(pid int) uint64 {
	if started, there := startOf(pid); there {
		return started
	}
	return ^uint64(0)
}

// alive reports whether there is such a process, and not only its memory in the process table.
func alive(pid int) bool {
	s, there := statusOf(pid)
	return there && !s.zombie
}

// groupOf is the process group of a pid, 0 when there is none.
func groupOf(pid int) int {
	s, _ := statusOf(pid)
	return s.group
}

// members lists the living processes of every group.
func members() map[int][]int {
	groups := map[int][]int{}
	for _, pid := range pids() {
		if s, ok := statusOf(pid); ok && !s.zombie {
			groups[s.group] = append(groups[s.group], pid)
		}
	}
	return groups
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return nil
	}
	var list []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// privateBytes is the memory that would be free if the process left: what a forked child shares with its parent is not
// in it. A process that has gone meanwhile has none.
func privateBytes(pid int) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), "no such process") {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var sum int64
	for line := range strings.Lines(string(b)) {
		// Private_Hugetlb too: a framework may be told to use huge pages.
		if name, rest, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, "Private_") {
			f := strings.Fields(rest)
			if len(f) != 2 || f[1] != "kB" {
				return 0, fmt.Errorf("line %q of smaps_rollup is not understood", line)
			}
			kb, err := strconv.ParseInt(f[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("line %q of smaps_rollup is not understood", line)
			}
			sum += kb << 10
		}
	}
	return sum, nil
}

// environmentHas reports whether a process was born with this assignment: what it set later does not show, and a
// forked child shows its parent's.
func environmentHas(pid int, assignment string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range strings.SplitSeq(string(b), "\x00") {
		if v == assignment {
			return true
		}
	}
	return false
}
