package allocator

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// teachers bounds the work of learning: only the searches that came last, so many of them, teach.
const teachers = 100

// LivePriors says what the open searches teach each other of how long candidates take, as events for the
// caller to apply, beside the path from a result to the next decision. It changes nothing itself. Searches
// that started from the same past searches, or from none, learn together; the more past searches, the less
// their candidates' means are in doubt, and the less is left to learn. A search is named when the trials that
// have ended among them are a third more than those its prior was made from, so all of this happens a
// logarithmic number of times. Candidates without a past that the trainer has an estimate for are left as
// they are. Under other policies than the default there is nothing to change.
func (a *Allocator) LivePriors() []PriorChanged {
	if a.opts.Policy != PolicyDefault {
		return nil
	}
	groups := map[string]*pupils{}
	var order []*pupils
	for _, s := range a.order {
		key := ""
		if s.base.Rows > 0 {
			key = s.base.ID
		}
		g := groups[key]
		if g == nil {
			g = &pupils{}
			groups[key] = g
			order = append(order, g)
		}
		g.lessons += s.lessons
		g.searches = append(g.searches, s)
	}
	var changes []PriorChanged
	for _, g := range order {
		changes = append(changes, g.learn(a)...)
	}
	return changes
}

// pupils are searches that learn together.
type pupils struct {
	searches []*search
	lessons  int
}

func (g *pupils) learn(a *Allocator) []PriorChanged {
	if len(g.searches) == 1 && g.searches[0].base.Rows > 0 {
		return nil // it has its own posterior; nobody else is there to learn from it
	}
	var due []*search
	for _, s := range g.searches {
		if g.lessons > s.prior.Live && 3*g.lessons >= 4*s.prior.Live {
			due = append(due, s)
		}
	}
	if len(due) == 0 {
		return nil
	}
	l := learnLive(a, g.searches)
	if len(l.candidates) == 0 {
		return nil
	}
	l.outlast(a, taught(g.searches))
	made := map[string]*Prior{}
	changes := make([]PriorChanged, 0, len(due))
	for _, s := range due {
		if made[s.base.ID] == nil {
			made[s.base.ID] = l.prior(s.base, g.lessons)
		}
		changes = append(changes, PriorChanged{Search: s.id, Prior: made[s.base.ID]})
	}
	return changes
}

// live is a Gaussian over effects on log seconds that searches share: by how much a candidate's mean differs
// from what it is in their first prior. A search adds its own deviation.
type live struct {
	candidates map[CandidateID]int
	// doubt is the effects' share of a candidate's variance in the first prior; nil: they come on top of it.
	doubt []float64
	mean  *mat.VecDense
	cov   *mat.SymDense
}

// learnLive conditions the effects on every timed trial of the searches. With V the effects' covariance, O
// those of which there are trials, and C that of a search's trials about their effects, A = Σ Hᵀ·C⁻¹·H and b
// = Σ Hᵀ·C⁻¹·y over the searches,
//
//	S = V[O,O] + A⁻¹,   mean = V[:,O]·S⁻¹·A⁻¹·b,   cov = V - V[:,O]·S⁻¹·V[O,:].
//
// Candidates that nobody has run yet and that are alike in V stay alike to the last bit, so that ties remain
// ties.
func learnLive(a *Allocator, searches []*search) *live {
	l := &live{candidates: map[CandidateID]int{}}
	v := l.prepare(a, searches)
	n := len(l.candidates)
	if n == 0 {
		return l
	}
	l.mean, l.cov = mat.NewVecDense(n, nil), v
	info, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for _, s := range taught(searches) {
		l.add(s, a, info, right)
	}
	var seen []int
	for k := range n {
		if info.At(k, k) > 0 {
			seen = append(seen, k)
		}
	}
	m := len(seen)
	if m == 0 {
		return l
	}
	s, b, rows := mat.NewSymDense(m, nil), mat.NewVecDense(m, nil), mat.NewDense(m, n, nil)
	for x, i := range seen {
		b.SetVec(x, right.AtVec(i))
		for y, j := range seen[:x+1] {
			s.SetSym(x, y, info.At(i, j))
		}
		for k := range n {
			rows.Set(x, k, v.At(i, k))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(s) { // every effect in it was observed with noise, so only overflow can make it so
		return l
	}
	// The only error of these is a condition above 10¹⁶.
	_ = chol.SolveVecTo(b, b)
	_ = chol.InverseTo(s)
	for x, i := range seen {
		for y, j := range seen[:x+1] {
			s.SetSym(x, y, s.At(x, y)+v.At(i, j))
		}
	}
	if !chol.Factorize(s) {
		return l
	}
	_ = chol.SolveVecTo(b, b)
	var gain, less mat.Dense
	_ = chol.SolveTo(&gain, rows)
	less.Mul(rows.T(), &gain)
	l.mean.MulVec(rows.T(), b)
	l.cov = mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			l.cov.SetSym(i, j, v.At(i, j)-less.At(i, j))
		}
	}
	return l
}

// taught are the searches that came last and have a trial, by id.
func taught(searches []*search) []*search {
	var list []*search
	for _, s := range searches {
		if s.lessons > 0 {
			list = append(list, s)
		}
	}
	if len(list) > teachers {
		slices.SortFunc(list, func(x, y *search) int { return y.arrival - x.arrival })
		list = list[:teachers]
		slices.SortFunc(list, func(x, y *search) int { return compare(string(x.id), string(y.id)) })
	}
	return list
}

// prepare finds the candidates and their effects' covariance V. With past searches it is the part of the
// first prior's that comes from the means being estimated: of a candidate timed in T of them, 1/(T+1) of its
// variance. Without, nothing is known of any mean.
func (l *live) prepare(a *Allocator, searches []*search) *mat.SymDense {
	if p := searches[0].base; p.Rows > 0 {
		var at []int
		for k := range p.Candidates {
			share := 0.0
			if t := p.Candidates[k].Timed; t > 0 {
				share = 1 / float64(t+1)
				l.candidates[p.Candidates[k].ID] = len(at)
				at = append(at, k)
			}
			l.doubt = append(l.doubt, share)
		}
		v := mat.NewSymDense(max(len(at), 1), nil)
		for x, i := range at {
			for y, j := range at[:x+1] {
				v.SetSym(x, y, math.Sqrt(l.doubt[i]*l.doubt[j])*p.Seconds.Cov.At(i, j))
			}
		}
		return v
	}
	left := map[CandidateID]bool{} // whether it is left as it is
	for _, s := range searches {
		for k := range s.arms {
			m := &s.arms[k]
			left[m.ID] = left[m.ID] || m.Baseline || len(m.Estimate) > 0
		}
	}
	for _, id := range sortedKeys(left) {
		if !left[id] {
			l.candidates[id] = len(l.candidates)
		}
	}
	b := a.opts.Beliefs.Seconds
	v := mat.NewSymDense(max(len(l.candidates), 1), nil)
	for x := range len(l.candidates) {
		for y := range x + 1 {
			v.SetSym(x, y, b.Level)
		}
		v.SetSym(x, x, b.Level+b.Candidate)
	}
	return v
}

// within is the covariance of candidates i and j of a first prior about their means.
func (l *live) within(p *Prior, i, j int) float64 {
	c := p.Seconds.Cov.At(i, j)
	if l.doubt != nil {
		c *= math.Sqrt((1 - l.doubt[i]) * (1 - l.doubt[j]))
	}
	return c
}

// add takes in the trials of one search.
func (l *live) add(s *search, a *Allocator, info *mat.SymDense, right *mat.VecDense) {
	type trial struct{ effect, at, class int }
	var seen []trial
	var y []float64
	for i := range s.log {
		o := &s.log[i]
		x, ok := l.candidates[o.Candidate]
		at := s.base.index(o.Candidate)
		k := s.find(o.Candidate)
		if !ok || at < 0 || k < 0 || !o.Own || !o.Timed || o.Longer {
			continue
		}
		c := a.classIndex(o.Class)
		seen, y = append(seen, trial{x, at, c}), append(y, l.left(s, o, c, k, at))
	}
	if len(seen) == 0 {
		return
	}
	c := mat.NewSymDense(len(seen), nil)
	for i, p := range seen {
		for j, q := range seen[:i+1] {
			v := l.within(s.base, p.at, q.at)
			if p.class == q.class {
				v += s.seconds.offVar[p.class]
			}
			if i == j {
				v += s.base.Seconds.Noise
			}
			c.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(c) {
		return // without a factor it says nothing; the noise is on the diagonal
	}
	inverse, b := mat.NewSymDense(len(seen), nil), mat.NewVecDense(len(seen), nil)
	_ = chol.InverseTo(inverse) // the only error is a condition above 10¹⁶; the noise is on the diagonal
	_ = chol.SolveVecTo(b, mat.NewVecDense(len(y), y))
	for i, p := range seen {
		right.SetVec(p.effect, right.AtVec(p.effect)+b.AtVec(i))
		for j, q := range seen[:i+1] {
			v := inverse.At(i, j)
			if i != j && p.effect == q.effect {
				v *= 2
			}
			info.SetSym(p.effect, q.effect, info.At(p.effect, q.effect)+v)
		}
	}
}

// outlast conditions the effects on trials that were put aside, one after the other, each as if it were the
// only one of its search: with v the variance of a trial, v_k the effect's part of it, x, h and d as in
// [search.outlast], the truncated normal has the mean + v_k·h/√v and the variance v_k - v_k²·d/v. Of a
// candidate's in one search the longest counts.
func (l *live) outlast(a *Allocator, searches []*search) {
	n := len(l.candidates)
	for _, s := range searches {
		for i := range s.log {
			o := &s.log[i]
			effect, ok := l.candidates[o.Candidate]
			at, k := s.base.index(o.Candidate), s.find(o.Candidate)
			if !ok || at < 0 || k < 0 || !o.Own || !o.Longer || s.toldMore(o, i) {
				continue
			}
			c := a.classIndex(o.Class)
			v := l.cov.At(effect, effect) + l.within(s.base, at, at) + s.seconds.offVar[c] + s.base.Seconds.Noise
			sd := math.Sqrt(v)
			x := (l.left(s, o, c, k, at) - l.mean.AtVec(effect)) / sd
			h := hazard(x)
			d := h * (h - x)
			column := mat.NewVecDense(n, nil)
			for j := range n {
				column.SetVec(j, l.cov.At(j, effect))
			}
			l.mean.AddScaledVec(l.mean, h/sd, column)
			l.cov.SymRankOne(l.cov, -d/v, column)
		}
	}
}

// toldMore tells whether a later note says more of the same trial: how long it took, or that it took longer
// still.
func (s *search) toldMore(o *note, i int) bool {
	for j := i + 1; j < len(s.log); j++ {
		if p := &s.log[j]; p.Candidate == o.Candidate && p.Class == o.Class && p.Own && (p.Timed || p.Longer) {
			return true
		}
	}
	return false
}

// left is by how much a note's log seconds exceed what the first prior says; all of them where it says
// nothing.
func (l *live) left(s *search, o *note, c, k, at int) float64 {
	if l.doubt == nil {
		return o.LogSec
	}
	return o.LogSec - s.logSec[c][k] + s.prior.Seconds.Mean[at] - s.base.Seconds.Mean[at]
}

// prior is base with what is known of the candidates' seconds: a sum of independent Gaussians.
func (l *live) prior(base *Prior, lessons int) *Prior {
	p := *base
	p.Live, p.Base = lessons, base.ID
	n := len(p.Candidates)
	p.Candidates = slices.Clone(base.Candidates)
	p.Seconds.Mean = slices.Clone(base.Seconds.Mean)
	at := make([]int, n)
	for k := range p.Candidates {
		x, ok := l.candidates[p.Candidates[k].ID]
		at[k] = -1
		if ok {
			at[k] = x
			p.Candidates[k].Live = true
			p.Seconds.Mean[k] += l.mean.AtVec(x)
		}
	}
	p.Seconds.Cov = newSymmetric(n, func(i, j int) float64 {
		v, x, y := l.within(base, i, j), at[i], at[j]
		if x >= 0 && y >= 0 {
			v += l.cov.At(x, y)
		}
		return v
	})
	sealed, err := Seal(p)
	if err != nil { // cannot be: sums of finite numbers, in the base's order
		panic("allocator: the live prior is not whole: " + err.Error())
	}
	return sealed
}
