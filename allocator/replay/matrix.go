package replay

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// Matrix is a table of numbers: data sets by candidates. Missing cells are NaN.
type Matrix struct {
	Rows, Columns []string
	Cells         [][]float64
}

// ReadMatrix reads CSV: a head line with the columns' names, then one line per row, its name first. Empty cells are
// missing. name stands in the messages.
func ReadMatrix(r io.Reader, name string) (*Matrix, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s has no head line: %w", name, err)
	}
	if len(head) < 2 {
		return nil, fmt.Errorf("%s, line 1: there must be a column of names and at least one of numbers", name)
	}
	m := &Matrix{}
	known := map[string]bool{}
	for _, h := range head[1:] {
		h = strings.TrimSpace(h)
		if h == "" || known[h] {
			return nil, fmt.Errorf("%s, line 1: column name %q is empty or stands twice", name, h)
		}
		known[h] = true
		m.Columns = append(m.Columns, h)
	}
	rows := map[string]bool{}
	for {
		record, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		if len(record) != len(head) {
			return nil, fmt.Errorf("%s, line %d: there are %d cells under a head line of %d", name, line, len(record), len(head))
		}
		if rows[record[0]] {
			return nil, fmt.Errorf("%s, line %d: row %q stands twice", name, line, record[0])
		}
		rows[record[0]] = true
		cells := make([]float64, len(m.Columns))
		for k, text := range record[1:] {
			text = strings.TrimSpace(text)
			if text == "" {
				cells[k] = math.NaN()
				continue
			}
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%s, line %d, column %s: %q is not a finite number", name, line, m.Columns[k], text)
			}
			cells[k] = x
		}
		m.Rows = append(m.Rows, record[0])
		m.Cells = append(m.Cells, cells)
	}
	if len(m.Rows) == 0 {
		return nil, fmt.Errorf("%s has no rows below its head line", name)
	}
	return m, nil
}

func readFile(path string) (*Matrix, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the matrix cannot be opened: %w", err)
	}
	defer f.Close()
	return ReadMatrix(f, path)
}

// drop leaves columns out; names that are not there are ignored, so that one command line serves several matrices.
func (m *Matrix) drop(names []string) {
	gone := map[string]bool{}
	for _, n := range names {
		gone[n] = true
	}
	var keep []int
	var columns []string
	for k, c := range m.Columns {
		if !gone[c] {
			keep = append(keep, k)
			columns = append(columns, c)
		}
	}
	for i, row := range m.Cells {
		cells := make([]float64, len(keep))
		for j, k := range keep {
			cells[j] = row[k]
		}
		m.Cells[i] = cells
	}
	m.Columns = columns
}

// aligned brings the matrix into the rows and columns of another; what is not there is NaN.
func (m *Matrix) aligned(to *Matrix) *Matrix {
	rows, columns := map[string]int{}, map[string]int{}
	for i, r := range m.Rows {
		rows[r] = i
	}
	for k, c := range m.Columns {
		columns[c] = k
	}
	out := &Matrix{Rows: to.Rows, Columns: to.Columns}
	for _, r := range to.Rows {
		cells := make([]float64, len(to.Columns))
		for j, c := range to.Columns {
			cells[j] = math.NaN()
			i, okRow := rows[r]
			k, okColumn := columns[c]
			if okRow && okColumn {
				cells[j] = m.Cells[i][k]
			}
		}
		out.Cells = append(out.Cells, cells)
	}
	return out
}
