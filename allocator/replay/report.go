package replay

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Report is the outcome of a replay.
type Report struct {
	Config     Config         `json:"config"`
	Rows       int            `json:"rows"`
	Candidates int            `json:"candidates"`
	Notes      []string       `json:"notes,omitempty"`
	Policies   []PolicyReport `json:"policies"`
}

// PolicyReport is one policy on all draws.
type PolicyReport struct {
	Policy  string         `json:"policy"`
	Targets []TargetReport `json:"targets"`
	Curve   []CurvePoint   `json:"curve"`
	// End is where the draws ended, on average: with Config.Settle, when every search was likely final or exhausted.
	End CurvePoint `json:"end"`
}

// TargetReport is the share of the total cost spent (or of its time) until the mean loss fell to Target. A draw that never
// got there counts as 1.
type TargetReport struct {
	Target  float64   `json:"target"`
	Mean    float64   `json:"mean"`
	Median  float64   `json:"median"`
	P90     float64   `json:"p90"`
	Reached int       `json:"reached"`
	Draws   []float64 `json:"draws"` // in the order of the draws, the same for every policy
}

// CurvePoint is the mean over draws of the tenants' mean loss at a share of the total cost.
type CurvePoint struct {
	Share float64 `json:"share"`
	Loss  float64 `json:"loss"`
}

func summarise(policy string, traces []trace, targets []float64) PolicyReport {
	r := PolicyReport{Policy: policy}
	for _, target := range targets {
		t := TargetReport{Target: target}
		for _, tr := range traces {
			share := 1.0
			if i := slices.IndexFunc(tr, func(p point) bool { return p.loss <= target+1e-12 }); i >= 0 {
				share = tr[i].share
				t.Reached++
			}
			t.Draws = append(t.Draws, share)
		}
		t.Mean = mean(t.Draws)
		t.Median, t.P90 = quantile(t.Draws, 0.5), quantile(t.Draws, 0.9)
		r.Targets = append(r.Targets, t)
	}
	for _, tr := range traces {
		last := tr[len(tr)-1]
		r.End.Share += last.share / float64(len(traces))
		r.End.Loss += last.loss / float64(len(traces))
	}
	for e := -5.0; e <= 0; e += 0.05 {
		share := math.Pow(10, e)
		sum := 0.0
		for _, tr := range traces {
			i, _ := slices.BinarySearchFunc(tr, share, func(p point, s float64) int {
				if p.share <= s {
					return -1
				}
				return 1
			})
			sum += tr[i-1].loss
		}
		r.Curve = append(r.Curve, CurvePoint{share, sum / float64(len(traces))})
	}
	return r
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

// WriteText writes the table that a person reads: mean / median over draws, in percent of the total cost.
func (r *Report) WriteText(w io.Writer) error {
	c := r.Config
	var b strings.Builder
	unit := "of the cost of training everything"
	if c.Metric == MetricTime {
		unit = "of the time that training everything takes on one device"
	}
	fmt.Fprintf(&b, "%d data sets × %d candidates · %d tenants, %d device%s, %d draws\n", r.Rows, r.Candidates, c.Tenants, c.Devices, plural(c.Devices), c.Repeats)
	fmt.Fprintf(&b, "Per cent %s until the mean loss is at most … (mean / median)\n", unit)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	fmt.Fprintf(&b, "%-12s", "")
	for _, t := range c.Targets {
		fmt.Fprintf(&b, "  %15g", t)
	}
	for _, p := range r.Policies {
		fmt.Fprintf(&b, "\n%-12s", p.Policy)
		for _, t := range p.Targets {
			fmt.Fprintf(&b, "  %15s", fmt.Sprintf("%.3g / %.3g", 100*t.Mean, 100*t.Median))
		}
	}
	b.WriteByte('\n')
	if c.Settle {
		for _, p := range r.Policies {
			fmt.Fprintf(&b, "%-12s  ends at %.3g %% with a mean loss of %.4f\n", p.Policy, 100*p.End.Share, p.End.Loss)
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
