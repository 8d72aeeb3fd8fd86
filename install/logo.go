package install

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
)

const svgFile = "logo-svg.svg"

func pngFile(size int) string { return fmt.Sprintf("logo-%dx%d.png", size, size) }

// drawing is a picture of 64 × 64 units: a tile, a line across it, and dots. It is written as SVG and painted as PNG from one description.
type drawing struct {
	tile   color.NRGBA
	corner float64 // radius of the tile's corners
	line   [][2]float64
	width  float64
	ink    color.NRGBA
	dots   []dot
}

type dot struct {
	x, y, r float64
	fill    color.NRGBA
}

// logo is what a search looks like: trials, and above them the best so far, which only ever rises.
var logo = drawing{
	tile: color.NRGBA{0x17, 0x3B, 0x57, 0xFF}, corner: 13,
	line:  [][2]float64{{10, 47}, {23, 47}, {23, 33}, {39, 33}, {39, 19}, {54, 19}},
	width: 4, ink: color.NRGBA{0xF4, 0xF7, 0xF9, 0xFF},
	dots: []dot{
		{31, 45, 3.2, color.NRGBA{0x7F, 0xA3, 0xBD, 0xFF}}, {47, 36, 3.2, color.NRGBA{0x7F, 0xA3, 0xBD, 0xFF}},
		{23, 33, 5, color.NRGBA{0xFF, 0xB0, 0x2E, 0xFF}}, {39, 19, 5, color.NRGBA{0xFF, 0xB0, 0x2E, 0xFF}},
	},
}

const units = 64

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (d drawing) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="easeml">`, units, units, units, units)
	fmt.Fprintf(&b, "\n  <rect width=\"%d\" height=\"%d\" rx=\"%g\" fill=\"%s\"/>\n", units, units, d.corner, hex(d.tile))
	points := make([]string, len(d.line))
	for i, p := range d.line {
		points[i] = fmt.Sprintf("%g,%g", p[0], p[1])
	}
	fmt.Fprintf(&b, `  <polyline points="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linecap="round" stroke-linejoin="round"/>`+"\n",
		strings.Join(points, " "), hex(d.ink), d.width)
	for _, o := range d.dots {
		fmt.Fprintf(&b, "  <circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"%s\"/>\n", o.x, o.y, o.r, hex(o.fill))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// at is the colour of a point, transparent outside the tile.
func (d drawing) at(x, y float64) color.NRGBA {
	const half = units / 2
	dx, dy := math.Max(math.Abs(x-half)-(half-d.corner), 0), math.Max(math.Abs(y-half)-(half-d.corner), 0)
	if math.Hypot(dx, dy) > d.corner {
		return color.NRGBA{}
	}
	c := d.tile
	for i := 1; i < len(d.line); i++ {
		if distance(x, y, d.line[i-1], d.line[i]) <= d.width/2 {
			c = d.ink
		}
	}
	for _, o := range d.dots {
		if math.Hypot(x-o.x, y-o.y) <= o.r {
			c = o.fill
		}
	}
	return c
}

// distance is that of (x, y) from the straight line between a and b.
func distance(x, y float64, a, b [2]float64) float64 {
	ux, uy := b[0]-a[0], b[1]-a[1]
	t := ((x-a[0])*ux + (y-a[1])*uy) / (ux*ux + uy*uy)
	t = math.Min(math.Max(t, 0), 1)
	return math.Hypot(x-a[0]-t*ux, y-a[1]-t*uy)
}

// png paints the drawing with size × size pixels; each is the mean of 8 × 8 points, which smooths the edges.
func (d drawing) png(size int) ([]byte, error) {
	const fine = 8
	step := float64(units) / float64(size*fine)
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	for py := range size {
		for px := range size {
			var sum [4]int
			for i := range fine * fine {
				c := d.at((float64(px*fine+i%fine)+0.5)*step, (float64(py*fine+i/fine)+0.5)*step)
				if c.A > 0 {
					sum[0] += int(c.R)
					sum[1] += int(c.G)
					sum[2] += int(c.B)
					sum[3] += int(c.A)
				}
			}
			n := fine * fine
			m.SetRGBA(px, py, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), uint8(sum[3] / n)})
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
