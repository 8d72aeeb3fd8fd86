package show

import (
	"bytes"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

var (
	blue   = color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	orange = color.RGBA{R: 0xe6, G: 0x84, B: 0x2a, A: 0xff}
	grey   = color.RGBA{R: 0x88, G: 0x88, B: 0x88, A: 0xff}
	pale   = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
)

// png is the chart as a picture, for viewers that draw no Vega. It is nil where
// drawing fails, which leaves the other forms.
func (c *chart) png() (picture []byte) {
	// The drawing library panics on fonts and numbers that it can't handle; a
	// chart without its picture is still a chart.
	defer func() {
		if recover() != nil {
			picture = nil
		}
	}()
	p := plot.New()
	p.Title.Text = cut(c.title, 92) + "\n" + plainSigns.Replace(c.note())
	p.Title.TextStyle.Font = sans(9)
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text = c.across
	p.Y.Label.Text = c.axis
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(8), sans(8)
		a.LineStyle.Color, a.Tick.Color = grey, grey
		a.Padding = vg.Points(2)
	}
	p.X.Min, p.X.Max = 0.5, float64(max(len(c.points), 3))+0.5
	p.Y.Min, p.Y.Max = c.low, c.high
	p.Y.Tick.Marker = plot.TickerFunc(func(_, _ float64) []plot.Tick {
		var ticks []plot.Tick
		for _, t := range c.ticks {
			ticks = append(ticks, plot.Tick{Value: t, Label: c.tick(t)})
		}
		return ticks
	})
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = pale
	p.Add(grid)

	if c.guess != nil && c.inside(*c.guess) {
		line, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: *c.guess}, {X: p.X.Max, Y: *c.guess}})
		if err == nil {
			line.Color, line.Dashes = grey, []vg.Length{vg.Points(4), vg.Points(3)}
			p.Add(line)
		}
	}
	c.drawTrials(p)

	canvas := vgimg.NewWith(vgimg.UseWH(vg.Points(500), vg.Points(220)), vgimg.UseDPI(110))
	margin := vg.Points(6)
	p.Draw(draw.Crop(draw.New(canvas), margin, -2*margin, margin, -margin))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil
	}
	return out.Bytes()
}

// plainSigns stands for signs that the picture's font lacks.
var plainSigns = strings.NewReplacer("━", "—", "┃", "|", "╌", "- -")

// sans is the font of a chart's texts, size in points.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// drawTrials adds the best so far, the trials, and the interval of the best.
func (c *chart) drawTrials(p *plot.Plot) {
	if len(c.points) == 0 {
		return
	}
	var steps, inside, below plotter.XYs
	for i, pt := range c.points {
		x := float64(i + 1)
		best := max(pt.Best, c.low)
		if len(steps) > 0 {
			steps = append(steps, plotter.XY{X: x, Y: steps[len(steps)-1].Y})
		}
		steps = append(steps, plotter.XY{X: x, Y: best})
		if c.inside(pt.Quality) {
			inside = append(inside, plotter.XY{X: x, Y: pt.Quality})
		} else {
			below = append(below, plotter.XY{X: x, Y: c.low})
		}
	}
	steps = append(steps, plotter.XY{X: float64(len(c.points)) + 0.5, Y: steps[len(steps)-1].Y})
	if line, err := plotter.NewLine(steps); err == nil {
		line.Color, line.Width = blue, vg.Points(1.6)
		p.Add(line)
	}
	if i := c.bestPoint(); c.drawsRange() {
		x := float64(i + 1)
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{
			plotter.XYs{{X: x, Y: c.best.Search.Value}},
			plotter.YErrors{{Low: c.best.Search.Low - c.best.Search.Value, High: min(c.high, c.best.Search.High) - c.best.Search.Value}},
		})
		if err == nil {
			bars.Color = blue
			p.Add(bars)
		}
	}
	dots := func(points plotter.XYs, shape draw.GlyphDrawer) {
		if len(points) == 0 {
			return
		}
		if s, err := plotter.NewScatter(points); err == nil {
			s.Color, s.Shape, s.Radius = orange, shape, vg.Points(2.8)
			p.Add(s)
		}
	}
	dots(inside, draw.CircleGlyph{})
	dots(below, fallen{})
}

// fallen draws a triangle that points down.
type fallen struct{}

func (fallen) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * 1.2
	c.SetColor(s.Color)
	var path vg.Path
	path.Move(vg.Point{X: at.X - r, Y: at.Y + r})
	path.Line(vg.Point{X: at.X + r, Y: at.Y + r})
	path.Line(vg.Point{X: at.X, Y: at.Y - r*0.6})
	path.Close()
	c.Fill(path)
}

// wholeTicks marks whole numbers, about eight of them.
func wholeTicks(low, high float64) []plot.Tick {
	step := max(1, niceStep((high-low)/8))
	var ticks []plot.Tick
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: trimNumber(v, 0)})
	}
	return ticks
}
