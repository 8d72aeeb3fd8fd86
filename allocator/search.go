package allocator

import (
	"math"
	"sort"
)

// maxClasses is how many device classes an allocator can tell apart: arms keep them as bits of one word.
const maxClasses = 64

// search is the allocator's tenant.
type search struct {
	id         SearchID
	arrival    int // counts SearchAdded events
	owners     float64
	prior      *Prior // in force
	base       *Prior // as it was given, before open searches taught anything
	basis      *basis
	scale      scale
	examples   int
	features   int
	resolution float64
	paused     bool
	insisted   bool // resumed: goes on though likely final

	arms   []arm // by id
	log    []note
	flying []flight

	quality posterior
	seconds posterior
	logSec  [][]float64 // per class of the allocator: prior mean of log seconds of every arm

	attained float64 // charge of ended and lost trials
	expected float64 // charge of those in flight
	best     float64 // -1: none
	bestArm  CandidateID
	runs     int     // qualities observed in this search itself
	lessons  int     // these, and trials put aside
	strange  float64 // sum of their squared standardised residuals

	// Caches, functions of the above; refreshed after every event of this search.
	logGain  []float64 // of every arm
	family   []int     // of every arm, as a number below families; the basis's
	families int
	marks    []uint8 // scratch, per family
	places   []place // per class of the allocator
	owed     []bool  // of every arm: it must be tried before the search can be likely final
	// onlyOwed: the search would be likely final but for these; none but these is given.
	onlyOwed bool
	finished bool    // nothing untried is worth a trial: likely final
	active   bool    // something may be run, or is in flight
	load     float64 // its part of the allocator's sum of loads while active

	rival rivalry // of the paper's policies
}

// arm is a candidate with what has become of it here.
type arm struct {
	*Arm       // shared by the searches that offer the same
	state      ArmState
	removed    bool
	invited    bool   // added after the search was
	lost       bool   // its last trial was lost, and none has been started since
	allowed    uint64 // classes, as bits
	infeasible uint64
	quality    float64 // -1: none
	charge     float64
	overran    float64 // the most seconds after which it was put aside
}

// flight is a trial that is running.
type flight struct {
	arm    int
	class  int
	charge float64 // expected, or what it has cost so far if that is more
	bound  float64 // upper confidence bound of the arm when it was chosen (the paper's B)
}

// note is an observation as it was taken in; the posteriors are rebuilt from these when the arms change.
type note struct {
	Candidate CandidateID `json:"candidate"`
	Class     string      `json:"class,omitempty"`
	Quality   float64     `json:"quality"`                 // on [0,1]
	LogSec    float64     `json:"log_seconds,omitempty"`   // as if on this search's size of data
	Timed     bool        `json:"timed,omitempty"`         // LogSec is one
	QNoise    float64     `json:"quality_noise,omitempty"` // beside the prior's
	SNoise    float64     `json:"seconds_noise,omitempty"`
	Longer    bool        `json:"longer,omitempty"` // put aside: took longer than LogSec, and told no quality
	Own       bool        `json:"own,omitempty"`    // of this search and data version
}

// Noise added to what is not quite an observation of this search, as variances.
const (
	inheritedQuality = 0.1  // logit²: an earlier data version
	inheritedSeconds = 0.1  // log²
	rescoredQuality  = 0.02 // an old model scored on the new version
	censoredQuality  = 0.25 // stopped early: at least this good
	censoredSeconds  = 0.25
)

// onScale is what such a variance is on the search's scale: on the linear one at the slope 1/4 of the logit's middle.
func (s *search) onScale(v float64) float64 {
	if s.scale.linear() {
		return v / 16
	}
	return v
}

// find returns the position of a candidate, or -1.
func (s *search) find(id CandidateID) int {
	i := sort.Search(len(s.arms), func(i int) bool { return s.arms[i].ID >= id })
	if i < len(s.arms) && s.arms[i].ID == id {
		return i
	}
	return -1
}

func (s *search) flightOf(k int) int {
	for i := range s.flying {
		if s.flying[i].arm == k {
			return i
		}
	}
	return -1
}

// eligible tells whether arm k could be started on class c.
func (s *search) eligible(k, c int) bool {
	a := &s.arms[k]
	return a.state == Untried && !a.removed && a.allowed&^a.infeasible&(1<<c) != 0
}

// plain lists the arms as they were offered.
func (s *search) plain() []Arm {
	arms := make([]Arm, len(s.arms))
	for i := range s.arms {
		arms[i] = *s.arms[i].Arm
	}
	return arms
}

// rebuild makes the posteriors from the prior and the log. arms, prior and size must be set.
func (s *search) rebuild(a *Allocator) {
	old := s.basis
	s.basis = a.basisFor(s.prior, s.plain())
	a.release(old)
	s.basis.share(s.arms)
	s.scale = s.prior.Quality.scale()
	s.quality = *newPosterior(s.basis.qmean, s.basis.quality)
	s.seconds = *newPosterior(make([]float64, len(s.arms)), s.basis.seconds)
	s.quality.work, s.seconds.work = &a.work, &a.work
	s.logSec = nil
	s.growClasses(a)
	s.strange, s.runs, s.lessons = 0, 0, 0
	for k := range s.arms {
		s.arms[k].overran = 0
	}
	for i := range s.log {
		s.learn(a, &s.log[i])
	}
	s.logGain = make([]float64, len(s.arms))
	s.family, s.families = s.basis.family, s.basis.families
}

// growClasses follows the allocator's list of classes.
func (s *search) growClasses(a *Allocator) {
	if len(s.logSec) == len(a.classes) {
		return
	}
	plain := s.plain()
	for c := len(s.logSec); c < len(a.classes); c++ {
		name := a.classes[c].name
		variance := s.prior.Seconds.OffsetVar
		if name == s.prior.Seconds.Class {
			variance = 0
		}
		s.seconds.addClass(variance)
		if c == len(s.places) {
			s.places = append(s.places, place{arm: -1, second: -1, rank: -1, wait: -1})
		}
		s.logSec = append(s.logSec, logSecondsPrior(s.prior, s.basis, plain, name, s.examples, s.features))
	}
}

// learn conditions the posteriors on a note.
func (s *search) learn(a *Allocator, n *note) {
	k := s.find(n.Candidate)
	if k < 0 {
		return
	}
	if n.Longer {
		s.outlast(k, a.classIndex(n.Class), n.LogSec, s.prior.Seconds.Noise+n.SNoise)
		if n.Own {
			s.lessons++
			s.arms[k].overran = max(s.arms[k].overran, math.Exp(n.LogSec))
		}
		return
	}
	z := s.quality.observe(k, -1, s.scale.to(n.Quality), s.prior.Quality.Noise+s.onScale(n.QNoise))
	if n.Own {
		s.runs++
		s.lessons++
		s.strange += z * z
	}
	if n.Timed {
		c := a.classIndex(n.Class)
		s.seconds.observe(k, c, n.LogSec-s.logSec[c][k], s.prior.Seconds.Noise+n.SNoise)
	}
}

// logSeconds is mean and variance of the log seconds of arm k on class c.
func (s *search) logSeconds(k, c int) (mean, variance float64) {
	m, v := s.seconds.at(k, c)
	return s.logSec[c][k] + m, v
}

// logCost is the logarithm of the expected charge of arm k on class c: log rate + µ + σ²/2.
func (s *search) logCost(a *Allocator, k, c int) float64 {
	m, v := s.logSeconds(k, c)
	return a.classes[c].logRate + min(m+0.5*v, maxLogSeconds+5)
}

// incumbent is what an improvement is measured from, on the scale, with the slope back to quality there. Before the
// first observation it is the lowest quality of history and the slope is 1, so that a newcomer is served early. A
// trial in flight counts as if it ended at its posterior mean.
func (s *search) incumbent() (x, logSlope float64) {
	if s.best < 0 {
		x = s.prior.Quality.Floor
	} else {
		x, logSlope = s.scale.to(s.best), math.Log(s.scale.slope(s.best))
	}
	for i := range s.flying {
		if m := s.quality.mu[s.flying[i].arm]; m > x && !s.arms[s.flying[i].arm].removed {
			x = m
			if s.best >= 0 {
				logSlope = math.Log(s.scale.slope(s.scale.from(m)))
			}
		}
	}
	return x, logSlope
}

// tail is what standard deviations are multiplied by: the scale of this search as far as it is known. Under a prior
// that is a multivariate Student-t it is sqrt((ν + Σz²)/(ν + n)); under a Gaussian it only widens, with four virtual
// observations.
func (s *search) tail() float64 {
	nu, low := s.prior.Quality.DF, 0.0
	if nu == 0 {
		nu, low = 4, 1
	}
	return math.Sqrt(max(low, (nu+s.strange)/(nu+float64(s.runs))))
}
