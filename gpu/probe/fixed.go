package probe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/easeml/easeml/gpu"
)

// Fixed reports the same devices at every look.
type Fixed []gpu.Device

// Probe never fails.
func (f Fixed) Probe(context.Context) (Report, error) {
	return Report{Devices: append([]gpu.Device(nil), f...)}, nil
}

// ParseSpec reads a list of devices as people type it: "cpu:2,gpu:4:h200" is two CPU slots of one thread and four
// cards of class h200. Each entry is kind:count[:class[:memory in GB]]; a CPU slot's class says its threads ("cpu:2:cpu4").
// Cards get made-up UUIDs, for no process is to reach a real one through them.
func ParseSpec(spec string, rates Rates) (Fixed, error) {
	var list Fixed
	count := map[gpu.Kind]int{}
	for entry := range strings.SplitSeq(spec, ",") {
		f := strings.Split(strings.TrimSpace(entry), ":")
		kind := gpu.Kind(f[0])
		if kind != gpu.CPU && kind != gpu.GPU || len(f) < 2 || len(f) > 4 {
			return nil, fmt.Errorf("%q is no list of devices: write for instance cpu:2,gpu:4:h200", spec)
		}
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 0 || n > 10000 {
			return nil, fmt.Errorf("in the devices %q, %q is no count", spec, f[1])
		}
		d := gpu.Device{Kind: kind, Class: "gpu", Threads: 1}
		if kind == gpu.CPU {
			d.Class = gpu.CPUClass(1)
		}
		if len(f) > 2 && f[2] != "" {
			d.Class = f[2]
		}
		d.Rate = rates.of(d.Class, cardRate)
		if kind == gpu.CPU {
			if d.Threads, err = strconv.Atoi(strings.TrimPrefix(d.Class, "cpu")); err != nil || d.Threads < 1 {
				return nil, fmt.Errorf("in the devices %q, the class of a CPU slot must be cpu1, cpu2, …, not %q", spec, d.Class)
			}
			d.Rate = rates.of(d.Class, threadRate*float64(d.Threads))
		}
		if len(f) > 3 {
			gb, err := strconv.ParseFloat(f[3], 64)
			if err != nil || !(gb > 0 && gb < 1e6) {
				return nil, fmt.Errorf("in the devices %q, %q is no memory in GB", spec, f[3])
			}
			d.MemoryBytes = int64(gb * (1 << 30))
		}
		for range n {
			d.Index = count[kind]
			d.ID = fmt.Sprintf("%s%d", kind, d.Index)
			if kind == gpu.GPU {
				d.UUID = fmt.Sprintf("GPU-made-up-%d", d.Index)
			}
			count[kind]++
			list = append(list, d)
		}
	}
	return list, nil
}
