package allocator

import (
	"encoding/json"
	"fmt"
	"math"
)

const snapshotFormat = 4

// A snapshot holds what cannot be derived: options, priors, observations, flights, charges, turns. Posteriors and orders
// are rebuilt from it, by the same operations in the same order, so the numbers are the same to the last bit.
type snapshot struct {
	Format   int              `json:"format"`
	Options  Options          `json:"options"`
	Priors   []*Prior         `json:"priors"` // each once
	Classes  []snapshotClass  `json:"classes"`
	Devices  map[string]int   `json:"devices"` // null: no pool was told
	Arrivals int              `json:"arrivals"`
	Started  int              `json:"started"`
	Loads    float64          `json:"loads"`
	Actors   int              `json:"actors"`
	Low      float64          `json:"low"`
	Hybrid   hybridState      `json:"hybrid"`
	Searches []snapshotSearch `json:"searches"`
}

type snapshotClass struct {
	Name    string `json:"name"`
	Started int    `json:"started"`
}

type snapshotSearch struct {
	ID         SearchID         `json:"id"`
	Arrival    int              `json:"arrival"`
	Owners     float64          `json:"owners"`
	Prior      string           `json:"prior"`
	Base       string           `json:"base"`
	Examples   int              `json:"examples"`
	Features   int              `json:"features"`
	Resolution float64          `json:"resolution"`
	Paused     bool             `json:"paused"`
	Insisted   bool             `json:"insisted"`
	Arms       []snapshotArm    `json:"arms"`
	Log        []note           `json:"log"`
	Flying     []snapshotFlight `json:"flying"`
	Attained   float64          `json:"attained"`
	Best       float64          `json:"best"`
	BestArm    CandidateID      `json:"best_candidate"`
	Bound      *float64         `json:"bound"` // null: infinite
	Gap        *float64         `json:"gap"`
	Since      map[string]int   `json:"since"` // per class
}

type snapshotArm struct {
	Arm
	State      ArmState `json:"state"`
	Removed    bool     `json:"removed,omitempty"`
	Invited    bool     `json:"invited,omitempty"`
	Lost       bool     `json:"lost,omitempty"`
	Infeasible []string `json:"infeasible,omitempty"`
	Quality    float64  `json:"quality"`
	Charge     float64  `json:"charge"`
}

type snapshotFlight struct {
	Candidate CandidateID `json:"candidate"`
	Class     string      `json:"class"`
	Charge    float64     `json:"charge"`
	Bound     float64     `json:"bound"`
}

func finiteOrNil(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func orInf(x *float64) float64 {
	if x == nil {
		return math.Inf(1)
	}
	return *x
}

// Snapshot writes the whole state as JSON.
func (a *Allocator) Snapshot() ([]byte, error) {
	n := snapshot{
		Format: snapshotFormat, Options: a.opts, Devices: a.devices, Arrivals: a.arrivals, Started: a.started,
		Loads: a.loads, Actors: a.actors, Low: a.low, Hybrid: a.hybrid,
	}
	for c := range a.classes {
		if a.seen&(1<<c) != 0 {
			n.Classes = append(n.Classes, snapshotClass{a.classes[c].name, a.classes[c].started})
		}
	}
	written := map[string]bool{}
	for _, s := range a.order {
		for _, p := range []*Prior{s.base, s.prior} {
			if !written[p.ID] {
				written[p.ID] = true
				n.Priors = append(n.Priors, p)
			}
		}
		n.Searches = append(n.Searches, a.snapshotOf(s))
	}
	return json.Marshal(n)
}

func (a *Allocator) snapshotOf(s *search) snapshotSearch {
	x := snapshotSearch{
		ID: s.id, Arrival: s.arrival, Owners: s.owners, Prior: s.prior.ID, Base: s.base.ID, Examples: s.examples, Features: s.features,
		Resolution: s.resolution, Paused: s.paused, Insisted: s.insisted, Log: s.log, Attained: s.attained, Best: s.best,
		BestArm: s.bestArm, Bound: finiteOrNil(s.rival.bound), Gap: finiteOrNil(s.rival.gap), Since: map[string]int{},
	}
	for k := range s.arms {
		m := &s.arms[k]
		y := snapshotArm{Arm: *m.Arm, State: m.state, Removed: m.removed, Invited: m.invited, Lost: m.lost, Quality: m.quality, Charge: m.charge}
		for c := range a.classes {
			if m.infeasible&(1<<c) != 0 {
				y.Infeasible = append(y.Infeasible, a.classes[c].name)
			}
		}
		x.Arms = append(x.Arms, y)
	}
	for _, f := range s.flying {
		x.Flying = append(x.Flying, snapshotFlight{s.arms[f.arm].ID, a.classes[f.class].name, f.charge, f.bound})
	}
	for c := range a.classes {
		if a.seen&(1<<c) != 0 {
			x.Since[a.classes[c].name] = s.places[c].since
		}
	}
	return x
}

// Restore makes an allocator from a snapshot; its next decisions are those of the original.
func Restore(b []byte) (*Allocator, error) {
	var n snapshot
	if err := json.Unmarshal(b, &n); err != nil {
		return nil, fmt.Errorf("this is not a snapshot of the allocator: %w", err)
	}
	if n.Format != snapshotFormat {
		return nil, fmt.Errorf("the allocator's snapshot has format %d; this program reads %d", n.Format, snapshotFormat)
	}
	a, err := New(n.Options)
	if err != nil {
		return nil, fmt.Errorf("the allocator's snapshot cannot be read: %w", err)
	}
	for _, c := range n.Classes {
		if err := a.see(c.Name); err != nil {
			return nil, err
		}
		a.classes[a.classIndex(c.Name)].started = c.Started
	}
	if n.Devices != nil {
		if err := a.changePool(&PoolChanged{Devices: n.Devices}); err != nil {
			return nil, err
		}
	}
	priors := map[string]*Prior{}
	for _, p := range n.Priors {
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("the allocator's snapshot cannot be read: %w", err)
		}
		priors[p.ID] = p
	}
	a.arrivals, a.started, a.hybrid, a.stale = n.Arrivals, n.Started, n.Hybrid, false
	for i := range n.Searches {
		if err := a.restoreSearch(&n.Searches[i], priors); err != nil {
			return nil, fmt.Errorf("the allocator's snapshot cannot be read: search %s: %w", n.Searches[i].ID, err)
		}
	}
	a.loads, a.actors, a.low = n.Loads, n.Actors, n.Low
	for c := range a.classes {
		a.classes[c].rank.rekey(a)
	}
	return a, nil
}

func (a *Allocator) restoreSearch(x *snapshotSearch, priors map[string]*Prior) error {
	if a.searches[x.ID] != nil {
		return fmt.Errorf("it is written twice")
	}
	s := &search{
		id: x.ID, arrival: x.Arrival, owners: x.Owners, prior: priors[x.Prior], base: priors[x.Base], examples: x.Examples, features: x.Features,
		resolution: x.Resolution, paused: x.Paused, insisted: x.Insisted, log: x.Log, attained: x.Attained, best: x.Best,
		bestArm: x.BestArm, rival: rivalry{bound: orInf(x.Bound), gap: orInf(x.Gap)},
	}
	if s.prior == nil || s.base == nil {
		return fmt.Errorf("its prior %q or the one that was given, %q, is missing", x.Prior, x.Base)
	}
	if w, err := weight(s.owners); err != nil || w != s.owners {
		return fmt.Errorf("its owners' weight is %v", s.owners)
	}
	for i := range x.Arms {
		y := &x.Arms[i]
		if i > 0 && x.Arms[i-1].ID >= y.ID {
			return fmt.Errorf("its candidates are not in order at %q", y.ID)
		}
		m := a.newArm(y.Arm)
		m.state, m.removed, m.invited, m.lost, m.quality, m.charge = y.State, y.Removed, y.Invited, y.Lost, y.Quality, y.Charge
		for _, class := range y.Infeasible {
			if err := a.see(class); err != nil {
				return err
			}
			m.infeasible |= 1 << a.classIndex(class)
		}
		s.arms = append(s.arms, m)
	}
	for _, f := range x.Flying {
		k := s.find(f.Candidate)
		if k < 0 || s.arms[k].state != Running {
			return fmt.Errorf("candidate %q is in flight but not running", f.Candidate)
		}
		if err := a.see(f.Class); err != nil {
			return err
		}
		s.flying = append(s.flying, flight{arm: k, class: a.classIndex(f.Class), charge: f.Charge, bound: f.Bound})
	}
	for i := range s.log {
		n := &s.log[i]
		if checkQuality(n.Quality) != nil || (n.Timed || n.Longer) && a.classIndex(n.Class) < 0 || n.QNoise < 0 || n.SNoise < 0 {
			return fmt.Errorf("its observation %d, of candidate %q, cannot be", i+1, n.Candidate)
		}
	}
	s.expect()
	s.rebuild(a)
	a.insert(s)
	a.refresh(s)
	for class, since := range x.Since {
		c := a.classIndex(class)
		if c < 0 {
			return fmt.Errorf("device class %q is one too many", class)
		}
		s.places[c].since = since
		if s.places[c].arm >= 0 {
			a.classes[c].wait.put(s)
		}
	}
	return nil
}
