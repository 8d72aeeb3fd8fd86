package feed

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/easeml/easeml/gpu/trial"
)

// wideRange is the dynamic range (largest over median magnitude) from which a
// picture is stretched to be seen, as it is for models.
const wideRange = 1e4

// scale says which values are black and white. The zero scale is a picture's own.
type scale struct {
	low, high float64
	wide      float64 // largest over median magnitude
}

// isPicture tells whether a tensor can be drawn: height, width, and 1, 3 or 4
// channels (or none: grey).
func isPicture(shape []int) bool {
	switch len(shape) {
	case 2:
		return shape[0] > 1 && shape[1] > 1
	case 3:
		return shape[0] > 1 && shape[1] > 1 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4)
	}
	return false
}

// thumbnail draws a tensor [height, width, channels] as a PNG of at most side
// pixels: large ones are averaged, small ones get pixels of whole size.
func thumbnail(c trial.Content, shape []int, s scale, side int) ([]byte, error) {
	height, width, channels := shape[0], shape[1], 1
	if len(shape) == 3 {
		channels = shape[2]
	}
	grey := s.grey(c)
	long := max(height, width)
	across, down, pixel := width, height, max(1, side/long)
	if long > side {
		across, down = max(1, (width*side+long/2)/long), max(1, (height*side+long/2)/long)
	}
	mean := func(x, y, channel int) uint8 {
		sum, n := 0.0, 0
		for v := y * height / down; v < max((y+1)*height/down, y*height/down+1); v++ {
			for u := x * width / across; u < max((x+1)*width/across, x*width/across+1); u++ {
				sum += grey(c.At((v*width+u)*channels + channel))
				n++
			}
		}
		return uint8(math.Round(sum / float64(n)))
	}
	at := func(x, y int) color.Color {
		switch channels {
		case 1:
			return color.Gray{Y: mean(x, y, 0)}
		case 3:
			return color.NRGBA{R: mean(x, y, 0), G: mean(x, y, 1), B: mean(x, y, 2), A: 255}
		}
		return color.NRGBA{R: mean(x, y, 0), G: mean(x, y, 1), B: mean(x, y, 2), A: mean(x, y, 3)}
	}
	bounds := image.Rect(0, 0, across*pixel, down*pixel)
	var canvas interface {
		image.Image
		Set(x, y int, c color.Color)
	} = image.NewNRGBA(bounds)
	if channels == 1 {
		canvas = image.NewGray(bounds)
	}
	for y := range down {
		for x := range across {
			p := at(x, y)
			for k := range pixel * pixel {
				canvas.Set(x*pixel+k%pixel, y*pixel+k/pixel, p)
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, canvas); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// grey gives the function from a value to 0–255. Bytes are what they are; what
// is missing is black.
func (s scale) grey(c trial.Content) func(float64) float64 {
	if c.Bytes {
		return func(v float64) float64 { return v }
	}
	if s.low >= s.high {
		s = scale{low: math.Inf(1), high: math.Inf(-1)}
		for i := range c.Len {
			if v := c.At(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
				s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
			}
		}
	}
	stretch := func(v float64) float64 { return v }
	if s.wide >= wideRange {
		typical := math.Max(math.Abs(s.low), math.Abs(s.high)) / s.wide
		stretch = func(v float64) float64 { return math.Asinh(v / typical) }
	}
	low, high := stretch(s.low), stretch(s.high)
	return func(v float64) float64 {
		if math.IsNaN(v) || low >= high {
			return 0
		}
		return 255 * math.Min(1, math.Max(0, (stretch(v)-low)/(high-low)))
	}
}
