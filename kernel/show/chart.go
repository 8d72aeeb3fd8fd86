package show

import (
	"fmt"
	"math"
	"sort"

	"github.com/easeml/easeml/api"
)

// WatchChart is the chart of a watch: trials in the order of their end, and the
// best so far. With picture it carries a PNG too, which takes some tens of
// milliseconds. It never has HTML, which a notebook would show instead.
func WatchChart(name string, v api.View, picture bool) Output {
	c := newChart(name, v)
	out := Output{Text: c.text(), Vega: c.vega()}
	if picture {
		out.PNG = c.png()
	}
	return out
}

// chart is what the three forms draw: points in [0, 1] and the piece of that
// range which is worth seeing.
type chart struct {
	title  string
	axis   string // what the upright axis shows
	across string // what the other one shows
	share  bool   // values are read in percent
	points []api.Point
	low    float64 // of the upright axis; points below are drawn at its foot
	high   float64
	ticks  []float64
	guess  *float64
	best   *api.Best
}

func newChart(name string, v api.View) *chart {
	m := measureOf(v.Metric.Name)
	c := &chart{title: clean(chartTitle(name, v)), share: m.form == right || m.form == tokens, best: v.Best}
	for _, p := range v.Curve {
		if !p.Baseline {
			c.points = append(c.points, p)
		}
	}
	switch m.form {
	case right:
		c.axis = "right in the search (%)"
	case tokens:
		c.axis = m.name + " in the search (%)"
	case deviation, loss:
		c.axis = "share of guessing's error that is gone, in the search"
	default:
		c.axis = m.name + " in the search"
	}
	if v.Best != nil {
		if g, ok := guessQuality(v.Best.Search, v.Guess); ok {
			c.guess = &g
		}
	} else if v.Guess != nil {
		c.guess = &v.Guess.Quality
	}
	c.across = acrossWords(v, c.points)
	c.scale()
	return c
}

// chartTitle says what is drawn, with the best figure, what it rests on, and
// whether it may still change.
func chartTitle(name string, v api.View) string {
	if !real(v.Best) {
		return name + " · no real model yet"
	}
	if v.State == api.TaskSettled {
		return join(name, inSearch(v.Task, v.Best.Search), settledWords(v.Task))
	}
	return name + " · best so far " + inSearch(v.Task, v.Best.Search)
}

// acrossWords is the caption of the chart's foot: from when to when, and how
// much device time went in.
func acrossWords(v api.View, points []api.Point) string {
	if len(points) == 0 {
		return "trials in the order of their end"
	}
	first, last := points[0].Time, points[len(points)-1].Time
	return fmt.Sprintf("trials in the order of their end, %s → %s · %s of device time",
		clockSeconds(first), clockSeconds(last), seconds(v.Seconds))
}

// scale chooses the piece of [0, 1] that is shown. Three quarters of the points
// decide; what lies far below them (and the guess) is drawn at the foot, or the
// differences that matter would be lost.
func (c *chart) scale() {
	c.low, c.high = 0, 1
	if len(c.points) > 0 {
		values := make([]float64, len(c.points))
		for i, p := range c.points {
			values[i] = p.Quality
		}
		sort.Float64s(values)
		top := values[len(values)-1]
		foot := values[len(values)/4]
		span := max(top-foot, 0.02)
		if top-values[0] <= 2.5*span {
			foot = values[0]
			span = max(top-foot, 0.02)
		}
		if c.guess != nil && *c.guess < foot && top-*c.guess <= 2.5*span {
			foot = *c.guess
			span = top - foot
		}
		if real(c.best) {
			span = max(span, top-c.best.Search.Low) // room for what the figure may be worth
		}
		c.low, c.high = max(0, top-span*1.12), min(1, top+span*0.15)
	}
	step := niceStep((c.high - c.low) / 4)
	c.low, c.high = math.Floor(c.low/step+1e-9)*step, math.Ceil(c.high/step-1e-9)*step
	for i := 0; ; i++ {
		t := c.low + float64(i)*step
		if t > c.high+step/1000 {
			break
		}
		c.ticks = append(c.ticks, t)
	}
}

// niceStep is the next of 1, 2 and 5 times a power of ten.
func niceStep(s float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(s)))
	for _, f := range []float64{1, 2, 5} {
		if s <= f*power*1.0001 {
			return f * power
		}
	}
	return 10 * power
}

// tick is the text at a value of the upright axis.
func (c *chart) tick(v float64) string {
	d := 0
	if len(c.ticks) > 1 {
		step := c.ticks[1] - c.ticks[0]
		if c.share {
			step *= 100
		}
		d = max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	}
	if c.share {
		return fmt.Sprintf("%.*f %%", d, 100*v)
	}
	return fmt.Sprintf("%.*f", d, v)
}

// shown is a value as the axis counts: percent for a share.
func (c *chart) shown(v float64) float64 {
	if c.share {
		return math.Round(1e6*v) / 1e4
	}
	return math.Round(1e6*v) / 1e6
}

// inside tells whether a value lies on the piece that is shown.
func (c *chart) inside(v float64) bool { return v >= c.low-1e-12 }

// below counts the points that are drawn at the foot.
func (c *chart) below() int {
	n := 0
	for _, p := range c.points {
		if !c.inside(p.Quality) {
			n++
		}
	}
	return n
}

// guessWords says where guessing lies when it isn't on the chart.
func (c *chart) guessWords() string {
	if c.guess == nil || c.inside(*c.guess) {
		return ""
	}
	if c.share {
		return "guessing " + percent(*c.guess, 1)
	}
	return "guessing " + significant(*c.guess, 2)
}
