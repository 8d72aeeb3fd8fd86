package gpu

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOf(t *testing.T) {
	for product, want := range map[string]string{
		"NVIDIA H200":                    "h200",
		"NVIDIA A100-SXM4-40GB":          "a100-40gb",
		"NVIDIA A100 80GB PCIe":          "a100-80gb",
		"NVIDIA H100 80GB HBM3":          "h100-80gb",
		"NVIDIA GeForce RTX 3090":        "rtx3090",
		"NVIDIA GeForce RTX 4070 Ti":     "rtx4070ti",
		"GeForce GTX 1080 Ti":            "gtx1080ti",
		"NVIDIA GeForce RTX 2080 SUPER":  "rtx2080super",
		"Tesla V100-SXM2-16GB":           "v100-16gb",
		"Tesla T4":                       "t4",
		"Quadro RTX 6000":                "quadro-rtx6000",
		"NVIDIA TITAN X (Pascal)":        "titan-x-pascal",
		"NVIDIA L40S":                    "l40s",
		"NVIDIA RTX 6000 Ada Generation": "rtx6000-ada-generation",
		"NVIDIA GeForce GTX 1060 6 GB":   "gtx1060-6gb",
		"":                               "gpu",
	} {
		if got := ClassOf(product); got != want {
			t.Errorf("ClassOf(%q) = %q, want %q", product, got, want)
		}
	}
	for _, c := range [][3]string{
		{"NVIDIA A100-SXM4-40GB", "1g.5gb", "a100-1g.5gb"},
		{"NVIDIA H100 80GB HBM3", "MIG 1g.10gb+me", "h100-1g.10gb+me"},
		{"NVIDIA H200", "", "h200-mig"},
	} {
		if got := MIGClassOf(c[0], c[1]); got != c[2] {
			t.Errorf("MIGClassOf(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestEnvironment(t *testing.T) {
	card := Lease{Device: Device{Kind: GPU, UUID: "MIG-1", Index: 3, Threads: 4}}
	slot := Lease{Device: Device{Kind: CPU, Index: 3}}
	bare := Lease{Device: Device{Kind: GPU, Index: 3}}
	for _, c := range []struct {
		lease            Lease
		visible, threads string
	}{{card, "MIG-1", "4"}, {slot, "", "1"}, {bare, "3", "1"}} {
		env := Environment(c.lease)
		visible, set := env["CUDA_VISIBLE_DEVICES"]
		if !set || visible != c.visible || env["OMP_NUM_THREADS"] != c.threads || env["CUDA_DEVICE_ORDER"] != "PCI_BUS_ID" {
			t.Errorf("%+v: %v", c.lease.Device, env)
		}
	}
}

func device(kind Kind, n int) Device {
	d := Device{ID: fmt.Sprintf("%s%d", kind, n), Kind: kind, Class: string(kind), Index: n}
	if kind == GPU {
		d.UUID = fmt.Sprintf("GPU-%d", n)
	}
	return d
}

func TestVanishedDeviceKeepsItsLease(t *testing.T) {
	p, err := NewPool([]Device{device(CPU, 0), device(GPU, 0), device(GPU, 1)})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := p.Acquire("gpu1", "alice/digits trial 4")
	if err != nil {
		t.Fatal(err)
	}
	// gpu0 falls off the bus and the driver numbers the other one 0.
	shifted := device(GPU, 1)
	shifted.ID, shifted.Index = "gpu0", 0
	changed, err := p.Set([]Device{shifted, device(CPU, 0)})
	if err != nil || len(changed) != 2 || changed[0].Device.ID != "gpu0" || changed[0].State != Lost {
		t.Errorf("changed: %+v %v", changed, err)
	}
	if rows := p.Snapshot(); rows[1].Device.UUID != "GPU-1" || rows[1].Device.ID != "gpu1" || rows[1].State != Held || rows[1].Device.Index != 0 {
		t.Errorf("the held one: %+v", rows[1])
	}
	// All cards go; a third comes and claims a known id.
	third := device(GPU, 2)
	third.ID = "gpu0"
	if _, err := p.Set([]Device{device(CPU, 0), third}); err != nil {
		t.Fatal(err)
	}
	rows := p.Snapshot()
	if rows[1].State != Lost || rows[1].Lease == nil || rows[2].Device.ID != "gpu2" || rows[2].State != Free {
		t.Errorf("rows: %+v", rows)
	}
	if err := p.Release(lease); err != nil {
		t.Error(err)
	}
	if err := p.Release(lease); !errors.Is(err, ErrNotLeased) {
		t.Errorf("released twice: %v", err)
	}
	if _, err := p.Acquire("gpu1", "x"); !errors.Is(err, ErrNotFree) {
		t.Errorf("a lost one was leased: %v", err)
	}
	if _, err := p.Acquire("gpu9", "x"); !errors.Is(err, ErrUnknownDevice) {
		t.Errorf("an unknown one was leased: %v", err)
	}
}

func TestMarks(t *testing.T) {
	p, err := NewPool([]Device{device(GPU, 0)})
	if err != nil {
		t.Fatal(err)
	}
	state := func() string { r := p.Snapshot()[0]; return string(r.State) + ": " + r.Why }
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { p.SetBusy(map[string]string{"GPU-0": "a notebook holds 38 GB"}); return nil }, "busy_by_others: a notebook holds 38 GB"},
		{func() error { return p.Hold("gpu0", "reserved until 16:00") }, "busy_by_others: reserved until 16:00"},
		{func() error { return p.Drain("gpu0", "faults") }, "draining: faults"},
		{func() error { return p.Return("gpu0") }, "busy_by_others: a notebook holds 38 GB"},
		{func() error { p.SetBusy(nil); return nil }, "free: "},
		{func() error { _, err := p.Acquire("gpu0", "trial 1"); return err }, "held: trial 1"},
		{func() error { p.SetBusy(map[string]string{"GPU-0": ""}); return nil }, "busy_by_others: used by a process outside easeml"},
		{func() error { _, err := p.Set(nil); return err }, "lost: not reported by the driver any more"},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != s.want {
			t.Errorf("step %d: %q, want %q", i, got, s.want)
		}
	}
	for _, bad := range [][]Device{{{ID: "x"}}, {{Kind: CPU}}, {device(GPU, 0), device(GPU, 0)}} {
		if _, err := p.Set(bad); !errors.Is(err, ErrBadDevice) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestExclusive does anything in any order and compares with the plainest book there is: who holds which device.
func TestExclusive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []Device{device(CPU, 0), device(CPU, 1), device(GPU, 0), device(GPU, 1), device(GPU, 2)}
		some := rapid.Custom(func(t *rapid.T) []Device {
			var list []Device
			for _, d := range all {
				if rapid.Bool().Draw(t, d.ID) {
					list = append(list, d)
				}
			}
			return list
		})
		p, err := NewPool(some.Draw(t, "devices"))
		if err != nil {
			t.Fatal(err)
		}
		held := map[string]Lease{}
		given := map[int64]bool{}
		var past []Lease
		id := rapid.SampledFrom([]string{"cpu0", "cpu1", "gpu0", "gpu1", "gpu2", "gpu7"})
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				device := id.Draw(t, "id")
				free := false
				for _, d := range p.Free() {
					free = free || d.ID == device
				}
				l, err := p.Acquire(device, "someone")
				if (err == nil) != free {
					t.Fatalf("%s free %v, acquire %v", device, free, err)
				}
				if err != nil {
					return
				}
				if _, twice := held[device]; twice {
					t.Fatalf("%s is leased twice", device)
				}
				if given[l.ID] {
					t.Fatalf("lease %d is given twice", l.ID)
				}
				given[l.ID], held[device] = true, l
				past = append(past, l)
			},
			"release": func(t *rapid.T) {
				if len(past) == 0 {
					return
				}
				l := rapid.SampledFrom(past).Draw(t, "lease")
				now, holds := held[l.Device.ID]
				holds = holds && now.ID == l.ID
				if err := p.Release(l); (err == nil) != holds {
					t.Fatalf("holds %v, release %v", holds, err)
				}
				if holds {
					delete(held, l.Device.ID)
				}
			},
			"set": func(t *rapid.T) {
				if _, err := p.Set(some.Draw(t, "devices")); err != nil {
					t.Fatal(err)
				}
			},
			"busy":   func(t *rapid.T) { p.SetBusy(map[string]string{id.Draw(t, "id"): "x", "GPU-1": ""}) },
			"hold":   func(t *rapid.T) { p.Hold(id.Draw(t, "id"), "") },
			"drain":  func(t *rapid.T) { p.Drain(id.Draw(t, "id"), "") },
			"return": func(t *rapid.T) { p.Return(id.Draw(t, "id")) },
			"": func(t *rapid.T) {
				n := 0
				for _, r := range p.Snapshot() {
					l, holds := held[r.Device.ID]
					if holds != (r.Lease != nil) || holds && r.Lease.ID != l.ID {
						t.Fatalf("the book says %+v, true is %v %+v", r, holds, l)
					}
					if r.State == Free && (holds || r.Why != "") || r.State != Free && r.Why == "" || r.State == Held && !holds {
						t.Fatalf("row %+v", r)
					}
					if holds {
						n++
					}
				}
				if n != len(held) {
					t.Fatal("a held device was forgotten")
				}
			},
		})
	})
}
