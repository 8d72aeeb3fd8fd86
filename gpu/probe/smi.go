package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/easeml/easeml/gpu"
)

// SMI finds NVIDIA cards and their MIG slices by the program nvidia-smi, which comes with the driver.
type SMI struct {
	Command string             // "" = nvidia-smi from the path
	Ours    func(pid int) bool // whether a process is one of our trials; nil = none is
	Visible []string           // the cards to look at, as in CUDA_VISIBLE_DEVICES; nil = all
	Threads int                // threads that a trial on a card may use; 0 = 1
	Rates   Rates              // by class; a card counts 1 else, a MIG slice its share of sevenths
}

// VisibleFrom reads a CUDA_VISIBLE_DEVICES that this process was born with: one that somebody else's scheduler set is
// respected. Not set is nil, all cards; set to nothing is none.
func VisibleFrom(value string, set bool) []string {
	if !set {
		return nil
	}
	list := []string{}
	for v := range strings.SplitSeq(value, ",") {
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

// Probe asks nvidia-smi. No such program means no cards and is a note, not an error; one that fails is an error with
// its own words.
func (s SMI) Probe(ctx context.Context) (Report, error) {
	command := s.Command
	if command == "" {
		command = "nvidia-smi"
	}
	if _, err := exec.LookPath(command); err != nil {
		return Report{Notes: []string{"No NVIDIA driver was found (there is no nvidia-smi), so no GPU is used."}}, nil
	}
	xml, err := output(ctx, command, "-q", "-x")
	if err != nil {
		return Report{}, err
	}
	cards, err := parseLog(xml)
	if err != nil {
		return Report{}, err
	}
	var slices map[string][]slice
	for _, c := range cards {
		if c.mig() {
			list, err := output(ctx, command, "-L")
			if err != nil {
				return Report{}, err
			}
			slices = parseList(string(list))
			break
		}
	}
	return s.report(cards, slices), nil
}

func output(ctx context.Context, command string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.WaitDelay = time.Second
	b, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("nvidia-smi gave no answer: %w", ctx.Err())
	}
	if err != nil {
		said := strings.TrimSpace(string(b))
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && said == "" {
			said = strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fmt.Errorf("nvidia-smi failed (%v): %s", err, said)
	}
	return b, nil
}

// Marks of a card that is in use although no process is to be seen on it.
const (
	usedBytes   = 1 << 30 // a desktop and the driver need less
	usedPercent = 20
)

func (s SMI) report(cards []card, lists map[string][]slice) Report {
	var r Report
	for i, c := range cards {
		id := fmt.Sprintf("gpu%d", i)
		if !s.sees(i, c.UUID) {
			continue
		}
		if c.UUID == "" || strings.EqualFold(c.ComputeMode, "Prohibited") {
			r.Notes = append(r.Notes, fmt.Sprintf("%s (%s) is left out: %s.", id, c.Name,
				map[bool]string{true: "the driver gives no UUID for it", false: "its compute mode is Prohibited"}[c.UUID == ""]))
			continue
		}
		if strings.EqualFold(c.Remapped.Pending, "Yes") || strings.EqualFold(c.Remapped.Failure, "Yes") {
			r.Sick = append(r.Sick, Busy{Device: c.UUID, Why: "its memory has faults; it needs a reset or a repair", Sure: true})
		}
		if !c.mig() {
			class := gpu.ClassOf(c.Name)
			r.Devices = append(r.Devices, gpu.Device{ID: id, Class: class, Kind: gpu.GPU, Index: i, UUID: c.UUID, Name: c.Name,
				MemoryBytes: c.Memory.usable(), Rate: s.Rates.of(class, cardRate), Threads: max(s.Threads, 1)})
			if why, sure := s.busy(c.Processes, c.Memory.Used.bytes, c.Utilization.GPU.percent()); why != "" {
				r.Busy = append(r.Busy, Busy{Device: c.UUID, Why: why, Sure: sure})
			}
			continue
		}
		for _, m := range c.Slices {
			at := slices.IndexFunc(lists[c.UUID], func(l slice) bool { return l.index == m.Index.n() })
			if at < 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("MIG slice %d of %s is left out: nvidia-smi -L gives no UUID for it.", m.Index.n(), id))
				continue
			}
			l := lists[c.UUID][at]
			class := gpu.MIGClassOf(c.Name, l.profile)
			r.Devices = append(r.Devices, gpu.Device{ID: fmt.Sprintf("%s.%d", id, l.index), Class: class, Kind: gpu.GPU, Index: l.index,
				UUID: l.uuid, Name: c.Name + " MIG " + l.profile, MemoryBytes: m.Memory.usable(),
				Rate: s.Rates.of(class, sevenths(l.profile)), Threads: max(s.Threads, 1)})
			var on []process
			for _, p := range c.Processes {
				// A process without instance may be on any slice, so it is on each.
				if !p.Instance.known || p.Instance.n() == m.Instance.n() && (!p.Compute.known || p.Compute.n() == m.Compute.n()) {
					on = append(on, p)
				}
			}
			if why, sure := s.busy(on, m.Memory.Used.bytes, 0); why != "" {
				r.Busy = append(r.Busy, Busy{Device: l.uuid, Why: why, Sure: sure})
			}
		}
	}
	return r
}

func (s SMI) sees(index int, uuid string) bool {
	if s.Visible == nil {
		return true
	}
	for _, v := range s.Visible {
		if v == fmt.Sprint(index) || strings.HasPrefix(v, "GPU-") && strings.HasPrefix(uuid, v) {
			return true
		}
	}
	return false
}

// busy says who uses a device, from its processes and its load. A process is somebody else's unless it is ours; a
// desktop's drawing does not count as long as it is small; where processes cannot be seen, memory and load speak.
func (s SMI) busy(processes []process, used int64, percent int) (why string, sure bool) {
	ours, foreign := false, int64(-1)
	for _, p := range processes {
		switch {
		case s.Ours != nil && s.Ours(p.PID.n()):
			ours = true
		case p.Type == "G":
		default:
			sure = sure || exists(p.PID.n())
			foreign = max(foreign, 0) + p.Memory.bytes
		}
	}
	switch {
	case foreign > 0:
		return "a process outside easeml holds " + size(foreign), sure
	case foreign == 0:
		return "used by a process outside easeml", sure
	case ours:
		return "", true
	case used > usedBytes:
		return size(used) + " of it are held by a process that cannot be seen from here", false
	case percent >= usedPercent:
		return fmt.Sprintf("it works at %d %% for a process that cannot be seen from here", percent), false
	}
	return "", true
}

// exists reports whether this process can see that one at all: containers hide others' numbers.
func exists(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MB", bytes>>20)
	}
	return fmt.Sprintf("%.0f GB", float64(bytes)/(1<<30))
}

// sevenths is a MIG slice's share of its card: "3g.20gb" has 3 of 7.
func sevenths(profile string) float64 {
	if profile != "" && profile[0] >= '1' && profile[0] <= '7' {
		return cardRate * float64(profile[0]-'0') / 7
	}
	return cardRate / 7
}
