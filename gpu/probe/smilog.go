package probe

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// card is one <gpu> of "nvidia-smi -q -x", as far as we want it. Any value may be "N/A".
type card struct {
	Name        string `xml:"product_name"`
	UUID        string `xml:"uuid"`
	ComputeMode string `xml:"compute_mode"`
	MIG         string `xml:"mig_mode>current_mig"`
	Slices      []struct {
		Index    count  `xml:"index"`
		Instance count  `xml:"gpu_instance_id"`
		Compute  count  `xml:"compute_instance_id"`
		Memory   memory `xml:"fb_memory_usage"`
	} `xml:"mig_devices>mig_device"`
	Memory      memory `xml:"fb_memory_usage"`
	Utilization struct {
		GPU count `xml:"gpu_util"`
	} `xml:"utilization"`
	Remapped struct {
		Pending string `xml:"remapped_row_pending"`
		Failure string `xml:"remapped_row_failure"`
	} `xml:"remapped_rows"`
	Processes []process `xml:"processes>process_info"`
}

type process struct {
	Instance count    `xml:"gpu_instance_id"`
	Compute  count    `xml:"compute_instance_id"`
	PID      count    `xml:"pid"`
	Type     string   `xml:"type"` // C, G, C+G
	Memory   quantity `xml:"used_memory"`
}

type memory struct {
	Total    quantity `xml:"total"`
	Reserved quantity `xml:"reserved"`
	Used     quantity `xml:"used"`
}

// usable is what is left to programs; the driver's own part is in total.
func (m memory) usable() int64 { return max(m.Total.bytes-m.Reserved.bytes, 0) }

func (c card) mig() bool { return strings.EqualFold(c.MIG, "Enabled") }

// count is a number, perhaps with a unit: "3", "98 %". "N/A" is not known.
type count struct {
	value int
	known bool
}

func (c count) n() int       { return c.value }
func (c count) percent() int { return c.value }

// UnmarshalText takes anything; what is no number is not known.
func (c *count) UnmarshalText(b []byte) error {
	if f := strings.Fields(string(b)); len(f) > 0 {
		n, err := strconv.Atoi(f[0])
		*c = count{n, err == nil}
	}
	return nil
}

// quantity is an amount of memory: "81559 MiB". What is not known is 0.
type quantity struct{ bytes int64 }

var units = map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// UnmarshalText takes anything; what is no amount is 0.
func (q *quantity) UnmarshalText(b []byte) error {
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return nil
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	unit := ""
	if len(f) > 1 {
		unit = f[1]
	}
	if scale, ok := units[unit]; ok && err == nil && n >= 0 && n <= (1<<62)/scale {
		q.bytes = n * scale
	}
	return nil
}

func parseLog(b []byte) ([]card, error) {
	var log struct {
		XMLName xml.Name `xml:"nvidia_smi_log"`
		Cards   []card   `xml:"gpu"`
	}
	if err := xml.Unmarshal(b, &log); err != nil {
		return nil, fmt.Errorf("the report of nvidia-smi cannot be read: %w", err)
	}
	return log.Cards, nil
}

// slice is one line about a MIG device in "nvidia-smi -L", where its UUID is.
type slice struct {
	index         int
	profile, uuid string
}

var (
	cardLine  = regexp.MustCompile(`^GPU \d+: .*\(UUID: (GPU-[^)]+)\)`)
	sliceLine = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)`)
)

// parseList reads the MIG devices of each card, by the card's UUID.
func parseList(s string) map[string][]slice {
	lists := map[string][]slice{}
	card := ""
	for line := range strings.Lines(s) {
		if m := cardLine.FindStringSubmatch(line); m != nil {
			card = m[1]
		} else if m := sliceLine.FindStringSubmatch(line); m != nil {
			index, err := strconv.Atoi(m[2])
			if err == nil {
				lists[card] = append(lists[card], slice{index: index, profile: m[1], uuid: m[3]})
			}
		}
	}
	return lists
}
