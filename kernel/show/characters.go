package show

import (
	"math"
	"strings"
)

const chartColumns = 64

// rows is how many lines the chart has: as many as put each tick on a line, with
// the same space between them.
func (c *chart) rows() int {
	gaps := len(c.ticks) - 1
	if gaps < 1 {
		return 8
	}
	return gaps*max(1, int(math.Round(8/float64(gaps)))) + 1
}

// text is the chart in characters.
func (c *chart) text() string {
	if len(c.points) == 0 {
		return c.title + "\n(no trial has ended yet)"
	}
	chartRows := c.rows()
	grid := make([][]rune, chartRows)
	for i := range grid {
		grid[i] = []rune(strings.Repeat(" ", chartColumns))
	}
	rowOf := func(v float64) int {
		share := (v - c.low) / (c.high - c.low)
		return chartRows - 1 - int(math.Round(min(1, max(0, share))*float64(chartRows-1)))
	}
	if c.guess != nil && c.inside(*c.guess) {
		for x := 0; x < chartColumns; x += 2 {
			grid[rowOf(*c.guess)][x] = '╌'
		}
	}
	column := c.columnOf()
	before := -1
	for i, p := range c.points {
		x, y := column(i), rowOf(p.Best)
		end := chartColumns - 1
		if i+1 < len(c.points) {
			end = column(i+1) - 1
		}
		if before >= 0 && before != y {
			grid[before][x], grid[y][x] = '╯', '╭'
			for j := y + 1; j < before; j++ {
				grid[j][x] = '│'
			}
			x++
		}
		for ; x <= end; x++ {
			grid[y][x] = '━'
		}
		before = y
	}
	for i, p := range c.points {
		if c.inside(p.Quality) {
			grid[rowOf(p.Quality)][column(i)] = '●'
		} else {
			grid[chartRows-1][column(i)] = '▾'
		}
	}
	return c.frame(grid)
}

// columnOf spreads the points over the columns.
func (c *chart) columnOf() func(i int) int {
	n := len(c.points)
	step := float64(chartColumns-4) / float64(max(n-1, 1))
	step = min(step, 6)
	return func(i int) int { return 1 + int(float64(i)*step) }
}

// frame puts ticks at the left and captions above and below.
func (c *chart) frame(grid [][]rune) string {
	chartRows := len(grid)
	labels := make([]string, chartRows)
	for _, t := range c.ticks {
		row := chartRows - 1 - int(math.Round((t-c.low)/(c.high-c.low)*float64(chartRows-1)))
		if row >= 0 && row < chartRows {
			labels[row] = c.tick(t)
		}
	}
	width := 0
	for _, l := range labels {
		width = max(width, columns(l))
	}
	lines := wrap(c.title, Width, "  ")
	for i, r := range grid {
		edge := " │"
		if labels[i] != "" {
			edge = " ┤"
		}
		lines = append(lines, strings.TrimRight(" "+strings.Repeat(" ", width-columns(labels[i]))+labels[i]+edge+string(r), " "))
	}
	lead := strings.Repeat(" ", width+3)
	lines = append(lines, wrap(lead+c.across, Width, lead)...)
	lines = append(lines, wrap(lead+strings.NewReplacer("▼", "▾", " · ┃ likely range of the best", "").Replace(c.note()), Width, lead)...)
	return strings.Join(lines, "\n")
}
