package allocator

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// The policies. Default is the product's; the others are comparators (README states each).
const (
	PolicyDefault    = "default"
	PolicyHybrid     = "hybrid"
	PolicyRoundRobin = "roundrobin"
	PolicyGreedy     = "greedy"
	PolicyMMEI       = "mm-ei"
	PolicyFCFS       = "fcfs"
	PolicyRandom     = "random"
	PolicyMostCited  = "most-cited"
	PolicyMostRecent = "most-recent"
)

// Policies lists the names that [Options.Policy] takes.
func Policies() []string {
	return []string{PolicyDefault, PolicyHybrid, PolicyRoundRobin, PolicyGreedy, PolicyMMEI, PolicyFCFS, PolicyRandom, PolicyMostCited, PolicyMostRecent}
}

// Ordered tells whether a policy is one of the two habits of people that the paper compares with: searches in turn, each
// training its candidates in [Options.Order].
func Ordered(policy string) bool { return policy == PolicyMostCited || policy == PolicyMostRecent }

// Options fix how an Allocator decides. The zero value is the product's default.
type Options struct {
	Policy string `json:"policy"` // "" = default
	// Rates are the charge per second of a device class; a class that is not named costs 1.
	Rates map[string]float64 `json:"rates,omitempty"`
	// Service is the exponent of the attained share in the default policy's score; 0 = 1/2.
	Service float64 `json:"service,omitempty"`
	// Floor is added to the attained share in that score: it caps the credit of a search that has had nothing; 0 = 1/10.
	Floor float64 `json:"floor,omitempty"`
	// Patience is how many times faster another class of the pool must be before a candidate is kept for it; 0 = 10.
	Patience float64 `json:"patience,omitempty"`
	// Wait bounds starvation: a runnable search is overdue after Wait × (runnable searches) decisions of a class; 0 = 8.
	Wait   int           `json:"wait,omitempty"`
	Settle SettleOptions `json:"settle"`
	Limit  LimitOptions  `json:"limit"`
	Hybrid HybridOptions `json:"hybrid"`
	// Beliefs make the prior of a search that is given none; nil = DefaultBeliefs.
	Beliefs *Beliefs `json:"beliefs,omitempty"`
	Seed    uint64   `json:"seed,omitempty"` // of the random policy
	// Order is in which most-cited and most-recent train a search's candidates; those it doesn't name come last, by id.
	Order []CandidateID `json:"order,omitempty"`
}

// LimitOptions are the constants of "limits": when a trial that takes long is put aside (default policy).
type LimitOptions struct {
	Off   bool    `json:"off,omitempty"`   // every trial runs to its end
	Slack float64 `json:"slack,omitempty"` // how many times more the best alternative must promise per second; 0 = 8
}

// SettleOptions are the constants of "likely final".
type SettleOptions struct {
	Off      bool    `json:"off,omitempty"`      // never settle before exhaustion
	Chance   float64 `json:"chance,omitempty"`   // 0 = 0.05
	Families int     `json:"families,omitempty"` // distinct families tried before; 0 = 5
	Price    float64 `json:"price,omitempty"`    // in resolutions per doubling of the attained charge; 0 = 0.5
}

// HybridOptions are the constants of the paper's policies.
type HybridOptions struct {
	Frozen int     `json:"frozen,omitempty"` // s: steps without change before round robin; 0 = 10
	Delta  float64 `json:"delta,omitempty"`  // 0 = 0.1
	Beta   float64 `json:"beta,omitempty"`   // multiplies beta_t; 0 = 1
}

// filled returns the options with defaults in place of zeros, or an error that names the option.
func (o Options) filled() (Options, error) {
	if o.Policy == "" {
		o.Policy = PolicyDefault
	}
	if !slices.Contains(Policies(), o.Policy) {
		return o, fmt.Errorf("unknown policy %q; there are %s", o.Policy, strings.Join(Policies(), ", "))
	}
	rates := make(map[string]float64, len(o.Rates))
	for class, r := range o.Rates {
		if !(r > 0) || math.IsInf(r, 0) {
			return o, fmt.Errorf("the rate of device class %q is %v; it must be a positive number", class, r)
		}
		rates[class] = r
	}
	o.Rates = rates
	b := DefaultBeliefs()
	if o.Beliefs != nil {
		b = *o.Beliefs
	}
	if err := b.check(); err != nil {
		return o, fmt.Errorf("option %w", err)
	}
	o.Beliefs = &b
	for _, f := range []struct {
		name  string
		value *float64
		unset float64
	}{
		{"limit.slack", &o.Limit.Slack, 8}, {"service", &o.Service, 0.5}, {"floor", &o.Floor, 0.1}, {"patience", &o.Patience, 10},
		{"settle.chance", &o.Settle.Chance, 0.05}, {"settle.price", &o.Settle.Price, 0.5},
		{"hybrid.delta", &o.Hybrid.Delta, 0.1}, {"hybrid.beta", &o.Hybrid.Beta, 1},
	} {
		if *f.value == 0 {
			*f.value = f.unset
		}
		if !(*f.value > 0) || math.IsInf(*f.value, 0) {
			return o, fmt.Errorf("option %s is %v; it must be a positive number", f.name, *f.value)
		}
	}
	for _, f := range []struct {
		name  string
		value *int
		unset int
	}{{"wait", &o.Wait, 8}, {"settle.families", &o.Settle.Families, 5}, {"hybrid.frozen", &o.Hybrid.Frozen, 10}} {
		if *f.value == 0 {
			*f.value = f.unset
		}
		if *f.value < 0 {
			return o, fmt.Errorf("option %s is %d; it must be positive", f.name, *f.value)
		}
	}
	return o, nil
}

// rate is the charge per second on a class.
func (o *Options) rate(class string) float64 {
	if r, ok := o.Rates[class]; ok {
		return r
	}
	return 1
}

func sortedKeys[M ~map[K]V, K ~string, V any](m M) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
