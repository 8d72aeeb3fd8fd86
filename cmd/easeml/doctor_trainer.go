//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/easeml/easeml/gpu/probe"
	"github.com/easeml/easeml/server"
)

// card is an NVIDIA card as the doctor needs it.
type card struct {
	id, name   string
	capability int // 75 is 7.5; 0 is not known
}

// devices looks at the driver and at what the server would use.
func (d *doctor) devices(ctx context.Context) (cards []card) {
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	visible := probe.VisibleFrom(d.getenv("CUDA_VISIBLE_DEVICES"), d.getenv("CUDA_VISIBLE_DEVICES") != "")
	report, err := probe.SMI{Command: d.smi, Visible: visible}.Probe(short)
	capability := map[string]int{}
	command := d.smi
	if command == "" {
		command = "nvidia-smi"
	}
	switch {
	case err != nil:
		d.fail("driver", "Reinstall the driver or restart the machine; CPU slots work meanwhile", "%v", err)
	case len(report.Devices) == 0 && len(report.Notes) > 0 && strings.Contains(report.Notes[0], "no nvidia-smi"):
		d.ok("driver", "no NVIDIA driver: light candidates on CPU slots, deep ones there too, slowly")
	default:
		version := ""
		if out, err := exec.CommandContext(short, command, "--query-gpu=uuid,driver_version,compute_cap", "--format=csv,noheader").Output(); err == nil {
			for line := range strings.Lines(string(out)) {
				f := strings.Split(strings.TrimSpace(line), ", ")
				if len(f) == 3 {
					version = f[1]
					capability[f[0]] = tenths(f[2])
				}
			}
		}
		d.ok("driver", "NVIDIA driver %s, %s to use", version, plural(len(report.Devices), "device"))
		for _, note := range report.Notes {
			d.warn("devices", "", "%s", strings.TrimSuffix(note, "."))
		}
	}
	why := map[string]string{}
	for _, b := range report.Busy {
		why[b.Device] = b.Why
	}
	sick := map[string]string{}
	for _, s := range report.Sick {
		sick[s.Device] = s.Why
	}
	for _, g := range report.Devices {
		switch {
		case sick[g.UUID] != "":
			d.fail("devices", "", "%s %s: %s", g.ID, g.Name, sick[g.UUID])
		case why[g.UUID] != "":
			d.warn("devices", "It is not touched as long as that lasts", "%s %s: %s", g.ID, g.Name, why[g.UUID])
		default:
			d.ok("devices", "%s %s, %s", g.ID, g.Name, bytesWords(g.MemoryBytes))
		}
		cards = append(cards, card{id: g.ID, name: g.Name, capability: capability[g.UUID]})
	}
	slots, err := probe.CPU{}.Probe(short)
	if err == nil && len(slots.Devices) > 0 {
		d.ok("devices", "%s, %s each (%s)", plural(len(slots.Devices), "CPU slot"), bytesWords(slots.Devices[0].MemoryBytes), slots.Devices[0].Class)
	}
	return cards
}

// libraries asks a Python what it has; nothing heavy is imported but PyTorch, by
// which alone one knows for which cards it was built.
const libraries = `
import importlib.metadata as m, json, platform
out = {"python": platform.python_version(), "packages": {}}
for name in ("numpy", "pandas", "pyarrow", "scikit-learn", "skops", "pillow", "lightgbm", "scikit-image", "torch", "torchvision", "safetensors"):
    try: out["packages"][name] = m.version(name)
    except m.PackageNotFoundError: pass
if "torch" in out["packages"]:
    try:
        import torch
        out["cuda"], out["available"] = torch.version.cuda or "", torch.cuda.is_available()
        out["built"] = torch.cuda.get_arch_list()
    except Exception as e:
        out["error"] = f"{type(e).__name__}: {e}".splitlines()[0]
print(json.dumps(out))
`

// needed are the libraries that the trainer can't do without; light and deep ones
// bring more candidates.
var (
	needed = []string{"numpy", "pandas", "pyarrow", "scikit-learn", "skops", "pillow"}
	more   = []string{"lightgbm", "scikit-image"}
	deep   = []string{"torch", "torchvision", "safetensors"}
)

// trainer looks at the Python that trains, and whether its PyTorch can use the
// cards.
func (d *doctor) trainer(ctx context.Context, cards []card) {
	python, err := server.FindPython(ctx, d.python, d.binary)
	if err != nil {
		d.fail("trainer", "make setup makes one beside the program", "%v", err)
		return
	}
	out, err := exec.CommandContext(ctx, python, "-c", libraries).Output()
	var has struct {
		Python    string            `json:"python"`
		Packages  map[string]string `json:"packages"`
		CUDA      string            `json:"cuda"`
		Available bool              `json:"available"`
		Built     []string          `json:"built"`
		Error     string            `json:"error"`
	}
	if err == nil {
		err = json.Unmarshal(out, &has)
	}
	if err != nil {
		d.fail("trainer", "", "%s can't say what it has: %v", python, err)
		return
	}
	missing := func(names []string) (list []string) {
		for _, n := range names {
			if has.Packages[n] == "" {
				list = append(list, n)
			}
		}
		return list
	}
	install := func(names []string) string { return python + " -m pip install " + strings.Join(names, " ") }
	if list := missing(needed); len(list) > 0 {
		d.fail("trainer", install(list), "%s (Python %s) lacks %s", python, has.Python, strings.Join(list, ", "))
		return
	}
	d.ok("trainer", "%s (Python %s, scikit-learn %s)", python, has.Python, has.Packages["scikit-learn"])
	if list := missing(more); len(list) > 0 {
		d.warn("trainer", install(list), "without %s some candidates are left out", strings.Join(list, ", "))
	}
	list := missing(deep)
	switch {
	case len(list) > 0:
		d.warn("trainer", install(list), "without %s the deep candidates are left out", strings.Join(list, ", "))
		return
	case has.Error != "":
		d.fail("trainer", install([]string{"--force-reinstall", "torch"}), "PyTorch %s can't be imported (%s)", has.Packages["torch"], has.Error)
		return
	case len(cards) == 0:
		d.ok("trainer", "PyTorch %s", has.Packages["torch"])
		return
	case has.CUDA == "":
		d.warn("trainer", "Point to a Python with a CUDA build: --python PATH", "PyTorch %s is built without CUDA, so %s not used by deep candidates", has.Packages["torch"], pluralAre(len(cards), "card"))
		return
	case !has.Available:
		d.fail("trainer", "Update the driver, or point to a Python whose PyTorch is built for an older CUDA: --python PATH",
			"PyTorch %s (CUDA %s) finds no card that it can use", has.Packages["torch"], has.CUDA)
		return
	}
	d.ok("trainer", "PyTorch %s, CUDA %s", has.Packages["torch"], has.CUDA)
	for _, c := range cards {
		if c.capability > 0 && !builtFor(has.Built, c.capability) {
			d.fail("trainer", "Either point to a Python with an older CUDA build, --python PATH, or leave the card out with --devices",
				"%s %s: this PyTorch (%s, CUDA %s) has no code for it (compute capability %d.%d)", c.id, c.name, has.Packages["torch"], has.CUDA, c.capability/10, c.capability%10)
		}
	}
}

// builtFor tells whether a PyTorch with this list of architectures runs on a card:
// machine code runs on cards of the same generation from its own on (sm_80 on 8.6),
// intermediate code (compute_90) on any later one.
func builtFor(archs []string, capability int) bool {
	for _, a := range archs {
		kind, number, _ := strings.Cut(a, "_")
		n, err := strconv.Atoi(strings.TrimRight(number, "af"))
		if err != nil || n > capability {
			continue
		}
		if kind == "compute" || n/10 == capability/10 {
			return true
		}
	}
	return false
}

// tenths reads 7.5 as 75.
func tenths(s string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return int(f*10 + 0.5)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func pluralAre(n int, noun string) string {
	if n == 1 {
		return "the " + noun + " is"
	}
	return fmt.Sprintf("the %d %ss are", n, noun)
}

// bytesWords is a size in the words of a disk: 812 GB.
func bytesWords(n int64) string {
	switch {
	case n >= 1<<40:
		return fmt.Sprintf("%.1f TB", float64(n)/(1<<40))
	case n >= 1<<30:
		return fmt.Sprintf("%.0f GB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MB", n>>20)
}
