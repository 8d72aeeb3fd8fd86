package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is what one device is to the pool at this moment.
type State string

const (
	// Free can be acquired.
	Free State = "free"
	// Held belongs to a lease.
	Held State = "held"
	// Busy is used by somebody else's process, or kept for a person; a trial on it should give way.
	Busy State = "busy_by_others"
	// Draining takes no new lease; the one it has may end in peace.
	Draining State = "draining"
	// Lost was there once and is not reported any more.
	Lost State = "lost"
)

// Lease is the right to use a device until Release. IDs count up and are never given twice by one Pool.
type Lease struct {
	Device Device `json:"device"`
	Holder string `json:"holder"`
	ID     int64  `json:"id"`
}

// DeviceState is one row of a Snapshot. Lease is set whenever somebody of ours holds the device, whatever the State:
// a lost, draining or busy device keeps the lease it has until that is released.
type DeviceState struct {
	Device Device `json:"device"`
	State  State  `json:"state"`
	Why    string `json:"why,omitempty"` // one clause for people; empty when free, the holder when held
	Lease  *Lease `json:"lease,omitempty"`
}

// Errors of a Pool; they come wrapped in a sentence that names the device.
var (
	ErrUnknownDevice = errors.New("no such device")
	ErrNotFree       = errors.New("not free")
	ErrNotLeased     = errors.New("no such lease")
	ErrBadDevice     = errors.New("bad device")
)

// Pool is the book of devices and leases. It is a plain value for one owner: not safe for use by several goroutines.
type Pool struct {
	devices []*entry // in fixed order: GPUs before CPU slots, each by number
	last    int64    // id of the last lease
}

type entry struct {
	device Device
	lease  *Lease
	lost   bool
	busy   string // what the probe says about other people's processes
	held   string // what a person said: kept for somebody
	drain  string // what a person or a health check said
}

// NewPool makes a pool of these devices; see Set for what it refuses.
func NewPool(devices []Device) (*Pool, error) {
	p := &Pool{}
	if _, err := p.Set(devices); err != nil {
		return nil, err
	}
	return p, nil
}

// Set tells the pool the probe's new truth and returns the rows that changed by it, in fixed order. A device that is
// no longer reported is kept as lost, with its lease if it has one, and comes back when it is reported again. Devices
// are known by UUID: when the driver's numbers shift, an id once given stays with its device, and a new device whose
// id is taken gets the next free number. An empty id, an unknown kind or a device reported twice is an error, and
// nothing changes.
func (p *Pool) Set(devices []Device) ([]DeviceState, error) {
	reported := make(map[string]Device, len(devices))
	for _, d := range devices {
		if d.ID == "" || d.Kind != CPU && d.Kind != GPU {
			return nil, fmt.Errorf("device %q of kind %q: %w", d.ID, d.Kind, ErrBadDevice)
		}
		if _, twice := reported[d.key()]; twice {
			return nil, fmt.Errorf("device %s is reported twice: %w", d.ID, ErrBadDevice)
		}
		reported[d.key()] = d
	}
	before := p.Snapshot()
	known := make(map[string]bool, len(p.devices))
	ids := make(map[string]bool, len(p.devices))
	for _, e := range p.devices {
		known[e.device.key()], ids[e.device.ID] = true, true
		d, there := reported[e.device.key()]
		e.lost = !there
		if there {
			d.ID = e.device.ID
			e.device = d
		} else {
			e.busy = ""
		}
	}
	for _, d := range devices {
		if known[d.key()] {
			continue
		}
		for n := 0; ids[d.ID]; n++ {
			d.ID = string(d.Kind) + strconv.Itoa(n)
		}
		ids[d.ID] = true
		p.devices = append(p.devices, &entry{device: d})
	}
	slices.SortFunc(p.devices, func(a, b *entry) int { return order(a.device, b.device) })
	return p.changed(before), nil
}

// SetBusy tells the pool which devices other people's processes use, with a clause for people by device key (UUID, or
// id where there is none). It replaces what an earlier call said and returns the rows that changed. Unknown keys are
// ignored: probe and pool may be one report apart.
func (p *Pool) SetBusy(why map[string]string) []DeviceState {
	before := p.Snapshot()
	for _, e := range p.devices {
		e.busy = ""
		if w, busy := why[e.device.key()]; busy && !e.lost {
			e.busy = orElse(w, "used by a process outside easeml")
		}
	}
	return p.changed(before)
}

// Free lists the devices that can be acquired now, in fixed order.
func (p *Pool) Free() []Device {
	var free []Device
	for _, e := range p.devices {
		if e.state() == Free {
			free = append(free, e.device)
		}
	}
	return free
}

// Acquire leases a free device to a holder (a trial's attempt). It fails with ErrUnknownDevice or ErrNotFree.
func (p *Pool) Acquire(deviceID, holder string) (Lease, error) {
	e, err := p.find(deviceID)
	if err != nil {
		return Lease{}, err
	}
	if s := e.state(); s != Free {
		return Lease{}, fmt.Errorf("%s is %s (%s): %w", deviceID, s, e.why(), ErrNotFree)
	}
	p.last++
	e.lease = &Lease{Device: e.device, Holder: holder, ID: p.last}
	return *e.lease, nil
}

// Release ends a lease. A lease that has ended already, or that another pool gave, is ErrNotLeased: the device may
// belong to the next holder by now.
func (p *Pool) Release(l Lease) error {
	for _, e := range p.devices {
		if e.lease != nil && e.lease.ID == l.ID && e.device.ID == l.Device.ID {
			e.lease = nil
			return nil
		}
	}
	return fmt.Errorf("lease %d on %s: %w", l.ID, l.Device.ID, ErrNotLeased)
}

// Hold keeps a device for somebody outside the search until Return; a trial on it should give way.
func (p *Pool) Hold(deviceID, why string) error {
	e, err := p.find(deviceID)
	if err == nil {
		e.held = orElse(why, "kept for somebody")
	}
	return err
}

// Drain lets the present lease end and gives no new one until Return.
func (p *Pool) Drain(deviceID, why string) error {
	e, err := p.find(deviceID)
	if err == nil {
		e.drain = orElse(why, "taken out of the pool")
	}
	return err
}

// Return undoes Hold and Drain. What the probe says (busy, lost) stays.
func (p *Pool) Return(deviceID string) error {
	e, err := p.find(deviceID)
	if err == nil {
		e.held, e.drain = "", ""
	}
	return err
}

// Snapshot lists every device the pool has ever seen, in fixed order.
func (p *Pool) Snapshot() []DeviceState {
	rows := make([]DeviceState, len(p.devices))
	for i, e := range p.devices {
		rows[i] = e.row()
	}
	return rows
}

func (p *Pool) find(id string) (*entry, error) {
	for _, e := range p.devices {
		if e.device.ID == id {
			return e, nil
		}
	}
	return nil, fmt.Errorf("device %q: %w", id, ErrUnknownDevice)
}

func (p *Pool) changed(before []DeviceState) []DeviceState {
	old := make(map[string]DeviceState, len(before))
	for _, r := range before {
		old[r.Device.ID] = r
	}
	var rows []DeviceState
	for _, e := range p.devices {
		now := e.row()
		was, known := old[now.Device.ID]
		if !known || was.Device != now.Device || was.State != now.State || was.Why != now.Why {
			rows = append(rows, now)
		}
	}
	return rows
}

func (e *entry) state() State {
	switch {
	case e.lost:
		return Lost
	case e.drain != "":
		return Draining
	case e.busy != "" || e.held != "":
		return Busy
	case e.lease != nil:
		return Held
	}
	return Free
}

func (e *entry) why() string {
	switch e.state() {
	case Lost:
		return "not reported by the driver any more"
	case Draining:
		return e.drain
	case Busy:
		return orElse(e.held, e.busy)
	case Held:
		return e.lease.Holder
	}
	return ""
}

func (e *entry) row() DeviceState {
	r := DeviceState{Device: e.device, State: e.state(), Why: e.why()}
	if e.lease != nil {
		l := *e.lease
		r.Lease = &l
	}
	return r
}

// order puts GPUs first, for they are what is scarce, and each kind by number.
func order(a, b Device) int {
	if a.Kind != b.Kind {
		return strings.Compare(string(b.Kind), string(a.Kind))
	}
	if n := len(a.ID) - len(b.ID); n != 0 {
		return n // gpu2 before gpu10
	}
	return strings.Compare(a.ID, b.ID)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
