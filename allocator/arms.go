package allocator

import (
	"fmt"
	"slices"
)

func (a *Allocator) changeArms(s *search, e *ArmsChanged) error {
	if err := checkArms(e.Added); err != nil {
		return err
	}
	for _, m := range e.Added {
		k := s.find(m.ID)
		if k < 0 || s.arms[k].removed && s.arms[k].Version == m.Version && s.arms[k].state != Running {
			continue
		}
		if s.arms[k].state == Running {
			return fmt.Errorf("candidate %q is running; it can be replaced when it has ended", m.ID)
		}
		if s.arms[k].Version >= m.Version {
			return fmt.Errorf("candidate %q is there already in version %d; another meaning needs a higher version than that, not %d", m.ID, s.arms[k].Version, m.Version)
		}
	}
	for _, id := range e.Removed {
		if k := s.find(id); k < 0 || s.arms[k].removed {
			return fmt.Errorf("candidate %q cannot be removed: it is not there", id)
		}
		if slices.ContainsFunc(e.Added, func(m Arm) bool { return m.ID == id }) {
			return fmt.Errorf("candidate %q is both added and removed", id)
		}
	}
	if err := a.seeArms(e.Added); err != nil {
		return err
	}
	for _, id := range e.Removed {
		s.arms[s.find(id)].removed = true
	}
	s.insisted = false
	if len(e.Added) == 0 {
		return nil
	}
	fresh := make([]arm, 0, len(s.arms)+len(e.Added))
	for k := range s.arms {
		if !slices.ContainsFunc(e.Added, func(m Arm) bool { return m.ID == s.arms[k].ID }) {
			fresh = append(fresh, s.arms[k])
		}
	}
	for _, m := range e.Added {
		next := a.newArm(m)
		next.invited = s.runs > 0
		if k := s.find(m.ID); k >= 0 {
			if s.arms[k].Version == m.Version { // back again: what was tried stays tried
				next = s.arms[k]
				next.Arm, next.removed, next.allowed = &m, false, a.allowed(&m)
			} else {
				next.charge = s.arms[k].charge
				s.disown(m.ID)
			}
		}
		fresh = append(fresh, next)
	}
	slices.SortFunc(fresh, func(x, y arm) int { return compare(string(x.ID), string(y.ID)) })
	flying := make([]CandidateID, len(s.flying))
	for i, f := range s.flying {
		flying[i] = s.arms[f.arm].ID
	}
	s.arms = fresh
	for i := range s.flying {
		s.flying[i].arm = s.find(flying[i])
	}
	if s.prior.Rows == 0 { // a prior from families alone knows exactly the arms it was made for
		s.prior = a.opts.Beliefs.Prior(s.plain())
		s.base = s.prior
	}
	s.rebuild(a)
	a.hybrid.wake()
	return nil
}

// disown turns the notes of a candidate whose meaning has changed into inherited ones.
func (s *search) disown(id CandidateID) {
	for i := range s.log {
		if n := &s.log[i]; n.Candidate == id && n.Own {
			n.Own = false
			n.QNoise += inheritedQuality
			n.SNoise += inheritedSeconds
		}
	}
}
