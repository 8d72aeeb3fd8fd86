package show

import (
	"fmt"
	"math"
	"strings"

	"github.com/easeml/easeml/api"
)

// form says how a metric is put into words.
type form int

const (
	right     form = iota // a share of right answers: 98.1 % right
	score                 // a figure in [0, 1]: average precision 0.38
	explained             // R², beside how far off the answers are
	deviation             // an error in the target's unit: off by 46 on average
	loss                  // an error without a unit: log loss 0.31
	tokens                // a share of right labels in series: 94.2 % of the labels right
)

// measure is a metric in words.
type measure struct {
	form form
	name string // in front of a figure
	says string // what it is
}

var measures = map[string]measure{
	"accuracy":          {right, "right", "share of right answers"},
	"balanced_accuracy": {score, "balanced accuracy", "share of right answers, each class counting alike"},
	"average_precision": {score, "average precision", "average precision"},
	"roc_auc":           {score, "ROC AUC", "area under the ROC curve"},
	"f1":                {score, "F1", "F1: of two classes the rarer one's, of more their mean"},
	"iou":               {score, "overlap", "overlap (of each class intersection over union, their mean)"},
	"token_accuracy":    {tokens, "labels right", "share of right labels in the series, what is missing or too much counting as wrong"},
	"r2":                {explained, "R²", "share of the variation explained (R²)"},
	"mae":               {deviation, "off by", "how far off on average"},
	"rmse":              {deviation, "off by (root mean square)", "root of the mean squared error"},
	"log_loss":          {loss, "log loss", "log loss"},
}

// measureOf finds a metric's words; one that isn't known is a score under its own name.
func measureOf(metric string) measure {
	if m, ok := measures[metric]; ok {
		return m
	}
	name := strings.ReplaceAll(metric, "_", " ")
	return measure{score, name, name}
}

// digits is how many digits after the point a share in percent may carry: none
// below 100 examples, two only where the interval is narrow enough for them.
func digits(e api.Estimate) int {
	switch half := 50 * (e.High - e.Low); {
	case e.N > 0 && e.N < 100:
		return 0
	case e.N >= 5000 && half > 0 && half < 0.2:
		return 2
	}
	return 1
}

// places is digits for a share of the places in series, of which an example has
// several.
func places(e api.Estimate) int { return max(1, digits(e)) }

// fraction is a score with as many digits as its interval allows.
func fraction(v float64, e api.Estimate) string {
	d := 2
	if half := (e.High - e.Low) / 2; e.High > e.Low && half < 0.002 {
		d = 3
	}
	if v > 0 && v < 0.1 {
		return significant(v, 2)
	}
	s := fmt.Sprintf("%.*f", d, v)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// own is a figure of an estimate in its own unit, with the digits that its
// number of examples carries.
func own(v float64, n int) string {
	if n >= 1000 {
		return significant(v, 3)
	}
	return significant(v, 2)
}

// raw is the metric's value in its own unit, where the estimate has it.
func raw(metric string, e api.Estimate) (float64, bool) {
	v, ok := e.Metrics[metric]
	return v, ok
}

// short is an estimate in few words: "98.1 % right", "average precision 0.38",
// "R² 0.33", "off by 46".
func short(metric string, e api.Estimate) string {
	m := measureOf(metric)
	switch m.form {
	case right:
		return percent(e.Value, digits(e)) + " right"
	case tokens:
		return percent(e.Value, places(e)) + " of the " + m.name
	case deviation:
		if v, ok := raw(metric, e); ok {
			return m.name + " " + own(v, e.N)
		}
		return m.name + " " + percent(1-e.Value, digits(e)) + " of guessing"
	case loss:
		if v, ok := raw(metric, e); ok {
			return m.name + " " + own(v, e.N)
		}
		return m.name + " " + percent(1-e.Value, digits(e)) + " of guessing"
	case explained:
		return m.name + " " + fraction(explainedValue(e), e)
	}
	return m.name + " " + fraction(e.Value, e)
}

// explainedValue is R² as it was measured, also where it is below 0.
func explainedValue(e api.Estimate) float64 {
	if v, ok := e.Metrics["r2"]; ok {
		return v
	}
	return e.Value
}

// counted is an estimate beside others of its kind in a table: "214 of 215",
// "0.38", "0.53 (off by 45)".
func counted(metric string, e api.Estimate) string {
	switch measureOf(metric).form {
	case right:
		if r, ok := rightOf(e); ok {
			return fmt.Sprintf("%s of %s", count(r), count(e.N))
		}
		return percent(e.Value, digits(e))
	case tokens:
		return percent(e.Value, places(e))
	case explained:
		s := fraction(explainedValue(e), e)
		if off, ok := e.Metrics["mae"]; ok {
			s += " (off by " + own(off, e.N) + ")"
		}
		return s
	case deviation, loss:
		if v, ok := raw(metric, e); ok {
			return own(v, e.N)
		}
		return percent(1-e.Value, digits(e)) + " of guessing"
	}
	return fraction(e.Value, e)
}

// rightOf counts the right answers of a share.
func rightOf(e api.Estimate) (int, bool) {
	if e.Right != nil {
		return *e.Right, true
	}
	if e.N == 0 {
		return 0, false
	}
	r := math.Round(e.Value * float64(e.N))
	return int(r), math.Abs(r-e.Value*float64(e.N)) < 0.01
}

// basis says what an estimate rests on: "214 of 215", "215 examples".
func basis(metric string, e api.Estimate) string {
	if measureOf(metric).form == right {
		if r, ok := rightOf(e); ok {
			return fmt.Sprintf("%s of %s", count(r), count(e.N))
		}
	}
	return several(e.N, "example")
}

// likely is the 95 % interval: "likely 95.3–99.3 %", "likely 39–53"; "" where
// there is none.
func likely(metric string, e api.Estimate) string {
	switch measureOf(metric).form {
	case right:
		if e.High > e.Low {
			return "likely " + percentRange(e.Low, e.High, digits(e))
		}
	case tokens:
		if e.High > e.Low {
			return "likely " + percentRange(e.Low, e.High, places(e))
		}
	case explained:
		if low, high, ok := offRange(e); ok {
			return fmt.Sprintf("likely %s–%s", own(low, e.N), own(high, e.N))
		}
	case deviation:
		if low, high, ok := offRange(e); ok && metric == "mae" {
			return fmt.Sprintf("likely %s–%s", own(low, e.N), own(high, e.N))
		}
		fallthrough
	case loss:
		if g, ok := guessRaw(metric, e); ok && e.High > e.Low {
			return fmt.Sprintf("likely %s–%s", own(g*(1-e.High), e.N), own(g*(1-e.Low), e.N))
		}
	default:
		if e.High > e.Low {
			return fmt.Sprintf("likely %s–%s", fraction(e.Low, e), fraction(e.High, e))
		}
	}
	return ""
}

// offRange is the interval of how far off the answers are.
func offRange(e api.Estimate) (low, high float64, ok bool) {
	low, a := e.Metrics["mae_low"]
	high, b := e.Metrics["mae_high"]
	return low, high, a && b
}

// guessRaw is what guessing costs in the metric's own unit. The quality of such
// a metric is 1 − x / x_guess, so it follows from the two.
func guessRaw(metric string, e api.Estimate) (float64, bool) {
	if metric == "mae" {
		if g, ok := e.Metrics["mae_guess"]; ok {
			return g, true
		}
	}
	v, ok := raw(metric, e)
	if !ok || e.Value >= 1 || e.Value <= 0 {
		return 0, false
	}
	return v / (1 - e.Value), true
}

// guessQuality is what guessing reaches on the very examples of the estimate,
// else on those the task's own figure is from.
func guessQuality(e api.Estimate, g *api.Guess) (float64, bool) {
	if v, ok := e.Metrics["guess"]; ok {
		return v, true
	}
	if g != nil {
		return g.Quality, true
	}
	return 0, false
}

// guessing is the reference beside an estimate: "guessing 10.6 %", "always saying
// the mean: off by 59"; "" where it isn't known.
func guessing(metric string, e api.Estimate, g *api.Guess) string {
	switch measureOf(metric).form {
	case right, tokens:
		if q, ok := guessQuality(e, g); ok {
			return "guessing " + percent(q, digits(e))
		}
	case explained:
		if off, ok := e.Metrics["mae_guess"]; ok {
			return "always saying the mean: off by " + own(off, e.N)
		}
		if g != nil && g.MAE != nil {
			return "always saying the mean: off by " + own(*g.MAE, e.N)
		}
		return "always saying the mean: 0"
	case deviation:
		if v, ok := guessRaw(metric, e); ok {
			return "always saying the mean: off by " + own(v, e.N)
		}
		if g != nil && g.MAE != nil && metric == "mae" {
			return "always saying the mean: off by " + own(*g.MAE, e.N)
		}
	case loss:
		if v, ok := guessRaw(metric, e); ok {
			return "guessing " + own(v, e.N)
		}
	default:
		if q, ok := guessQuality(e, g); ok {
			return "guessing " + fraction(q, e)
		}
	}
	return ""
}

// inSearch is the figure that chose a model, and why it may be too good: "99.5 %
// right in the search (214 of 215)".
func inSearch(t api.Task, e api.Estimate) string {
	if e.N == 0 {
		e.N = heldOut(t)
	}
	return short(t.Metric.Name, e) + " in the search (" + basis(t.Metric.Name, e) + folds(t.Protocol) + within(t) + ")"
}

// onTest is the figure of the part that the search never saw.
func onTest(t api.Task, e api.Estimate) string {
	return short(t.Metric.Name, e) + " on the test part (" + basis(t.Metric.Name, e) + ")"
}

// heldOut is how many examples candidates are compared on.
func heldOut(t api.Task) int {
	if t.Protocol.Kind == "folds" {
		return t.Parts.Train + t.Parts.Validation
	}
	return t.Parts.Validation
}

// folds says how examples were held out where that was by turns.
func folds(p api.Protocol) string {
	if p.Kind != "folds" {
		return ""
	}
	return fmt.Sprintf(", %d folds", p.K)
}

// join puts sentence parts side by side, leaving empty ones out.
func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " · ")
}
