package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/easeml/easeml/gpu"
)

// program writes a stand-in for nvidia-smi, which cannot run here, that prints recorded files.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func recorded(t *testing.T) string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return program(t, `case "$1" in -q) cat "`+dir+`/smi.xml";; -L) cat "`+dir+`/smi-list.txt";; *) exit 2;; esac`)
}

func TestSMI(t *testing.T) {
	r, err := SMI{Command: recorded(t), Ours: func(pid int) bool { return pid == 4242 }, Rates: Rates{"h200": 3}}.Probe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Device{
		{ID: "gpu0", Class: "h200", Kind: gpu.GPU, Index: 0, UUID: "GPU-00000000-0000-0000-0000-000000000000", Name: "NVIDIA H200", MemoryBytes: 143171 << 20, Rate: 3, Threads: 1},
		{ID: "gpu1", Class: "h200", Kind: gpu.GPU, Index: 1, UUID: "GPU-11111111-0000-0000-0000-000000000000", Name: "NVIDIA H200", MemoryBytes: 143171 << 20, Rate: 3, Threads: 1},
		{ID: "gpu2", Class: "rtx3090", Kind: gpu.GPU, Index: 2, UUID: "GPU-22222222-0000-0000-0000-000000000000", Name: "NVIDIA GeForce RTX 3090", MemoryBytes: 24576 << 20, Rate: 1, Threads: 1},
		{ID: "gpu3.0", Class: "a100-3g.20gb", Kind: gpu.GPU, Index: 0, UUID: "MIG-aaaaaaaa-0000-0000-0000-000000000000", Name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", MemoryBytes: 19968 << 20, Rate: 3.0 / 7, Threads: 1},
		{ID: "gpu3.2", Class: "a100-1g.5gb", Kind: gpu.GPU, Index: 2, UUID: "MIG-bbbbbbbb-0000-0000-0000-000000000000", Name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", MemoryBytes: 4864 << 20, Rate: 1.0 / 7, Threads: 1},
		{ID: "gpu4", Class: "h200", Kind: gpu.GPU, Index: 4, UUID: "GPU-44444444-0000-0000-0000-000000000000", Name: "NVIDIA H200", MemoryBytes: 143771 << 20, Rate: 3, Threads: 1},
	}
	if len(r.Devices) != len(want) {
		t.Fatalf("found %+v", r.Devices)
	}
	for i, d := range r.Devices {
		if d != want[i] {
			t.Errorf("device %d:\n got %+v\nwant %+v", i, d, want[i])
		}
	}
	busy := map[string]Busy{}
	for _, b := range r.Busy {
		busy[b.Device[:8]] = b
	}
	for device, w := range map[string]struct {
		why  string
		sure bool
	}{
		"GPU-1111": {"a process outside easeml holds 38 GB", true},
		"MIG-bbbb": {"used by a process outside easeml", true},
		"GPU-4444": {"129 GB of it are held by a process that cannot be seen from here", false},
	} {
		if b := busy[device]; b.Why != w.why || b.Sure != w.sure {
			t.Errorf("%s: %+v", device, b)
		}
	}
	if len(busy) != 3 {
		t.Errorf("busy: %+v", r.Busy)
	}
	if len(r.Sick) != 1 || !strings.HasPrefix(r.Sick[0].Device, "GPU-2222") {
		t.Errorf("sick: %+v", r.Sick)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "MIG slice 5") || !strings.Contains(r.Notes[1], "Prohibited") {
		t.Errorf("notes: %q", r.Notes)
	}
	// An unsure report does not count for what we hold ourselves.
	why := r.Why(func(device string) bool {
		return strings.HasPrefix(device, "GPU-4") || strings.HasPrefix(device, "GPU-1")
	})
	if len(why) != 2 {
		t.Errorf("why: %v", why)
	}
	pool, err := gpu.NewPool(r.Devices)
	if err != nil {
		t.Fatal(err)
	}
	pool.SetBusy(r.Why(nil))
	if free := pool.Free(); len(free) != 3 {
		t.Errorf("free: %v", free)
	}
}

func TestSMIVisible(t *testing.T) {
	for value, want := range map[string]int{"0,3": 3, "GPU-2222": 1, "": 0, "7": 0} {
		r, err := SMI{Command: recorded(t), Visible: VisibleFrom(value, true)}.Probe(context.Background())
		if err != nil || len(r.Devices) != want {
			t.Errorf("%q: %d devices, %v", value, len(r.Devices), err)
		}
	}
	if VisibleFrom("0", false) != nil {
		t.Error("an unset variable hides cards")
	}
}

func TestSMIFails(t *testing.T) {
	r, err := SMI{Command: filepath.Join(t.TempDir(), "none")}.Probe(context.Background())
	if err != nil || len(r.Devices) != 0 || len(r.Notes) != 1 {
		t.Errorf("no driver: %+v %v", r, err)
	}
	broken := SMI{Command: program(t, "echo Driver/library version mismatch; exit 18")}
	if _, err := broken.Probe(context.Background()); err == nil || !strings.Contains(err.Error(), "mismatch") {
		t.Errorf("mismatch: %v", err)
	}
	if _, err := (SMI{Command: program(t, "echo hello")}).Probe(context.Background()); err == nil {
		t.Error("nonsense is taken for a report")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (SMI{Command: program(t, "sleep 3600")}).Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("no answer: %v", err)
	}
	// CPU slots stay when the cards cannot be looked at.
	r, err = Join(CPU{Slots: 2}, nil, broken).Probe(context.Background())
	if err != nil || len(r.Devices) != 2 || len(r.Notes) != 1 {
		t.Errorf("joined: %+v %v", r, err)
	}
	if _, err = Join(broken).Probe(context.Background()); err == nil {
		t.Error("nothing but failures is a report")
	}
}

func TestCPU(t *testing.T) {
	r, err := CPU{Threads: 2, Slots: 3}.Probe(context.Background())
	if err != nil || len(r.Devices) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	if d := r.Devices[2]; d.ID != "cpu2" || d.Class != "cpu2" || d.Threads != 2 || d.Kind != gpu.CPU || d.Rate != 0.1 {
		t.Errorf("%+v", d)
	}
	if r, _ := (CPU{Threads: 1000}).Probe(context.Background()); len(r.Devices) != 1 {
		t.Error("a machine has at least one slot")
	}
}

func TestParseSpec(t *testing.T) {
	list, err := ParseSpec("cpu:2, gpu:3:h200:141,gpu:1:a100-1g.5gb,cpu:1:cpu4", nil)
	if err != nil || len(list) != 7 {
		t.Fatalf("%+v %v", list, err)
	}
	if d := list[5]; d.ID != "gpu3" || d.Class != "a100-1g.5gb" {
		t.Errorf("%+v", d)
	}
	if d := list[6]; d.ID != "cpu2" || d.Threads != 4 {
		t.Errorf("%+v", d)
	}
	if _, err := gpu.NewPool(list); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "tpu:1", "cpu", "cpu:x", "cpu:-1", "gpu:1:h200:0", "gpu:1:h200:NaN", "cpu:1:fast", "gpu:1:a:1:2", "gpu:99999999"} {
		if _, err := ParseSpec(bad, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzParseLog(f *testing.F) {
	b, err := os.ReadFile("testdata/smi.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		cards, err := parseLog(b)
		if err == nil {
			SMI{}.report(cards, parseList(string(b)))
		}
	})
}
