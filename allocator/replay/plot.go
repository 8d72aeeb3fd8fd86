package replay

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// WritePlot draws the loss over the share of the total cost, on logarithmic axes, one line a policy: the tenants' mean
// above, the worst tenant below. format is "png", "svg" or "pdf".
func (r *Report) WritePlot(w io.Writer, format string) error {
	panels := [][]*plot.Plot{{nil}, {nil}}
	for i, of := range []struct {
		title string
		loss  func(CurvePoint) float64
	}{
		{"accuracy loss, mean of the tenants", func(c CurvePoint) float64 { return c.Loss }},
		{"accuracy loss, worst tenant", func(c CurvePoint) float64 { return c.Worst }},
	} {
		p, err := r.panel(of.title, of.loss)
		if err != nil {
			return err
		}
		panels[i][0] = p
	}
	const width, height = 16 * vg.Centimeter, 18 * vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return fmt.Errorf("the plot cannot be made: %w", err)
	}
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: vg.Millimeter * 4}
	for i, c := range plot.Align(panels, tiles, draw.New(canvas)) {
		panels[i][0].Draw(c[0])
	}
	_, err = canvas.WriteTo(w)
	return err
}

// panel is one of the two charts.
func (r *Report) panel(title string, loss func(CurvePoint) float64) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text = "% of the cost of training everything"
	if r.Settings.Metric == MetricTime {
		p.X.Label.Text = "% of the time that training everything takes"
	}
	p.Y.Label.Text = title
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	lines := 0
	low, top := 1.0, 1e-4
	for i, policy := range r.Policies {
		var xy plotter.XYs
		for _, c := range policy.Curve {
			y := loss(c)
			if y > 1e-4 { // 0 has no place on the axis
				xy = append(xy, plotter.XY{X: 100 * c.Share, Y: y})
				top = math.Max(top, y)
				if y < 0.98*loss(policy.Curve[0]) {
					low = math.Min(low, c.Share)
				}
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return nil, fmt.Errorf("the curve of %s cannot be drawn: %w", policy.Policy, err)
		}
		line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.2)
		p.Add(line)
		p.Legend.Add(policy.Policy, line)
		lines++
	}
	if lines == 0 {
		return nil, fmt.Errorf("there is nothing to draw: no policy has a loss above zero")
	}
	p.X.Min, p.X.Max = 100*math.Max(low/3, 1e-5), 100
	p.Y.Min, p.Y.Max = 1e-4, top
	return p, nil
}
