package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Candidate is one model that could be trained, as the trainer prints it.
type Candidate struct {
	ID            string          `json:"id"`
	Version       int             `json:"version"`
	Family        string          `json:"family"`
	Label         string          `json:"label"` // for people
	Templates     []string        `json:"templates"`
	Kinds         []string        `json:"kinds"` // of targets
	Settings      json.RawMessage `json:"settings"`
	Normalization json.RawMessage `json:"normalization"`
	Year          int             `json:"year,omitempty"`
	Citations     int64           `json:"citations,omitempty"`
	Source        string          `json:"source"`
	Devices       []string        `json:"devices"` // kinds of device: cpu, gpu
	Iterative     bool            `json:"iterative"`
	Pausable      bool            `json:"pausable"`
	Deterministic bool            `json:"deterministic"`
	Needs         Needs           `json:"needs"`
	Estimate      Estimate        `json:"estimate"`
	Baseline      bool            `json:"baseline"` // the reference line, never served

	// Missing names the libraries that it needs and that the trainer's Python
	// lacks: it suits the data, and can't be tried.
	Missing []string `json:"missing,omitempty"`
}

// Needs bounds the data a candidate makes sense for; nil is no bound.
type Needs struct {
	MinExamples *int64 `json:"min_examples"`
	MaxExamples *int64 `json:"max_examples"`
	MaxFeatures *int64 `json:"max_features"`
}

// Estimate is what one trial is expected to take before anything was measured.
type Estimate struct {
	Seconds        map[string]float64 `json:"seconds"` // by device class
	MemoryBytes    float64            `json:"memory_bytes"`
	GPUMemoryBytes float64            `json:"gpu_memory_bytes"`
}

// Choice is the part of a candidate that goes into trial.json.
func (c Candidate) Choice() Choice {
	return Choice{ID: c.ID, Version: c.Version, Family: c.Family, Settings: c.Settings, Normalization: c.Normalization}
}

// RunsOn reports whether the candidate can use a device of this kind ("cpu", "gpu"). One that names none runs on all.
func (c Candidate) RunsOn(kind string) bool {
	for _, d := range c.Devices {
		if d == kind {
			return true
		}
	}
	return len(c.Devices) == 0
}

// ReadCandidates reads candidate objects one after the other, or one array of them, until the end. An object without
// id, or an id that comes twice, is an error.
func ReadCandidates(r io.Reader) ([]Candidate, error) {
	var list []Candidate
	seen := map[string]bool{}
	dec := json.NewDecoder(r)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("candidate %d cannot be read: %w", len(list)+1, err)
		}
		var some []Candidate
		if raw[0] != '[' {
			raw = append(append(json.RawMessage{'['}, raw...), ']')
		}
		if err := json.Unmarshal(raw, &some); err != nil {
			return nil, fmt.Errorf("candidate %d cannot be read: %w", len(list)+1, err)
		}
		for _, c := range some {
			switch {
			case c.ID == "":
				return nil, fmt.Errorf("candidate %d has no id", len(list)+1)
			case seen[c.ID]:
				return nil, fmt.Errorf("candidate %s comes twice", c.ID)
			}
			seen[c.ID] = true
			list = append(list, c)
		}
	}
}
