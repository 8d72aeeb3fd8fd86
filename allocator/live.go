package allocator

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Variances of log seconds where nobody knows beforehand: the level of all candidates, what a candidate adds to it, what
// a search adds on a device class, and the rest. The last two are those of [DefaultPrior]. The second is wide on purpose: a
// candidate that nobody has run yet is expected to be dear, since it may be (README, "Seconds without history").
const (
	liveLevel, liveCandidate = 10, 5
	liveSearch, liveRest     = 0.4, 0.65
)

// LivePriors says what the searches that have no history teach each other of how long candidates take, as events for the
// caller to apply, beside the path from a result to the next decision. It changes nothing itself. A search is named when
// the trials that have ended in such searches are a third more than those its prior was made from, so all of this
// happens a logarithmic number of times. Candidates that the trainer has an estimate for are left as they are.
// Under other policies than the default there is nothing to change.
func (a *Allocator) LivePriors() []PriorChanged {
	if a.opts.Policy != PolicyDefault {
		return nil
	}
	runs := 0
	var cold []*search
	for _, s := range a.order {
		if s.prior.Rows == 0 {
			runs += s.runs
			cold = append(cold, s)
		}
	}
	var due []*search
	for _, s := range cold {
		if runs > s.prior.Live && 3*runs >= 4*s.prior.Live {
			due = append(due, s)
		}
	}
	if len(due) == 0 {
		return nil
	}
	l := learnLive(a, cold)
	if len(l.candidates) == 0 {
		return nil
	}
	made := map[string]*Prior{}
	changes := make([]PriorChanged, 0, len(due))
	for _, s := range due {
		base := DefaultPrior(s.plain())
		if made[base.ID] == nil {
			made[base.ID] = l.prior(*base, runs)
		}
		changes = append(changes, PriorChanged{Search: s.id, Prior: made[base.ID]})
	}
	return changes
}

// live is a Gaussian over effects on log seconds that searches without history share: the level of all candidates, which
// is effect 0, and one per candidate. A search adds its own deviation from their sum.
type live struct {
	candidates map[CandidateID]int
	mean       *mat.VecDense
	cov        *mat.SymDense
}

// learnLive conditions the effects on every timed trial of the searches. A search's deviation on a class is integrated
// out: a group of n trials has the precision (I - v·11ᵀ/(r + n·v))/r, v its variance and r that of the rest.
func learnLive(a *Allocator, cold []*search) *live {
	left := map[CandidateID]bool{} // whether it is left as it is
	for _, s := range cold {
		for k := range s.arms {
			m := &s.arms[k]
			left[m.ID] = left[m.ID] || m.Baseline || len(m.Estimate) > 0
		}
	}
	l := &live{candidates: map[CandidateID]int{}}
	for _, id := range sortedKeys(left) {
		if !left[id] {
			l.candidates[id] = len(l.candidates) + 1
		}
	}
	n := len(l.candidates) + 1
	precision, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	precision.SetSym(0, 0, 1.0/liveLevel)
	for x := 1; x < n; x++ {
		precision.SetSym(x, x, 1.0/liveCandidate)
	}
	add := func(x, y int, v float64) { precision.SetSym(x, y, precision.At(x, y)+v) }
	sums := make([]float64, n) // trials of a group by effect
	for _, s := range cold {
		for c := range a.classes {
			total := 0.0
			touched := []int{0}
			for i := range s.log {
				o := &s.log[i]
				x, ok := l.candidates[o.Candidate]
				if !ok || !o.Own || !o.Timed || o.Longer || o.Class != a.classes[c].name {
					continue
				}
				if sums[x] == 0 {
					touched = append(touched, x)
				}
				for _, y := range []int{0, x} {
					sums[y]++
					add(y, x, 1/liveRest)
					right.SetVec(y, right.AtVec(y)+o.LogSec/liveRest)
				}
				add(0, 0, 1/liveRest)
				total += o.LogSec
			}
			shrink := liveSearch / (liveRest + sums[0]*liveSearch) / liveRest
			for i, x := range touched {
				right.SetVec(x, right.AtVec(x)-shrink*sums[x]*total)
				for _, y := range touched[i:] {
					add(x, y, -shrink*sums[x]*sums[y])
				}
			}
			for _, x := range touched {
				sums[x] = 0
			}
		}
	}
	var chol mat.Cholesky
	chol.Factorize(precision) // it is definite: the prior's part is, and the data's has no negative direction
	l.mean, l.cov = mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	// The only error is a condition above 10¹⁶; the prior's precisions are 1/10 and 1/5, a trial adds less than 2.
	_ = chol.SolveVecTo(l.mean, right)
	_ = chol.InverseTo(l.cov)
	return l
}

// prior is base with what is known of the candidates' seconds added: a sum of independent Gaussians.
func (l *live) prior(base Prior, runs int) *Prior {
	p := base
	p.Live = runs
	n := len(p.Candidates)
	p.Candidates = slices.Clone(base.Candidates)
	p.Seconds.Mean = make([]float64, n)
	at := make([]int, n)
	for k := range p.Candidates {
		if x, ok := l.candidates[p.Candidates[k].ID]; ok {
			at[k] = x
			p.Candidates[k].Live = true
			p.Seconds.Mean[k] = l.mean.AtVec(0) + l.mean.AtVec(x)
		}
	}
	p.Seconds.Cov = newSymmetric(n, func(i, j int) float64 {
		v, x, y := base.Seconds.Cov.At(i, j), at[i], at[j]
		if x > 0 && y > 0 {
			v += l.cov.At(0, 0) + l.cov.At(0, x) + l.cov.At(0, y) + l.cov.At(x, y)
		}
		return v
	})
	sealed, err := Seal(p)
	if err != nil { // cannot be: sums of finite numbers, in the base's order
		panic("allocator: the live prior is not whole: " + err.Error())
	}
	return sealed
}
