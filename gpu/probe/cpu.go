package probe

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/easeml/easeml/gpu"
)

// CPU finds slots of processor cores. They are there beside any GPU, for light candidates.
type CPU struct {
	Threads int // cores a slot; 0 = 1
	Slots   int // 0 = as many as the cores that this process may use allow, at least one
	Rates   Rates
}

// Probe never fails. A slot's memory is its share of nine tenths of what the machine, or this process's control
// group, has.
func (c CPU) Probe(context.Context) (Report, error) {
	threads := max(c.Threads, 1)
	slots := c.Slots
	if slots <= 0 {
		slots = max(runtime.GOMAXPROCS(0)/threads, 1)
	}
	class := gpu.CPUClass(threads)
	memory := memoryBytes() / 10 * 9 / int64(slots)
	name := processorName()
	var r Report
	for i := range slots {
		r.Devices = append(r.Devices, gpu.Device{ID: fmt.Sprintf("cpu%d", i), Class: class, Kind: gpu.CPU, Index: i, Name: name,
			MemoryBytes: memory, Rate: c.Rates.of(class, threadRate*float64(threads)), Threads: threads})
	}
	return r, nil
}

// memoryBytes is the machine's memory, or what the control group leaves of it; 0 = unknown.
func memoryBytes() int64 {
	total := int64(0)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					total = kb << 10
				}
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(path); err == nil {
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && limit > 0 && (total == 0 || limit < total) {
				total = limit
			}
		}
	}
	return total
}

func processorName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
