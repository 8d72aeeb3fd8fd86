package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a device is made of.
type Kind string

const (
	// CPU is a slot of one or more processor cores.
	CPU Kind = "cpu"
	// GPU is a whole graphics card, or one MIG slice of it.
	GPU Kind = "gpu"
)

// Device is one thing that can be leased.
type Device struct {
	ID          string  `json:"id"`               // "cpu0", "gpu0"; a Pool keeps it for as long as it lives
	Class       string  `json:"class"`            // "cpu1", "h200", "a100-1g.5gb"; times are learned per class
	Kind        Kind    `json:"kind"`             // CPU or GPU
	Index       int     `json:"index"`            // the driver's number (GPU) or the slot's number (CPU), from 0
	UUID        string  `json:"uuid,omitempty"`   // "GPU-…" or "MIG-…"; empty for CPU slots
	Name        string  `json:"name,omitempty"`   // for people: "NVIDIA H200"
	MemoryBytes int64   `json:"memory_bytes"`     // memory that a trial may use; 0 = unknown
	Rate        float64 `json:"rate"`             // charge per second
	Threads     int     `json:"threads,omitzero"` // threads a trial on it may use; 0 = 1
}

// key is what makes two reports speak of the same device: the UUID where there is one, for indexes shift when a card
// falls off the bus, else the id.
func (d Device) key() string {
	if d.UUID != "" {
		return d.UUID
	}
	return d.ID
}

// ClassOf makes a device class from a card's product name: lower case, without maker, form factor and filler, with the
// memory where the name tells it apart. "NVIDIA A100-SXM4-40GB" is "a100-40gb", "NVIDIA GeForce RTX 3090" is "rtx3090",
// "NVIDIA H200" is "h200". A name that leaves nothing is "gpu".
func ClassOf(product string) string {
	words := strings.FieldsFunc(strings.ToLower(product), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.')
	})
	var kept []string
	memory := ""
	for i, w := range words {
		switch {
		case filler[w] || strings.HasPrefix(w, "sxm") || strings.HasPrefix(w, "hbm") || strings.HasPrefix(w, "pci"):
		case w == "gb" && i > 0 && digits(words[i-1]):
			if n := len(kept); n > 0 && kept[n-1] == words[i-1] {
				kept = kept[:n-1]
			}
			memory = words[i-1] + "gb"
		case strings.HasSuffix(w, "gb") && digits(strings.TrimSuffix(w, "gb")):
			memory = w
		default:
			kept = append(kept, w)
		}
	}
	// "rtx 3090" and "gtx 1080 ti" are one word to people; "titan x" is two.
	var b strings.Builder
	for i, w := range kept {
		glued := i > 0 && (startsWithDigit(w) && (kept[i-1] == "rtx" || kept[i-1] == "gtx" || kept[i-1] == "mx") ||
			(w == "ti" || w == "super") && endsWithDigitOr(kept[i-1], "ti"))
		if i > 0 && !glued {
			b.WriteByte('-')
		}
		b.WriteString(w)
	}
	slug := b.String()
	if slug == "" {
		slug = "gpu"
	}
	if memory != "" {
		slug += "-" + memory
	}
	return slug
}

// MIGClassOf is the class of a MIG slice: the card's class without its memory, then the profile, which names the
// slice's own: ("NVIDIA A100-SXM4-40GB", "1g.5gb") is "a100-1g.5gb". "MIG 1g.5gb" is taken for the profile too.
func MIGClassOf(product, profile string) string {
	class := ClassOf(product)
	if i := strings.LastIndexByte(class, '-'); i > 0 && strings.HasSuffix(class, "gb") {
		class = class[:i]
	}
	words := strings.Fields(strings.ToLower(profile))
	for _, w := range words {
		if w != "mig" && w != "device" {
			return class + "-" + w
		}
	}
	return class + "-mig"
}

// CPUClass is the class of a CPU slot with so many threads: "cpu1", "cpu4". Fewer than one counts as one.
func CPUClass(threads int) string { return fmt.Sprintf("cpu%d", max(threads, 1)) }

var filler = map[string]bool{"nvidia": true, "amd": true, "geforce": true, "tesla": true, "tensor": true, "core": true,
	"gpu": true, "graphics": true, "device": true, "nvl": true, "with": true, "design": true}

func digits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func endsWithDigitOr(s, word string) bool {
	return s == word || s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9'
}

// Environment is what a process must see so that it uses the leased device and no other. CUDA devices are named by
// UUID, for their numbers differ between programs; a CPU slot sees none, not all. Threads are in it for the libraries
// that read them once, when they are loaded.
func Environment(l Lease) map[string]string {
	visible := ""
	if l.Device.Kind == GPU {
		visible = l.Device.UUID
		if visible == "" {
			visible = strconv.Itoa(l.Device.Index)
		}
	}
	threads := strconv.Itoa(max(l.Device.Threads, 1))
	return map[string]string{
		"CUDA_DEVICE_ORDER":    "PCI_BUS_ID",
		"CUDA_VISIBLE_DEVICES": visible,
		"OMP_NUM_THREADS":      threads,
		"OPENBLAS_NUM_THREADS": threads,
		"MKL_NUM_THREADS":      threads,
	}
}
