package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/easeml/easeml/allocator"
)

// data are the matrices, aligned and checked.
type data struct {
	rows     []string
	ids      []allocator.CandidateID
	quality  [][]float64 // NaN: the candidate fails there
	cost     [][]float64 // > 0
	size     [][2]int    // examples, features; 0 = unknown
	arrivals []arrival   // by time; nil = all at 0
	notes    []string
}

func (c *Config) load() (*data, error) {
	var d *data
	var err error
	if c.Synthetic != nil {
		d = c.Synthetic.draw(c.Seed)
	} else if d, err = c.read(); err != nil {
		return nil, err
	}
	if err := d.readSizes(c.Features); err != nil {
		return nil, err
	}
	if err := d.readArrivals(c); err != nil {
		return nil, err
	}
	if c.Tenants > len(d.rows) {
		return nil, fmt.Errorf("%d tenants were asked for, but %s has %d rows", c.Tenants, c.name(), len(d.rows))
	}
	if c.Tenants == len(d.rows) && c.History >= 0 {
		d.notes = append(d.notes, "every row is a tenant, so there is no history: the prior is from families alone")
	}
	for name, order := range c.Orders {
		for _, id := range order {
			if !slices.Contains(d.ids, allocator.CandidateID(id)) && !slices.Contains(c.Drop, id) {
				return nil, fmt.Errorf("the order of %s names %q, which is no candidate of %s", name, id, c.name())
			}
		}
	}
	return d, nil
}

// name is what messages call the matrix.
func (c *Config) name() string {
	if c.Synthetic != nil {
		return "the synthetic matrix"
	}
	return c.Quality
}

func (c *Config) read() (*data, error) {
	q, err := readFile(c.Quality)
	if err != nil {
		return nil, err
	}
	d := &data{}
	for _, name := range c.Drop {
		if !slices.Contains(q.Columns, name) {
			d.notes = append(d.notes, fmt.Sprintf("%s has no column %s to leave out", c.Quality, name))
		}
	}
	q.drop(c.Drop)
	if len(q.Columns) == 0 {
		return nil, fmt.Errorf("%s has no column left after dropping %s", c.Quality, strings.Join(c.Drop, ", "))
	}
	d.rows, d.quality = q.Rows, q.Cells
	for _, name := range q.Columns {
		d.ids = append(d.ids, allocator.CandidateID(name))
	}
	if err := d.checkQuality(q, c.Quality); err != nil {
		return nil, err
	}
	return d, d.readCost(q, c)
}

func (d *data) checkQuality(q *Matrix, path string) error {
	if len(q.Rows) < 2 {
		return fmt.Errorf("%s has a single row, %s; a replay needs tenants and others that came before them", path, q.Rows[0])
	}
	top, low := 0.0, math.Inf(1)
	for i, row := range q.Cells {
		usable := false
		for k, x := range row {
			if math.IsNaN(x) {
				continue
			}
			usable = true
			if x < 0 || x > 100 {
				return fmt.Errorf("%s, row %s, column %s: %v is no quality; they lie between 0 and 1, or between 0 and 100 in percent", path, q.Rows[i], q.Columns[k], x)
			}
			top, low = max(top, x), min(low, x)
		}
		if !usable {
			return fmt.Errorf("%s: row %s has no quality at all", path, q.Rows[i])
		}
	}
	if top == low {
		return fmt.Errorf("%s: all qualities are equal (%v), so there is nothing to search for", path, top)
	}
	if top > 1 {
		d.notes = append(d.notes, path+" is read as percent")
		for _, row := range q.Cells {
			for k := range row {
				row[k] /= 100
			}
		}
	}
	return nil
}

func (d *data) readCost(q *Matrix, c *Config) error {
	seed, drawn, err := c.costSeed()
	switch {
	case err != nil:
		return err
	case drawn:
		d.cost = drawCosts(len(d.rows), len(d.ids), seed)
		d.notes = append(d.notes, fmt.Sprintf("costs are drawn from seed %d: a factor per candidate, one per data set, and noise", seed))
		return nil
	case c.Cost == "":
		d.cost = fill(len(d.rows), len(d.ids), func(int, int) float64 { return 1 })
		d.notes = append(d.notes, "no cost matrix: every trial takes 1 s")
		return nil
	}
	m, err := readFile(c.Cost)
	if err != nil {
		return err
	}
	m.drop(c.Drop)
	for i, row := range m.Cells {
		for k, x := range row {
			if x <= 0 {
				return fmt.Errorf("%s, row %s, column %s: a trial cannot take %v s; costs must be positive", c.Cost, m.Rows[i], m.Columns[k], x)
			}
		}
	}
	for _, r := range q.Rows {
		if !slices.Contains(m.Rows, r) {
			return fmt.Errorf("%s has no row %s, which %s has", c.Cost, r, c.Quality)
		}
	}
	for _, name := range q.Columns {
		if !slices.Contains(m.Columns, name) {
			return fmt.Errorf("%s has no column %s, which %s has (leave it out with --drop)", c.Cost, name, c.Quality)
		}
	}
	for _, name := range m.Columns {
		if !slices.Contains(q.Columns, name) {
			return fmt.Errorf("%s has a column %s, which %s has not (leave it out with --drop)", c.Cost, name, c.Quality)
		}
	}
	d.cost = m.aligned(q).Cells
	return d.completeCosts(c)
}

// completeCosts gives failures without a cost the median of their column; a quality without a cost is an error.
func (d *data) completeCosts(c *Config) error {
	for i := range d.rows {
		for k, id := range d.ids {
			if !math.IsNaN(d.cost[i][k]) {
				continue
			}
			if !math.IsNaN(d.quality[i][k]) {
				return fmt.Errorf("%s, row %s, column %s: there is a quality but no cost", c.Cost, d.rows[i], id)
			}
			var column []float64
			for j := range d.rows {
				if x := d.cost[j][k]; !math.IsNaN(x) {
					column = append(column, x)
				}
			}
			if len(column) == 0 {
				return fmt.Errorf("%s: column %s has no cost at all", c.Cost, id)
			}
			d.cost[i][k] = quantile(column, 0.5)
		}
	}
	return nil
}

func (d *data) readSizes(path string) error {
	d.size = make([][2]int, len(d.rows))
	if path == "" {
		return nil
	}
	m, err := readFile(path)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, r := range m.Rows {
		at[r] = i
	}
	for i, r := range d.rows {
		j, ok := at[r]
		if !ok {
			return fmt.Errorf("%s has no row %s: every data set needs its size", path, r)
		}
		for k := 0; k < 2 && k < len(m.Columns); k++ {
			x := m.Cells[j][k]
			if math.IsNaN(x) {
				continue
			}
			if x < 0 || x > 1e12 {
				return fmt.Errorf("%s, row %s, column %s: %v is no size", path, r, m.Columns[k], x)
			}
			d.size[i][k] = int(x)
		}
	}
	return nil
}

// drawCosts: see [SyntheticCost].
func drawCosts(rows, columns int, seed uint64) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 0xc057))
	candidate := make([]float64, columns)
	for k := range candidate {
		candidate[k] = 1.5 * r.NormFloat64()
	}
	row := make([]float64, rows)
	for i := range row {
		row[i] = r.NormFloat64()
	}
	return fill(rows, columns, func(i, k int) float64 { return math.Exp(candidate[k] + row[i] + 0.5*r.NormFloat64()) })
}

func fill(rows, columns int, at func(i, k int) float64) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
		for k := range m[i] {
			m[i][k] = at(i, k)
		}
	}
	return m
}
