package show

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/easeml/easeml/api"
)

// ShownContents is how many examples an output shows the content of.
const ShownContents = 24

// Contents shows what is in examples: pictures in a grid, all else as rows. asked
// is how many were asked for, of which listed are the first; more is the statement
// that shows the next ones, "" where there are none.
func Contents(name string, v api.View, asked int, listed []api.Example, more string) Output {
	p := page{}
	switch {
	case v.Version == 0:
		p.say("%s has no examples yet.", name)
		p.then("feed %s \"FILE\"", name)
		return p.output()
	case len(listed) == 0:
		p.say("%s has no such examples: the numbers go from 1 to %s.", name, count(v.Examples+v.Off))
		return p.output()
	}
	verdict := fmt.Sprintf("what is in %s", several(len(listed), "example"))
	if asked > len(listed) {
		verdict += fmt.Sprintf(" of %s", count(asked))
	}
	p.say("%s · %s", name, verdict)
	t, pictures := contentTable(listed)
	p.lay(t)
	if more != "" {
		p.lead = "More"
		p.then("%s", more)
	} else {
		p.then("refine %s off NUMBERS", name)
	}
	out := p.output()
	if pictures {
		q := p
		q.blocks = append([]block{p.blocks[0]}, block{grid: thumbnails(listed)})
		out.HTML = q.html()
	}
	return out
}

// contentTable is a row an example; pictures tells that there is at least one.
func contentTable(listed []api.Example) (t *table, pictures bool) {
	t = &table{head: []string{"number", "part", "label", ""}, right: []bool{true}}
	for i, c := range listed[0].Content {
		t.head = append(t.head, c.Field)
		for len(t.right) < 4+i {
			t.right = append(t.right, false)
		}
		t.right = append(t.right, c.Kind == api.ContentNumbers && len(c.Numbers) == 1)
	}
	for _, e := range listed {
		cells := []string{count(e.Number), e.Part, e.Label, onWords(e)}
		for _, c := range e.Content {
			pictures = pictures || c.Kind == api.ContentPicture
			cells = append(cells, contentWords(c))
		}
		t.put(cells...)
	}
	return t, pictures
}

func onWords(e api.Example) string {
	if e.On {
		return ""
	}
	return "off"
}

// contentWords is a field's content in characters.
func contentWords(c api.Content) string {
	switch {
	case c.Missing:
		return "missing"
	case c.Kind == api.ContentPicture:
		return "picture, " + sizeWords(c.Shape)
	case c.Kind != api.ContentNumbers:
		return c.Text
	case len(c.Numbers) == 1 && c.Numbers[0] == nil:
		return "missing"
	case len(c.Numbers) == 1:
		return strconv.FormatFloat(*c.Numbers[0], 'g', 6, 64)
	}
	return sparkline(c.Numbers) + " " + spanWords(c)
}

func sizeWords(shape []int) string {
	var parts []string
	for _, n := range shape {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, "×")
}

// spanWords says how many numbers there are and between what they lie.
func spanWords(c api.Content) string {
	low, high := span(c.Numbers)
	if low > high {
		return "(" + sizeWords(c.Shape) + ", all missing)"
	}
	return fmt.Sprintf("(%s, %s to %s)", sizeWords(c.Shape), strconv.FormatFloat(low, 'g', 3, 64), strconv.FormatFloat(high, 'g', 3, 64))
}

func span(numbers []*float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range numbers {
		if x != nil {
			low, high = min(low, *x), max(high, *x)
		}
	}
	return low, high
}

// sparkWidth is how many characters a run of numbers takes.
const sparkWidth = 32

var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws numbers as a row of bars, from their least to their largest;
// what is missing is a blank.
func sparkline(numbers []*float64) string {
	low, high := span(numbers)
	n := min(len(numbers), sparkWidth)
	var b strings.Builder
	for k := range n {
		sum, count := 0.0, 0
		for _, x := range numbers[k*len(numbers)/n : (k+1)*len(numbers)/n] {
			if x != nil {
				sum, count = sum+*x, count+1
			}
		}
		switch {
		case count == 0:
			b.WriteRune(' ')
		case high <= low:
			b.WriteRune(sparks[len(sparks)/2])
		default:
			at := (sum/float64(count) - low) / (high - low)
			b.WriteRune(sparks[min(len(sparks)-1, int(at*float64(len(sparks))))])
		}
	}
	return b.String()
}

// thumbnail is a picture of a grid with the words under it.
type thumbnail struct {
	Source template.URL // the picture itself, in the page
	Label  string
	Number string
	Part   string
	State  string // "" while it is on
}

// thumbnails are all pictures of the examples.
func thumbnails(listed []api.Example) []thumbnail {
	var list []thumbnail
	for _, e := range listed {
		for _, c := range e.Content {
			if c.Kind != api.ContentPicture || c.Missing {
				continue
			}
			list = append(list, thumbnail{
				Source: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(c.PNG)),
				Label:  clean(e.Label), Number: count(e.Number), Part: e.Part, State: onWords(e),
			})
		}
	}
	return list
}
