package show

import "strings"

// table is a table of an output. Columns named in right are aligned at the right.
type table struct {
	head  []string // nil: without a head
	right []bool
	rows  []row
}

// row is one row of a table.
type row struct {
	cells []string
	bar   *bar // shown in HTML beside the cells
}

// bar is a quality drawn as a bar from 0 to 1.
type bar struct{ value float64 }

// put adds a row.
func (t *table) put(cells ...string) {
	t.rows = append(t.rows, row{cells: cleanAll(cells)})
}

// putBar adds a row with a bar.
func (t *table) putBar(value float64, cells ...string) {
	t.rows = append(t.rows, row{cells: cleanAll(cells), bar: &bar{value: min(1, max(0, value))}})
}

func cleanAll(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = clean(c)
	}
	return out
}

// isRight tells whether a column is aligned at the right.
func (t *table) isRight(i int) bool { return i < len(t.right) && t.right[i] }

// lines prints the table with one blank in front and three between columns, two
// where room is short. What is still wider than Width is cut at the widest columns.
func (t *table) lines() []string {
	var widths []int
	measure := func(cells []string) {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(c))
		}
	}
	measure(t.head)
	for _, r := range t.rows {
		measure(r.cells)
	}
	between := 3
	total := 1 + between*(len(widths)-1)
	for _, w := range widths {
		total += w
	}
	if total > Width {
		between = 2
		total -= len(widths) - 1
	}
	for total > Width {
		widest := 0
		for i, w := range widths {
			if w >= widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 8 {
			break
		}
		less := min(total-Width, widths[widest]-8)
		// Not below the second widest at one go, so that two long columns share the loss.
		second := 8
		for i, w := range widths {
			if i != widest {
				second = max(second, w)
			}
		}
		if widths[widest]-less < second && widths[widest] > second {
			less = widths[widest] - second
		} else if widths[widest] == second {
			less = 1
		}
		widths[widest] -= less
		total -= less
	}
	print := func(cells []string) string {
		var b strings.Builder
		b.WriteByte(' ')
		for i, c := range cells {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", between))
			}
			c = cut(c, widths[i])
			fill := strings.Repeat(" ", widths[i]-columns(c))
			if t.isRight(i) {
				b.WriteString(fill + c)
			} else {
				b.WriteString(c + fill)
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	var out []string
	if t.head != nil {
		out = append(out, print(t.head))
	}
	for _, r := range t.rows {
		out = append(out, print(r.cells))
	}
	return out
}
