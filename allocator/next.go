package allocator

import (
	"math"
	"sort"
	"strconv"
	"unsafe"
)

// pick is a decision before it is put into words.
type pick struct {
	search             *search
	arm, second        int
	score, secondScore float64
	turn               string
	turnNumbers        []number
}

type number struct {
	name  string
	value float64
}

// Next says what a free device of the class should train; false = nothing for it now. It does not change state: the
// caller applies [TrialStarted] when it has acted.
func (a *Allocator) Next(class string) (Decision, bool) { return a.NextInto(class, new(Buffer)) }

// Buffer is the caller's memory for the words of a decision. The zero value is ready.
type Buffer struct {
	text  []byte
	aside []SetAsideArm
	next  RunnerUp
}

// NextInto is Next with the reason's words in a buffer of the caller's: they hold until the buffer is used again, and
// nothing is allocated once the buffer has grown.
func (a *Allocator) NextInto(class string, b *Buffer) (Decision, bool) {
	c := a.classIndex(class)
	if c < 0 {
		return Decision{}, false
	}
	p, ok := a.pick(c)
	if !ok {
		return Decision{}, false
	}
	return Decision{Search: p.search.id, Candidate: p.search.arms[p.arm].ID, Class: class, Limit: p.search.limit(a, c), Reason: a.reason(p, c, b)}, true
}

// pick decides. On the default path it allocates nothing.
func (a *Allocator) pick(c int) (pick, bool) {
	if len(a.classes[c].rank.items) == 0 {
		return pick{}, false
	}
	switch a.opts.Policy {
	case PolicyDefault, PolicyMMEI:
		return a.byRate(c), true
	case PolicyRoundRobin:
		return a.robin(a.runnable(c), c), true
	case PolicyGreedy:
		return a.greedy(a.runnable(c), c), true
	case PolicyHybrid:
		if a.hybrid.Robin {
			return a.robin(a.runnable(c), c), true
		}
		return a.greedy(a.runnable(c), c), true
	case PolicyFCFS:
		return a.first(a.runnable(c), c), true
	case PolicyMostCited, PolicyMostRecent:
		return a.habit(a.runnable(c), c), true
	}
	return a.random(a.runnable(c), c), true
}

// byRate is the default policy: an overdue search, else the one with the highest key (see [Allocator.key]).
func (a *Allocator) byRate(c int) pick {
	turn, s := "", (*search)(nil)
	if a.opts.Policy == PolicyDefault {
		if s = a.overdue(c); s != nil {
			turn = "overdue"
		}
	}
	if s == nil {
		s = a.classes[c].rank.top(a)
		turn = "rate"
		if s.places[c].stage > 0 {
			turn = "opening"
		}
	}
	p := &s.places[c]
	return pick{search: s, arm: p.arm, second: p.second, score: p.logScore, secondScore: p.secondScore, turn: turn}
}

// Queue lists the searches that are runnable on a class in the order in which they would be served if nothing else
// happened: by score (default, mm-ei), else the next one and then by id.
func (a *Allocator) Queue(class string) []SearchID {
	c := a.classIndex(class)
	if c < 0 {
		return nil
	}
	rs := a.runnable(c)
	if len(rs) == 0 {
		return nil
	}
	first, _ := a.pick(c)
	mean := a.mean()
	byRate := a.opts.Policy == PolicyDefault || a.opts.Policy == PolicyMMEI
	sort.SliceStable(rs, func(i, j int) bool {
		switch {
		case rs[i] == first.search || rs[j] == first.search:
			return rs[i] == first.search && rs[j] != first.search
		case byRate:
			return a.key(rs[i], &rs[i].places[c], mean) > a.key(rs[j], &rs[j].places[c], mean)
		}
		return false
	})
	ids := make([]SearchID, len(rs))
	for i, s := range rs {
		ids[i] = s.id
	}
	return ids
}

// share is the search's load over the mean of the active ones; 1 while nobody has any.
func (a *Allocator) share(s *search) float64 {
	m := a.mean()
	if m <= 0 {
		return 1
	}
	return (s.attained + s.expected) / s.owners / m
}

func (a *Allocator) reason(p pick, c int, b *Buffer) Reason {
	s := p.search
	b.text, b.aside = b.text[:0], b.aside[:0]
	byRate := a.opts.Policy == PolicyDefault || a.opts.Policy == PolicyMMEI
	score := func(x float64) float64 {
		switch {
		case math.IsInf(x, 0):
			return 0
		case byRate:
			return math.Exp(x)
		}
		return x
	}
	r := Reason{
		Policy: a.opts.Policy, Prior: s.base.ID, Score: score(p.score), Best: s.best, AttainedShare: a.share(s),
	}
	r.Mean, r.SD = s.forecastQuality(p.arm)
	f := s.forecastSeconds(p.arm, c)
	r.Seconds, r.SecondsSD = f.Seconds, f.SD
	if p.second >= 0 {
		b.next = RunnerUp{Candidate: s.arms[p.second].ID, Score: score(p.secondScore)}
		r.RunnerUp = &b.next
	}
	stage, cheapest := s.places[c].stage, 0.0
	if stage == 1 {
		cheapest = s.cheapestCost(a, c)
	}
	for k := range s.arms {
		if s.arms[k].state != Untried || s.arms[k].removed {
			continue
		}
		if why := s.aside(a, k, c, stage, cheapest); why != "" {
			b.aside = append(b.aside, SetAsideArm{Candidate: s.arms[k].ID, Why: why})
		}
	}
	if len(b.aside) > 0 {
		r.SetAside = b.aside
	}
	b.text = append(b.text, p.turn...)
	b.say("share", r.AttainedShare)
	b.say("searches", float64(len(a.classes[c].rank.items)))
	b.say("waited", float64(a.classes[c].started-s.places[c].since))
	for _, n := range p.turnNumbers {
		b.say(n.name, n.value)
	}
	r.Turn = unsafe.String(unsafe.SliceData(b.text), len(b.text))
	return r
}

func (b *Buffer) say(name string, value float64) {
	b.text = append(append(append(b.text, ' '), name...), '=')
	b.text = strconv.AppendFloat(b.text, value, 'g', 3, 64)
}

// forecastQuality is the median of arm k's quality, and its standard deviation by the slope there.
func (s *search) forecastQuality(k int) (mean, sd float64) {
	mean = s.scale.from(s.quality.mu[k])
	return mean, math.Sqrt(s.quality.bareVariance(k)) * s.tail() * s.scale.slope(mean)
}

// forecastSeconds is mean and standard deviation of the log-normal duration.
func (s *search) forecastSeconds(k, c int) Forecast {
	m, v := s.logSeconds(k, c)
	v = min(v, 50)
	mean := math.Exp(min(m+0.5*v, maxLogSeconds+5))
	return Forecast{Seconds: mean, SD: mean * math.Sqrt(math.Expm1(v)), Infeasible: s.arms[k].infeasible&(1<<c) != 0}
}

// View returns what is thought of a search; false = unknown search.
func (a *Allocator) View(id SearchID) (SearchView, bool) {
	s, ok := a.searches[id]
	if !ok {
		return SearchView{}, false
	}
	v := SearchView{
		Search: id, Prior: s.base.ID, Owners: s.owners, Paused: s.paused, Attained: s.attained, InFlight: s.expected,
		Share: a.share(s), Best: s.best, BestCandidate: s.bestArm, Outlook: s.outlook(a),
	}
	for k := range s.arms {
		arm := &s.arms[k]
		if arm.removed {
			continue
		}
		state := arm.state
		if state == Untried && arm.infeasible != 0 && !s.open(a, k, false) {
			state = TriedInfeasible
		}
		cv := CandidateView{ID: arm.ID, Version: arm.Version, Family: arm.Family, State: state, Quality: arm.quality, Charge: arm.charge, Seconds: map[string]Forecast{}}
		cv.Mean, cv.SD = s.forecastQuality(k)
		if state == Untried && s.best >= 0 {
			cv.Gain, cv.Chance = math.Exp(s.logGain[k]), s.beats(k, s.best, spreads{tail: 1})
		}
		for c := range a.classes {
			if a.known()&arm.allowed&(1<<c) != 0 {
				cv.Seconds[a.classes[c].name] = s.forecastSeconds(k, c)
			}
		}
		v.Candidates = append(v.Candidates, cv)
	}
	return v, true
}
