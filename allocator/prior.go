package allocator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"sort"
)

// Prior is what is believed of candidates before a search's first trial: a plain, immutable value, fitted from past
// searches by [FitPrior] or made from families alone by [DefaultPrior]. All slices are in the order of Candidates.
type Prior struct {
	ID         string           `json:"id"` // "sha256:…" over the rest
	Rows       int              `json:"rows"`
	Live       int              `json:"live,omitempty"` // ended trials of open searches its seconds are from ([Allocator.LivePriors])
	Base       string           `json:"base,omitempty"` // id of the prior that those trials changed
	Candidates []PriorCandidate `json:"candidates"`     // sorted by id
	Quality    QualityPrior     `json:"quality"`
	Seconds    SecondsPrior     `json:"seconds"`
}

// PriorCandidate is a candidate that a prior knows.
type PriorCandidate struct {
	ID     CandidateID `json:"id"`
	Family string      `json:"family,omitempty"`
	Rows   int         `json:"rows"`  // past searches in which its quality was measured
	Timed  int         `json:"timed"` // past searches in which its seconds were
	// Live: open searches tell of its seconds.
	Live bool `json:"live,omitempty"`
}

// QualityPrior is a Gaussian over the candidates' qualities on a scale: "logit" (log((q+o)/(1-q+o))) or "linear".
type QualityPrior struct {
	Scale  string    `json:"scale"`
	Offset float64   `json:"offset,omitempty"` // o of the logit scale
	Mean   []float64 `json:"mean"`
	Cov    Symmetric `json:"cov"`
	Noise  float64   `json:"noise"` // variance of one observation
	// DF are the degrees of freedom of a multivariate Student-t, of which Cov is the scatter: each search has a scale of its
	// own, s² ~ DF/χ²(DF). 0: a Gaussian.
	DF    float64 `json:"df,omitempty"`
	Floor float64 `json:"floor"` // the incumbent before the first observation, on the scale: the lowest of history
}

// SecondsPrior is a Gaussian over log seconds. Candidate k on a data set of n examples and p features has the mean
//
//	Mean[k] + Slope[k]·(log(n+1)-Centre[0], log(p+1)-Centre[1])
//
// on its home class: of its log seconds, or, where the prior is Relative, of the logarithm of its seconds over the trainer's
// estimate for that data (then without slopes, since that knows how a candidate's seconds grow, also far beyond what history
// holds). A search's own deviation on a class other than Class has the variance OffsetVar.
type SecondsPrior struct {
	Mean   []float64    `json:"mean"`
	Slope  [][2]float64 `json:"slope"`
	Centre [2]float64   `json:"centre"`
	Cov    Symmetric    `json:"cov"`
	Noise  float64      `json:"noise"`
	Home   []string     `json:"home,omitempty"` // class on which Mean holds; "" = any
	// Offsets are the mean of log seconds on a class, relative to each other.
	Offsets   map[string]float64 `json:"offsets,omitempty"`
	OffsetVar float64            `json:"offset_var"`
	Class     string             `json:"class,omitempty"` // the class most of history ran on; "" = unknown
	Relative  bool               `json:"relative,omitempty"`
}

// The scales of QualityPrior.
const (
	ScaleLogit  = "logit"
	ScaleLinear = "linear"
)

// Symmetric is a symmetric matrix as its lower triangle, row by row: n(n+1)/2 numbers.
type Symmetric []float64

// At returns the element (i, j).
func (s Symmetric) At(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return s[i*(i+1)/2+j]
}

func newSymmetric(n int, at func(i, j int) float64) Symmetric {
	s := make(Symmetric, 0, n*(n+1)/2)
	for i := range n {
		for j := 0; j <= i; j++ {
			s = append(s, at(i, j))
		}
	}
	return s
}

// index returns the position of a candidate, or -1.
func (p *Prior) index(id CandidateID) int {
	i := sort.Search(len(p.Candidates), func(i int) bool { return p.Candidates[i].ID >= id })
	if i < len(p.Candidates) && p.Candidates[i].ID == id {
		return i
	}
	return -1
}

// hash is the prior's id: SHA-256 over its JSON without the id.
func (p Prior) hash() (string, error) {
	p.ID = ""
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("the prior holds a number that JSON cannot: %w", err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Seal sets the id of a prior that was made or changed by hand, and checks it. The value must not change afterwards.
func Seal(p Prior) (*Prior, error) {
	id, err := p.hash()
	if err != nil {
		return nil, err
	}
	p.ID = id
	if err := p.whole(); err != nil {
		return nil, err
	}
	return &p, nil
}

// Check tells whether the prior is whole: lengths, order, finite numbers, variances, and the id.
func (p *Prior) Check() error {
	if err := p.whole(); err != nil {
		return err
	}
	id, err := p.hash()
	if err != nil {
		return err
	}
	if id != p.ID {
		return fmt.Errorf("the prior's id %.19s… does not fit its content (%.19s…); it was changed after it was made", p.ID, id)
	}
	return nil
}

// whole is Check without the id.
func (p *Prior) whole() error {
	n := len(p.Candidates)
	tri := n * (n + 1) / 2
	for _, l := range []struct {
		name       string
		have, want int
	}{
		{"quality.mean", len(p.Quality.Mean), n}, {"quality.cov", len(p.Quality.Cov), tri},
		{"seconds.mean", len(p.Seconds.Mean), n}, {"seconds.slope", len(p.Seconds.Slope), n}, {"seconds.cov", len(p.Seconds.Cov), tri},
	} {
		if l.have != l.want {
			return fmt.Errorf("the prior's %s has %d numbers; for %d candidates it must have %d", l.name, l.have, n, l.want)
		}
	}
	if h := len(p.Seconds.Home); h != 0 && h != n {
		return fmt.Errorf("the prior's seconds.home has %d classes; for %d candidates it must have as many, or none", h, n)
	}
	if s := p.Quality.Scale; s != ScaleLogit && s != ScaleLinear {
		return fmt.Errorf("the prior's quality.scale is %q; it must be %q or %q", s, ScaleLogit, ScaleLinear)
	}
	if o := p.Quality.Offset; p.Quality.Scale == ScaleLogit && !(o > 0 && o <= 1) {
		return fmt.Errorf("the prior's quality.offset is %v; on the logit scale it must be above 0 and at most 1", o)
	}
	for i := 1; i < n; i++ {
		if p.Candidates[i-1].ID >= p.Candidates[i].ID {
			return fmt.Errorf("the prior's candidates are not in order at %q; sort them by id, each once", p.Candidates[i].ID)
		}
	}
	finite := func(xs ...float64) bool {
		for _, x := range xs {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
		return true
	}
	ok := finite(p.Quality.Mean...) && finite(p.Quality.Cov...) && finite(p.Quality.Noise, p.Quality.Floor, p.Quality.DF) &&
		finite(p.Seconds.Mean...) && finite(p.Seconds.Cov...) && finite(p.Seconds.Noise, p.Seconds.OffsetVar) && finite(p.Seconds.Centre[:]...)
	for _, s := range p.Seconds.Slope {
		ok = ok && finite(s[:]...)
	}
	for _, o := range p.Seconds.Offsets {
		ok = ok && finite(o)
	}
	if !ok {
		return fmt.Errorf("the prior holds a number that is not finite")
	}
	if !(p.Quality.Noise > 0) || !(p.Seconds.Noise > 0) || p.Seconds.OffsetVar < 0 {
		return fmt.Errorf("the prior's noise must be positive (quality %v, seconds %v) and offset_var not negative (%v)", p.Quality.Noise, p.Seconds.Noise, p.Seconds.OffsetVar)
	}
	if p.Quality.DF < 0 {
		return fmt.Errorf("the prior's degrees of freedom are %v; they must be positive, or 0 for a Gaussian", p.Quality.DF)
	}
	for i := range n {
		if p.Quality.Cov.At(i, i) < 0 || p.Seconds.Cov.At(i, i) < 0 {
			return fmt.Errorf("the prior has a negative variance for candidate %q", p.Candidates[i].ID)
		}
	}
	return nil
}

// EncodePrior writes a prior as JSON.
func EncodePrior(p *Prior) ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// DecodePrior reads what [EncodePrior] wrote and checks it.
func DecodePrior(b []byte) (*Prior, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	var p Prior
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("this is not a prior in JSON: %w", err)
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &p, nil
}
