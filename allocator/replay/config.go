package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/easeml/easeml/allocator"
)

// Clairvoyant is a policy of the replay alone: it knows every quality and cost and takes the largest gain per cost.
const Clairvoyant = "clairvoyant"

// Metrics of a report.
const (
	MetricCost = "cost" // device time spent
	MetricTime = "time" // time on the clock
)

// SyntheticCost in place of a file draws costs from the seed: log-normal, a factor e^1.5 between candidates and e^0.5
// between cells.
const SyntheticCost = "synthetic"

// Config says what is replayed. The zero value of every field but Quality has a meaning.
type Config struct {
	Quality  string    `json:"quality"`            // CSV: data sets × candidates, in [0,1] or in percent
	Cost     string    `json:"cost,omitempty"`     // CSV of seconds; "" = 1 for every cell; "synthetic"
	Features string    `json:"features,omitempty"` // CSV of data sets × (examples, features, …); "" = unknown sizes
	Policies []string  `json:"policies"`           // allocator.Policies() and "clairvoyant"; none = roundrobin, hybrid, default, clairvoyant
	Tenants  int       `json:"tenants"`            // 0 = 10
	Devices  int       `json:"devices"`            // 0 = 1
	Repeats  int       `json:"repeats"`            // draws; 0 = 20
	Targets  []float64 `json:"targets"`            // mean losses; none = 0.05, 0.02, 0.01, 0.005
	Metric   string    `json:"metric"`             // "" = cost
	Seed     uint64    `json:"seed"`
	// History is how many other rows the prior is fitted from; 0 = all, -1 = none (families alone).
	History int `json:"history"`
	// Noise is the standard deviation of an error added to each quality that is observed; losses stay true.
	Noise      float64  `json:"noise,omitempty"`
	KnownCosts bool     `json:"known_costs,omitempty"` // tell the tenants' true seconds beforehand
	Drop       []string `json:"drop,omitempty"`        // columns to leave out
	// Settle lets searches end by "likely final" (default policy); else all goes on to the smallest target.
	Settle bool `json:"settle,omitempty"`
	// Options of the allocator; Policy and Seed are the replay's.
	Options allocator.Options `json:"options"`
	// Family groups candidates; nil = the id without a trailing "-NN".
	Family func(allocator.CandidateID) string `json:"-"`
}

var trailingNumber = regexp.MustCompile(`-\d+$`)

// filled returns the config with defaults in place of zeros, or an error that names the field.
func (c Config) filled() (Config, error) {
	if c.Quality == "" {
		return c, fmt.Errorf("no quality matrix was named; give a CSV file of data sets by candidates")
	}
	if len(c.Policies) == 0 {
		c.Policies = []string{allocator.PolicyRoundRobin, allocator.PolicyHybrid, allocator.PolicyDefault, Clairvoyant}
	}
	for _, p := range c.Policies {
		if p != Clairvoyant && !slices.Contains(allocator.Policies(), p) {
			return c, fmt.Errorf("unknown policy %q; there are %s and %s", p, strings.Join(allocator.Policies(), ", "), Clairvoyant)
		}
	}
	for _, f := range []struct {
		name  string
		value *int
		unset int
	}{{"tenants", &c.Tenants, 10}, {"devices", &c.Devices, 1}, {"repeats", &c.Repeats, 20}} {
		if *f.value == 0 {
			*f.value = f.unset
		}
		if *f.value < 0 {
			return c, fmt.Errorf("%s is %d; it must be positive", f.name, *f.value)
		}
	}
	if c.History < -1 {
		return c, fmt.Errorf("history is %d; it must be a number of rows, 0 for all or -1 for none", c.History)
	}
	if len(c.Targets) == 0 {
		c.Targets = []float64{0.05, 0.02, 0.01, 0.005}
	}
	for _, t := range c.Targets {
		if !(t >= 0 && t < 1) {
			return c, fmt.Errorf("target %v is no mean loss; it must be at least 0 and below 1", t)
		}
	}
	if c.Metric == "" {
		c.Metric = MetricCost
	}
	if c.Metric != MetricCost && c.Metric != MetricTime {
		return c, fmt.Errorf("unknown metric %q; there are %s and %s", c.Metric, MetricCost, MetricTime)
	}
	if !(c.Noise >= 0) || math.IsInf(c.Noise, 0) {
		return c, fmt.Errorf("noise is %v; it must be a number that is not negative", c.Noise)
	}
	if c.Family == nil {
		c.Family = func(id allocator.CandidateID) string { return trailingNumber.ReplaceAllString(string(id), "") }
	}
	return c, nil
}

// data are the matrices, aligned and checked.
type data struct {
	rows    []string
	ids     []allocator.CandidateID
	quality [][]float64
	cost    [][]float64
	size    [][2]int // examples, features; 0 = unknown
	notes   []string
}

func (c *Config) load() (*data, error) {
	q, err := readFile(c.Quality)
	if err != nil {
		return nil, err
	}
	q.drop(c.Drop)
	if len(q.Columns) == 0 {
		return nil, fmt.Errorf("%s has no column left after dropping %s", c.Quality, strings.Join(c.Drop, ", "))
	}
	d := &data{rows: q.Rows, quality: q.Cells}
	for _, name := range q.Columns {
		d.ids = append(d.ids, allocator.CandidateID(name))
	}
	if err := d.readQuality(q, c.Quality); err != nil {
		return nil, err
	}
	if err := d.readCost(q, c); err != nil {
		return nil, err
	}
	if err := d.readSizes(c.Features); err != nil {
		return nil, err
	}
	for i := range d.rows {
		usable := false
		for k := range d.ids {
			usable = usable || !math.IsNaN(d.quality[i][k])
		}
		if !usable {
			return nil, fmt.Errorf("%s: row %s has no cell with both a quality and a cost", c.Quality, d.rows[i])
		}
	}
	if c.Tenants > len(d.rows) {
		return nil, fmt.Errorf("%d tenants were asked for, but %s has %d rows", c.Tenants, c.Quality, len(d.rows))
	}
	if c.Tenants == len(d.rows) && c.History >= 0 {
		d.notes = append(d.notes, "every row is a tenant, so there is no history: the prior is from families alone")
	}
	return d, nil
}

func (d *data) readQuality(q *Matrix, path string) error {
	top := 0.0
	for i, row := range q.Cells {
		for k, x := range row {
			if x < 0 || x > 100 {
				return fmt.Errorf("%s, row %s, column %s: %v is no quality; they lie between 0 and 1, or between 0 and 100 in percent", path, q.Rows[i], q.Columns[k], x)
			}
			if x > top {
				top = x
			}
		}
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
	switch c.Cost {
	case "":
		d.cost = fill(len(d.rows), len(d.ids), func(int, int) float64 { return 1 })
		d.notes = append(d.notes, "no cost matrix: every trial takes 1 s")
	case SyntheticCost:
		r := rand.New(rand.NewPCG(c.Seed, 0xc057))
		level := make([]float64, len(d.ids))
		for k := range level {
			level[k] = 1.5 * r.NormFloat64()
		}
		d.cost = fill(len(d.rows), len(d.ids), func(_, k int) float64 { return math.Exp(level[k] + 0.5*r.NormFloat64()) })
		d.notes = append(d.notes, fmt.Sprintf("costs are synthetic, drawn from seed %d", c.Seed))
	default:
		m, err := readFile(c.Cost)
		if err != nil {
			return err
		}
		for i, row := range m.Cells {
			for k, x := range row {
				if x <= 0 {
					return fmt.Errorf("%s, row %s, column %s: a trial cannot take %v s; costs must be positive", c.Cost, m.Rows[i], m.Columns[k], x)
				}
			}
		}
		known := map[string]bool{}
		for _, r := range m.Rows {
			known[r] = true
		}
		for _, r := range q.Rows {
			if !known[r] {
				return fmt.Errorf("%s has no row %s, which %s has", c.Cost, r, c.Quality)
			}
		}
		for _, name := range q.Columns {
			if !slices.Contains(m.Columns, name) {
				return fmt.Errorf("%s has no column %s, which %s has (leave it out with drop)", c.Cost, name, c.Quality)
			}
		}
		d.cost = m.aligned(q).Cells
	}
	for i := range d.quality { // a cell counts where both are known
		for k := range d.ids {
			if math.IsNaN(d.quality[i][k]) || math.IsNaN(d.cost[i][k]) {
				d.quality[i][k], d.cost[i][k] = math.NaN(), math.NaN()
			}
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
