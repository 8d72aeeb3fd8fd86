package history

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/easeml/easeml/allocator"
)

// shippedRows is what the catalogue's candidates reached on data sets that Python packages ship. make_shipped.py makes
// it with the real trainer: `make prior`.
//
//go:embed shipped.json
var shippedRows []byte

// shipped reads them: one history a kind of search, so that the first search on a fresh server starts from something
// measured. Their seconds are of another machine, and bear no device class: a search learns its own.
func shipped() (map[Kind]*history, error) {
	var file struct {
		Rows []struct {
			Name, Template, Target string
			Examples, Features     int
			Candidates             map[string]struct {
				Family                     string
				Quality, Seconds, Estimate float64
			}
		}
	}
	if err := json.Unmarshal(shippedRows, &file); err != nil {
		return nil, fmt.Errorf("the history that is shipped: %w", err)
	}
	histories := map[Kind]*history{}
	for _, r := range file.Rows {
		kind := Kind{Template: r.Template, Target: r.Target}
		h := histories[kind]
		if h == nil {
			h = newHistory()
			histories[kind] = h
		}
		row := allocator.Row{
			Quality: map[allocator.CandidateID]float64{}, Seconds: map[allocator.CandidateID]float64{},
			Class: map[allocator.CandidateID]string{}, Estimate: map[allocator.CandidateID]float64{}, Examples: r.Examples, Features: r.Features,
		}
		for name, c := range r.Candidates {
			id := allocator.CandidateID(name)
			row.Quality[id], row.Seconds[id], row.Estimate[id] = c.Quality, c.Seconds, c.Estimate
			h.families[id] = c.Family
		}
		h.at["shipped "+r.Name] = len(h.rows)
		h.rows = append(h.rows, row)
	}
	return histories, nil
}
