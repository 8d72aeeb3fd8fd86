package replay

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// WritePlot draws the mean loss over the share of the total cost, both on logarithmic axes, one line a policy. format is
// "png", "svg" or "pdf".
func (r *Report) WritePlot(w io.Writer, format string) error {
	p := plot.New()
	p.X.Label.Text = "share of the cost of training everything"
	if r.Config.Metric == MetricTime {
		p.X.Label.Text = "time, as a share of training everything on one device"
	}
	p.Y.Label.Text = "mean loss (best in the row - best found)"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	lines := 0
	for i, policy := range r.Policies {
		var xy plotter.XYs
		for _, c := range policy.Curve {
			if c.Loss > 1e-5 { // 0 has no place on the axis
				xy = append(xy, plotter.XY{X: c.Share, Y: c.Loss})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return fmt.Errorf("the curve of %s cannot be drawn: %w", policy.Policy, err)
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(policy.Policy, line)
		lines++
	}
	if lines == 0 {
		return fmt.Errorf("there is nothing to draw: no policy has a loss above zero")
	}
	p.X.Min, p.X.Max = 1e-5, 1
	p.Y.Min = math.Max(p.Y.Min, 1e-4)
	to, err := p.WriterTo(16*vg.Centimeter, 10*vg.Centimeter, format)
	if err != nil {
		return fmt.Errorf("the plot cannot be made: %w", err)
	}
	_, err = to.WriteTo(w)
	return err
}
