package replay

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/allocator"
)

// Clairvoyant is a policy of the replay alone: it knows every quality and cost and takes the largest gain per cost.
const Clairvoyant = "clairvoyant"

// Metrics of a report.
const (
	MetricCost = "cost" // device time spent, as a share of that of all trials
	MetricTime = "time" // time on the clock, as a share of all trials' cost ÷ devices
)

// SyntheticCost in place of a cost file draws costs from the seed, "synthetic:SEED" from one of their own:
//
//	c(i,k) = exp(1.5·a_k + 1.0·b_i + 0.5·e_ik),  a, b, e ~ N(0,1),
//
// a factor per candidate, one per data set, and noise.
const SyntheticCost = "synthetic"

// AllHistory is Config.History's word for every row that is not a tenant; NoHistory is for none.
const (
	AllHistory = 0
	NoHistory  = -1
)

// Config says what is replayed. The zero value of every field but Quality (or Synthetic) has a meaning.
type Config struct {
	Quality   string     `json:"quality,omitempty"`   // CSV: data sets × candidates, in [0,1] or in percent; an empty cell fails
	Cost      string     `json:"cost,omitempty"`      // CSV of seconds; "" = 1 for every cell; "synthetic[:SEED]"
	Features  string     `json:"features,omitempty"`  // CSV of data sets × (examples, features, …); "" = unknown sizes
	Synthetic *Synthetic `json:"synthetic,omitempty"` // in place of Quality and Cost
	Arrivals  string     `json:"arrivals,omitempty"`  // CSV of tenant, time; "" = all start together
	Policies  []string   `json:"policies"`            // allocator.Policies() and "clairvoyant"; none = roundrobin, hybrid, default, clairvoyant
	Tenants   int        `json:"tenants"`             // 0 = 10
	Devices   int        `json:"devices"`             // 0 = 1
	Repeats   int        `json:"repeats"`             // draws; 0 = 20
	Targets   []float64  `json:"targets"`             // losses; none = 0.05, 0.02, 0.01, 0.005
	Metric    string     `json:"metric"`              // "" = cost
	Seed      uint64     `json:"seed"`
	// History is how many other rows the prior is fitted from; 0 = all, -1 = none (families alone).
	History int `json:"history"`
	// Noise is the standard deviation of an error added to each quality that is observed; losses stay true.
	Noise      float64  `json:"noise,omitempty"`
	KnownCosts bool     `json:"known_costs,omitempty"` // tell the tenants' true seconds beforehand
	Drop       []string `json:"drop,omitempty"`        // columns to leave out
	// Orders are those of the policies most-cited and most-recent.
	Orders map[string][]string `json:"orders,omitempty"`
	// Settle lets searches end by "likely final" (default policy); else all goes on to a loss of 0.
	Settle bool `json:"settle,omitempty"`
	// NoRho leaves finish-time fairness out, which takes as long again as all the rest.
	NoRho bool `json:"-"`
	// Short ends a draw when every tenant's loss is at most the smallest target: the figures up to there are the same, the area
	// under the curve is not told.
	Short bool `json:"-"`
	// Rename gives the candidates' ids another order in each draw, so that ties, which go to the smaller id, favour nobody.
	Rename bool `json:"rename,omitempty"`
	// Variants are the default policy with other options; Policies may name them.
	Variants map[string]allocator.Options `json:"variants,omitempty"`
	// Options of the allocator; Policy, Seed and Order are the replay's.
	Options allocator.Options `json:"options"`
	// Family groups candidates; nil = the id without a trailing "-NN".
	Family func(allocator.CandidateID) string `json:"-"`
}

var trailingNumber = regexp.MustCompile(`-\d+$`)

// Family is the id without a trailing "-NN": what groups candidates where Config.Family is nil.
func Family(id allocator.CandidateID) string { return trailingNumber.ReplaceAllString(string(id), "") }

// filled returns the config with defaults in place of zeros, or an error that names the field.
func (c Config) filled() (Config, error) {
	if c.Quality == "" && c.Synthetic == nil {
		return c, fmt.Errorf("no quality matrix was named; give a CSV file of data sets by candidates")
	}
	if c.Quality != "" && c.Synthetic != nil {
		return c, fmt.Errorf("a quality matrix was named and a synthetic one asked for; give one of the two")
	}
	if c.Synthetic != nil {
		if err := c.Synthetic.check(); err != nil {
			return c, err
		}
	}
	if len(c.Policies) == 0 {
		c.Policies = []string{allocator.PolicyRoundRobin, allocator.PolicyHybrid, allocator.PolicyDefault, Clairvoyant}
	}
	for i, p := range c.Policies {
		if _, variant := c.Variants[p]; p != Clairvoyant && !variant && !slices.Contains(allocator.Policies(), p) {
			return c, fmt.Errorf("unknown policy %q; there are %s and %s", p, strings.Join(allocator.Policies(), ", "), Clairvoyant)
		}
		if slices.Contains(c.Policies[:i], p) {
			return c, fmt.Errorf("policy %s is named twice", p)
		}
		if allocator.Ordered(p) && len(c.Orders[p]) == 0 {
			return c, fmt.Errorf("policy %s needs the order in which people try the candidates, such as --order %s=A,B,C", p, p)
		}
	}
	for name := range c.Orders {
		if !allocator.Ordered(name) {
			return c, fmt.Errorf("an order was given for %q; only %s and %s have one", name, allocator.PolicyMostCited, allocator.PolicyMostRecent)
		}
	}
	for _, f := range []struct {
		name  string
		value *int
		unset int
	}{{"tenants", &c.Tenants, 10}, {"devices", &c.Devices, 1}, {"repeats", &c.Repeats, 20}} {
		if *f.value == 0 {
			*f.value = f.unset
		}
		if *f.value < 0 {
			return c, fmt.Errorf("%s is %d; it must be positive", f.name, *f.value)
		}
	}
	if c.History < NoHistory {
		return c, fmt.Errorf("history is %d; it must be a number of rows, 0 for all or -1 for none", c.History)
	}
	if len(c.Targets) == 0 {
		c.Targets = []float64{0.05, 0.02, 0.01, 0.005}
	}
	for _, t := range c.Targets {
		if !(t >= 0 && t < 1) {
			return c, fmt.Errorf("target %v is no loss; it must be at least 0 and below 1", t)
		}
	}
	if c.Metric == "" {
		c.Metric = MetricCost
	}
	if c.Metric != MetricCost && c.Metric != MetricTime {
		return c, fmt.Errorf("unknown metric %q; there are %s and %s", c.Metric, MetricCost, MetricTime)
	}
	if !(c.Noise >= 0) || math.IsInf(c.Noise, 0) {
		return c, fmt.Errorf("noise is %v; it must be a number that is not negative", c.Noise)
	}
	if c.Family == nil {
		c.Family = Family
	}
	return c, nil
}

// costSeed tells whether costs are drawn, and from which seed.
func (c *Config) costSeed() (seed uint64, drawn bool, err error) {
	rest, ok := strings.CutPrefix(c.Cost, SyntheticCost)
	switch {
	case !ok || rest != "" && rest[0] != ':':
		return 0, false, nil
	case rest == "":
		return c.Seed, true, nil
	}
	seed, err = strconv.ParseUint(rest[1:], 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("the cost %q has no seed; write %s:SEED with a whole number", c.Cost, SyntheticCost)
	}
	return seed, true, nil
}
