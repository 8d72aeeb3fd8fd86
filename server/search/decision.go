package search

import (
	"math"
	"sort"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
)

// rivals is how many other candidates are kept with a decision.
const rivals = 4

// decided is a decision as it is kept with its trial: the allocator's reason,
// the device it was for, and what was thought then of the chosen candidate and
// of the others.
type decided struct {
	allocator.Reason
	Device      string  `json:"device"`
	DeviceClass string  `json:"device_class"`
	Gain        float64 `json:"gain"`                    // expected improvement over the best, in quality; 0 before there is one
	Chance      float64 `json:"chance"`                  // that it beats the best
	Results     int     `json:"results"`                 // trials of the search that had told a quality
	Inherited   int     `json:"inherited"`               // observations of the version before
	Earlier     int     `json:"earlier"`                 // earlier data sets in the prior
	Version     int     `json:"prior_version,omitempty"` // of the prior that history gave; 0: families and estimates alone
	Wait        *wait   `json:"wait,omitempty"`          // that the decision ended
	Rivals      []rival `json:"rivals"`
}

// rival is an untried candidate that was not chosen.
type rival struct {
	Candidate string  `json:"candidate"`
	Mean      float64 `json:"mean"`
	SD        float64 `json:"sd"`
	Gain      float64 `json:"gain"`
	Chance    float64 `json:"chance"`
	Seconds   float64 `json:"seconds"` // on the class of the decision
	SecondsSD float64 `json:"seconds_sd"`
	Aside     string  `json:"aside,omitempty"` // why it was not considered, as in the reason's set_aside
}

// decided gathers what is known at the moment of a decision, before it is
// carried out.
func (st *state) decided(t *tenant, d gpu.Device, decision allocator.Decision) decided {
	out := decided{Reason: decision.Reason, Device: d.ID, DeviceClass: d.Class, Inherited: t.inherited, Rivals: []rival{}}
	if p := t.prior; p.Prior != nil && p.ID == decision.Reason.Prior {
		out.Earlier, out.Version = p.Rows, p.Version
	}
	view, ok := st.alloc.View(decision.Search)
	if !ok {
		return out
	}
	aside := map[allocator.CandidateID]string{}
	for _, a := range decision.Reason.SetAside {
		aside[a.Candidate] = a.Why
	}
	for _, c := range view.Candidates {
		if c.State == allocator.TriedOK || c.State == allocator.TriedCensored {
			out.Results++
		}
		if c.ID == decision.Candidate {
			out.Gain, out.Chance = c.Gain, c.Chance
			continue
		}
		takes, here := c.Seconds[d.Class]
		if c.State != allocator.Untried || !here || takes.Infeasible || t.candidates[string(c.ID)].Baseline {
			continue
		}
		out.Rivals = append(out.Rivals, rival{
			Candidate: string(c.ID), Mean: c.Mean, SD: c.SD, Gain: c.Gain, Chance: c.Chance,
			Seconds: takes.Seconds, SecondsSD: takes.SD, Aside: aside[c.ID],
		})
	}
	out.Rivals = strongest(out.Rivals)
	return out
}

// strongest keeps the rivals that gain most per second, the considered ones
// first, and the one that may be the best of all whatever it costs.
func strongest(list []rival) []rival {
	worth := func(r rival) float64 {
		if r.Seconds <= 0 || math.IsInf(r.Seconds, 0) {
			return 0
		}
		return r.Gain / r.Seconds
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case (a.Aside == "") != (b.Aside == ""):
			return a.Aside == ""
		case worth(a) != worth(b):
			return worth(a) > worth(b)
		}
		return a.Seconds < b.Seconds
	})
	if len(list) <= rivals {
		return list
	}
	hope := rivals - 1
	for i := rivals; i < len(list); i++ {
		if list[i].Mean+list[i].SD > list[hope].Mean+list[hope].SD {
			hope = i
		}
	}
	return append(list[:rivals-1:rivals-1], list[hope])
}
