package replay

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// arrival is when a tenant comes, in the cost matrix's unit. row is its data set, or -1 where the draw decides.
type arrival struct {
	row  int
	time float64
}

// readArrivals reads lines of tenant and time. A tenant is the name of a row, which makes that row a tenant in every
// draw, or a number from 1, for one that is drawn.
func (d *data) readArrivals(c *Config) error {
	if c.Arrivals == "" {
		return nil
	}
	m, err := readFile(c.Arrivals)
	if err != nil {
		return err
	}
	if len(m.Columns) != 1 {
		return fmt.Errorf("%s has %d columns; arrivals are lines of tenant and time", c.Arrivals, len(m.Columns)+1)
	}
	for i, name := range m.Rows {
		a := arrival{row: slices.Index(d.rows, name), time: m.Cells[i][0]}
		if math.IsNaN(a.time) || a.time < 0 {
			return fmt.Errorf("%s: tenant %s has no time to come at; it must be 0 or more", c.Arrivals, name)
		}
		if n, err := strconv.Atoi(name); a.row < 0 && (err != nil || n < 1) {
			return fmt.Errorf("%s: %q is neither a row of %s nor a tenant's number from 1", c.Arrivals, name, c.name())
		}
		d.arrivals = append(d.arrivals, a)
	}
	slices.SortStableFunc(d.arrivals, func(a, b arrival) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	if c.Tenants != len(d.arrivals) {
		d.notes = append(d.notes, fmt.Sprintf("%s names %d tenants, who are served", c.Arrivals, len(d.arrivals)))
		c.Tenants = len(d.arrivals)
	}
	return nil
}

// seat chooses the tenants' rows from a shuffled list of all rows, and their times; rest are the others.
func (d *data) seat(order []int, tenants int) (rows []int, times []float64, rest []int) {
	if d.arrivals == nil {
		return order[:tenants], make([]float64, tenants), order[tenants:]
	}
	for _, i := range order {
		if !slices.ContainsFunc(d.arrivals, func(a arrival) bool { return a.row == i }) {
			rest = append(rest, i)
		}
	}
	for _, a := range d.arrivals {
		row := a.row
		if row < 0 {
			row, rest = rest[0], rest[1:]
		}
		rows, times = append(rows, row), append(times, a.time)
	}
	return rows, times, rest
}
