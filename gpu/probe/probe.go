package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/easeml/easeml/gpu"
)

// Prober looks at a machine once.
type Prober interface {
	Probe(ctx context.Context) (Report, error)
}

// Report is what a look found. Unusable devices are not in it; Notes say why they are left out.
type Report struct {
	Devices []gpu.Device
	Busy    []Busy
	Sick    []Busy   // devices that should be drained, with the reason
	Notes   []string // sentences for people
}

// Busy is a device that somebody outside easeml uses.
type Busy struct {
	Device string // its UUID, or its id where it has none: what gpu.Pool.SetBusy wants
	Why    string // a clause for people: "a process outside easeml holds 38 GB"
	// Sure is false where the user cannot be told from one of our own trials, for instance because the machine hides
	// other process numbers. Such a report counts for devices that nobody of ours holds.
	Sure bool
}

// Why is the map that gpu.Pool.SetBusy wants. held says which devices, by the same keys, are held by our own leases:
// there, a report that is not sure does not count.
func (r Report) Why(held func(device string) bool) map[string]string {
	why := map[string]string{}
	for _, b := range r.Busy {
		if b.Sure || held == nil || !held(b.Device) {
			why[b.Device] = b.Why
		}
	}
	return why
}

// Join asks several probers and puts their reports together, in their order. One that fails becomes a note, unless all
// fail. Nil probers are left out.
func Join(probers ...Prober) Prober {
	var kept joined
	for _, p := range probers {
		if p != nil {
			kept = append(kept, p)
		}
	}
	return kept
}

type joined []Prober

func (j joined) Probe(ctx context.Context) (Report, error) {
	var all Report
	var failures []error
	for _, p := range j {
		r, err := p.Probe(ctx)
		if err != nil {
			failures = append(failures, err)
			all.Notes = append(all.Notes, fmt.Sprintf("Some devices could not be looked at: %v.", err))
			continue
		}
		all.Devices = append(all.Devices, r.Devices...)
		all.Busy = append(all.Busy, r.Busy...)
		all.Sick = append(all.Sick, r.Sick...)
		all.Notes = append(all.Notes, r.Notes...)
	}
	if len(failures) > 0 && len(failures) == len(j) {
		return Report{}, errors.Join(failures...)
	}
	return all, nil
}

// Default rates, in charge per second: a whole card counts 1, a thread of a CPU slot a twentieth.
const (
	cardRate   = 1.0
	threadRate = 0.05
)

// Rates holds charge per second by device class, where it is not the default.
type Rates map[string]float64

func (r Rates) of(class string, other float64) float64 {
	if rate, given := r[class]; given {
		return rate
	}
	return other
}
