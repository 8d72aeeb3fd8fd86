package feed

import (
	"encoding/json"
	"math"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/schema"
)

// Content is what one field of an example holds, made small enough to be shown.
type Content struct {
	Field   string
	Kind    Kind
	Missing bool
	Shape   []int     // of a tensor; of a series: steps, then the numbers of a step
	Text    string    // of KindText
	Numbers []float64 // of KindNumbers, at most [MostNumbers] of them, each the mean of its stretch; NaN = missing
	PNG     []byte    // of KindPicture
}

// Kind says how a field is shown.
type Kind string

// The kinds of Content.
const (
	KindText    Kind = "text"    // a label
	KindNumbers Kind = "numbers" // one number or several
	KindPicture Kind = "picture"
)

// MostNumbers is how many numbers of a field a Content gives.
const MostNumbers = 64

// Contents reads what is in examples of a dataset version: its inputs, and those
// outputs that are pictures or series (what else is an output is the example's label).
// folder is the version's data folder, profile its profile.json, side the
// longest side of a picture in pixels.
func Contents(folder string, p schema.Program, profile json.RawMessage, numbers []int, side int) (map[int][]Content, error) {
	type field struct {
		schema.Field
		name     string
		pointers int
		scale    scale
	}
	ranges := rangesOf(profile)
	var fields []field
	var columns []string
	for _, s := range []schema.Side{schema.Input, schema.Output} {
		for i, name := range p.Names(s) {
			f := p.Side(s).Fields[i]
			if s == schema.Output && !isPicture(f.Shape) && len(p.Output.Pointers) == 0 {
				continue
			}
			fields = append(fields, field{f, name, len(p.Side(s).Pointers), ranges[name]})
			columns = append(columns, name)
		}
	}
	wanted := make([]int64, len(numbers))
	for i, n := range numbers {
		wanted[i] = int64(n)
	}
	out := make(map[int][]Content, len(numbers))
	err := trial.ReadContent(folder, columns, wanted, func(number int64, cells []trial.Content) error {
		list := make([]Content, len(fields))
		for i, f := range fields {
			c := Content{Field: f.name, Missing: cells[i].Missing, Shape: f.Shape}
			switch {
			case f.Classes != nil || cells[i].Len == 0:
				c.Kind, c.Text = KindText, cells[i].Text
			case f.pointers == 0 && isPicture(f.Shape) && cells[i].Len == f.Size():
				var err error
				c.Kind = KindPicture
				if c.PNG, err = thumbnail(cells[i], f.Shape, f.scale, side); err != nil {
					return err
				}
			default:
				c.Kind = KindNumbers
				step := 1
				if f.pointers > 0 { // the first number of each step
					step = max(1, f.Size())
					c.Shape = append([]int{cells[i].Len / step}, f.Shape...)
				}
				c.Numbers = reduced(cells[i], step)
			}
			list[i] = c
		}
		out[int(number)] = list
		return nil
	})
	return out, err
}

// reduced gives every step-th number, or the means of MostNumbers stretches of them.
func reduced(c trial.Content, step int) []float64 {
	n := c.Len / step
	m := min(n, MostNumbers)
	out := make([]float64, m)
	for k := range out {
		sum, count := 0.0, 0
		for i := k * n / m; i < (k+1)*n/m; i++ {
			if x := c.At(i * step); !math.IsNaN(x) {
				sum, count = sum+x, count+1
			}
		}
		if out[k] = math.NaN(); count > 0 {
			out[k] = sum / float64(count)
		}
	}
	return out
}

// rangesOf reads from a profile between which values each field's numbers lie.
func rangesOf(profile json.RawMessage) map[string]scale {
	var p struct {
		Fields []struct {
			Name string   `json:"name"`
			Min  *float64 `json:"min"`
			Max  *float64 `json:"max"`
		} `json:"fields"`
		DynamicRange float64 `json:"dynamic_range"`
	}
	// A profile that can't be read leaves each picture its own range.
	_ = json.Unmarshal(profile, &p)
	out := map[string]scale{}
	for _, f := range p.Fields {
		if f.Min != nil && f.Max != nil && *f.Min < *f.Max {
			out[f.Name] = scale{low: *f.Min, high: *f.Max, wide: p.DynamicRange}
		}
	}
	return out
}
