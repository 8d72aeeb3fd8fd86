package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/allocator"
)

// Report is the outcome of a replay. Its JSON is
//
//	{"policies": {NAME: {"targets": {"0.01": STAT, …}, "worst": {…}, "area": …, "rho": {…}}}, "settings": {…}}
type Report struct {
	Policies []PolicyReport
	Settings Settings
}

// Settings are the configuration in force and what was read.
type Settings struct {
	Config
	Rows       int      `json:"rows"`
	Candidates int      `json:"candidates"`
	Notes      []string `json:"notes,omitempty"`
}

// PolicyReport is one policy on all draws.
type PolicyReport struct {
	Policy string
	// Targets are the shares (of the total cost, or with MetricTime of the total cost ÷ devices) until the tenants' mean loss
	// was at most a target, Worst those until the worst tenant's was. In the order of Config.Targets.
	Targets, Worst []Stat
	// Area is that under the curve of the mean loss over 0–100 % of the share, the loss at the start being 1.
	Area  float64
	Areas []float64 // per draw
	// Rho is finish-time fairness per target: how long until a tenant's own loss was at most the target, over how long it
	// would have taken the tenant alone with an equal share of the devices (Themis). Up to 1, sharing harms nobody. Over all
	// tenants of all draws; nil with Config.NoRho.
	Rho []Stat
	// Curve is the mean over draws at a share, spaced evenly in its logarithm.
	Curve []CurvePoint
	// End is where the draws ended, on average: with Config.Settle, when every search was likely final or exhausted.
	End CurvePoint
}

// Stat is a figure over draws. Low and High are a 95 % bootstrap interval of the mean.
type Stat struct {
	Target  float64   `json:"-"`
	Mean    float64   `json:"mean"`
	Median  float64   `json:"median"`
	P10     float64   `json:"p10"`
	P90     float64   `json:"p90"`
	Low     float64   `json:"low"`
	High    float64   `json:"high"`
	Reached int       `json:"reached"`         // draws (of Rho: tenants) that got there; the others count with where they ended
	Draws   []float64 `json:"draws,omitempty"` // in the order of the draws, the same for every policy
}

// CurvePoint is the mean over draws of the tenants' mean and worst loss at a share.
type CurvePoint struct {
	Share float64 `json:"share"`
	Loss  float64 `json:"loss"`
	Worst float64 `json:"worst"`
}

// MarshalJSON writes the shape above.
func (r Report) MarshalJSON() ([]byte, error) {
	type policy struct {
		Targets map[string]Stat `json:"targets"`
		Worst   map[string]Stat `json:"worst"`
		Area    float64         `json:"area"`
		Rho     map[string]Stat `json:"rho,omitempty"`
		Curve   []CurvePoint    `json:"curve"`
	}
	byTarget := func(stats []Stat) map[string]Stat {
		m := map[string]Stat{}
		for _, s := range stats {
			m[strconv.FormatFloat(s.Target, 'g', -1, 64)] = s
		}
		return m
	}
	out := struct {
		Policies map[string]policy `json:"policies"`
		Settings Settings          `json:"settings"`
	}{map[string]policy{}, r.Settings}
	for _, p := range r.Policies {
		rho := byTarget(p.Rho)
		for k, s := range rho {
			s.Draws = nil // one per tenant and draw
			rho[k] = s
		}
		out.Policies[p.Policy] = policy{byTarget(p.Targets), byTarget(p.Worst), p.Area, rho, p.Curve}
	}
	return json.Marshal(out)
}

// share is how far along a point is.
func (c *Config) share(p point, total float64) float64 {
	if c.Metric == MetricTime {
		return p.clock / (total / float64(c.Devices))
	}
	return p.spent / total
}

func summarise(policy string, of []outcome, c *Config) PolicyReport {
	r := PolicyReport{Policy: policy}
	until := func(target float64, loss func(point) float64) Stat {
		s := Stat{Target: target}
		for _, o := range of {
			i := slices.IndexFunc(o.trace, func(p point) bool { return loss(p) <= target+1e-12 })
			if i < 0 {
				s.Draws = append(s.Draws, 1)
				continue
			}
			s.Reached++
			s.Draws = append(s.Draws, c.share(o.trace[i], o.total))
		}
		s.fill(c.Seed)
		return s
	}
	for j, target := range c.Targets {
		r.Targets = append(r.Targets, until(target, func(p point) float64 { return p.mean }))
		r.Worst = append(r.Worst, until(target, func(p point) float64 { return p.worst }))
		if c.NoRho {
			continue
		}
		rho := Stat{Target: target}
		for _, o := range of {
			for t := range o.when {
				if x := o.when[t][j] / o.alone[t][j]; !math.IsNaN(x) && !math.IsInf(x, 0) {
					rho.Draws = append(rho.Draws, x)
					rho.Reached++
				}
			}
		}
		if len(rho.Draws) == 0 {
			rho.Draws = []float64{1}
		}
		rho.fill(c.Seed)
		r.Rho = append(r.Rho, rho)
	}
	for _, o := range of {
		r.Areas = append(r.Areas, c.area(o))
		last := o.trace[len(o.trace)-1]
		r.End.Share += c.share(last, o.total) / float64(len(of))
		r.End.Loss += last.mean / float64(len(of))
		r.End.Worst += last.worst / float64(len(of))
	}
	r.Area = mean(r.Areas)
	for e := -5.0; e <= 0.001; e += 0.05 {
		at := CurvePoint{Share: math.Pow(10, e)}
		for _, o := range of {
			i, _ := slices.BinarySearchFunc(o.trace, at.Share, func(p point, s float64) int {
				if c.share(p, o.total) <= s {
					return -1
				}
				return 1
			})
			at.Loss += o.trace[i-1].mean / float64(len(of))
			at.Worst += o.trace[i-1].worst / float64(len(of))
		}
		r.Curve = append(r.Curve, at)
	}
	return r
}

// area under the mean loss, a step function, from 0 to 1.
func (c *Config) area(o outcome) float64 {
	if o.trace[0].mean <= 0 {
		return 0
	}
	sum := 0.0
	for i, p := range o.trace {
		to := 1.0
		if i+1 < len(o.trace) {
			to = min(1, c.share(o.trace[i+1], o.total))
		}
		sum += p.mean * max(0, to-c.share(p, o.total))
	}
	return sum / o.trace[0].mean
}

func (s *Stat) fill(seed uint64) {
	s.Mean = mean(s.Draws)
	s.Median, s.P10, s.P90 = quantile(s.Draws, 0.5), quantile(s.Draws, 0.1), quantile(s.Draws, 0.9)
	s.Low, s.High = bootstrap(len(s.Draws), seed, func(pick []int) float64 {
		sum := 0.0
		for _, i := range pick {
			sum += s.Draws[i]
		}
		return sum / float64(len(pick))
	})
}

// quantile by linear interpolation between order statistics.
func quantile(xs []float64, p float64) float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	at := p * float64(len(s)-1)
	lo := int(at)
	if lo+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[lo] + (at-float64(lo))*(s[lo+1]-s[lo])
}

// Policy returns the report of a policy.
func (r *Report) Policy(name string) (PolicyReport, bool) {
	for _, p := range r.Policies {
		if p.Policy == name {
			return p, true
		}
	}
	return PolicyReport{}, false
}

// WriteText writes the tables that a person reads: mean / median over draws, in per cent.
func (r *Report) WriteText(w io.Writer) error {
	c := r.Settings.Config
	var b strings.Builder
	unit := "of the cost of training everything"
	if c.Metric == MetricTime {
		unit = "of the time that training everything takes"
	}
	fmt.Fprintf(&b, "%d data sets × %d candidates · %d tenants, %d device%s, %d draw%s\n", r.Settings.Rows, r.Settings.Candidates,
		c.Tenants, c.Devices, plural(c.Devices), c.Repeats, plural(c.Repeats))
	for _, n := range r.Settings.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	table := func(title string, of func(PolicyReport) []Stat, cell func(Stat) string) {
		fmt.Fprintf(&b, "\n%s\n%-12s", title, "")
		for _, t := range c.Targets {
			fmt.Fprintf(&b, "  %15g", t)
		}
		for _, p := range r.Policies {
			fmt.Fprintf(&b, "\n%-12s", p.Policy)
			for _, s := range of(p) {
				fmt.Fprintf(&b, "  %15s", cell(s))
			}
		}
		b.WriteByte('\n')
	}
	percent := func(s Stat) string { return fmt.Sprintf("%.3g / %.3g", 100*s.Mean, 100*s.Median) }
	table("Per cent "+unit+" until the tenants' mean loss is at most … (mean / median)", func(p PolicyReport) []Stat { return p.Targets }, percent)
	table("… until the worst tenant's is", func(p PolicyReport) []Stat { return p.Worst }, percent)
	if !c.NoRho {
		table("Finish-time fairness: times as long as with a share of one's own (mean / 90th percentile)",
			func(p PolicyReport) []Stat { return p.Rho }, func(s Stat) string { return fmt.Sprintf("%.3g / %.3g", s.Mean, s.P90) })
	}
	fmt.Fprintf(&b, "\nArea under the mean loss (1 = never falls)\n")
	for _, p := range r.Policies {
		fmt.Fprintf(&b, "%-12s  %.3g\n", p.Policy, p.Area)
	}
	if c.Settle {
		for _, p := range r.Policies {
			if p.Policy == allocator.PolicyDefault {
				fmt.Fprintf(&b, "%-12s  is likely final at %.3g %% with a mean loss of %.4f\n", p.Policy, 100*p.End.Share, p.End.Loss)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
