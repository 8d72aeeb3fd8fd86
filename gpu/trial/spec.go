package trial

import "encoding/json"

// Trial is trial.json: everything one attempt needs to know. Paths are relative to the folder, or absolute.
type Trial struct {
	Format        int             `json:"format"`
	Trial         string          `json:"trial"`   // the trial's id
	Attempt       int             `json:"attempt"` // counts from 1
	Program       json.RawMessage `json:"program"` // as package schema prints it
	Template      string          `json:"template"`
	Target        *Target         `json:"target"`
	Candidate     Choice          `json:"candidate"`
	Data          Data            `json:"data"`
	Metric        string          `json:"metric"`
	Seed          int64           `json:"seed"`
	Limits        Limits          `json:"limits"`
	Device        Device          `json:"device"`
	Resume        *string         `json:"resume"`     // a checkpoint to go on from
	StopBelow     *Number         `json:"stop_below"` // a quality; an attempt that will stay under it may end early
	ReportSeconds float64         `json:"report_seconds"`
}

// Target is what is to be predicted: settled by the first feed and frozen.
type Target struct {
	Kind          string          `json:"kind"`   // classes or numbers; masks (pictures of classes); tokens, series (series of labels, of numbers)
	Labels        []string        `json:"labels"` // of classes, masks and tokens, in the program's order
	QuantileEdges json.RawMessage `json:"quantile_edges,omitempty"`
	Numeric       bool            `json:"numeric,omitempty"` // the labels of tokens are whole numbers
	Type          string          `json:"type,omitempty"`    // of classes: the kind of column that they came in, where it has one
}

// MarshalJSON writes the labels as a list also when there are none.
func (t Target) MarshalJSON() ([]byte, error) {
	type plain Target
	p := plain(t)
	if p.Labels == nil {
		p.Labels = []string{}
	}
	return json.Marshal(p)
}

// Choice is the candidate as an attempt sees it. Settings and normalization are the trainer's business.
type Choice struct {
	ID            string          `json:"id"`
	Version       int             `json:"version"`
	Family        string          `json:"family"`
	Settings      json.RawMessage `json:"settings"`
	Normalization json.RawMessage `json:"normalization"`
}

// Data names the examples of one dataset version.
type Data struct {
	Version  string   `json:"version"`
	Path     string   `json:"path"` // folder with examples-*.arrow and index.arrow
	Rows     int64    `json:"rows"`
	Parts    Parts    `json:"parts"`
	Protocol Protocol `json:"protocol"`
}

// Parts counts the examples of each part.
type Parts struct {
	Train      int64 `json:"train"`
	Validation int64 `json:"validation"`
	Test       int64 `json:"test"`
}

// Protocol says how quality is measured: "holdout", or "folds" with K of them.
type Protocol struct {
	Kind string `json:"kind"`
	K    int    `json:"k,omitempty"`
}

// Limits of one attempt; nil is no limit. The engine enforces memory, the trainer the rest.
type Limits struct {
	Seconds        *float64 `json:"seconds"`
	MemoryBytes    *int64   `json:"memory_bytes"`
	GPUMemoryBytes *int64   `json:"gpu_memory_bytes"`
	Threads        int      `json:"threads"`
	Steps          *int64   `json:"steps"`
}

// Device tells an attempt where it runs; Visible is the value of CUDA_VISIBLE_DEVICES.
type Device struct {
	Class   string `json:"class"`
	Visible string `json:"visible"`
}

// Ingest is ingest.json: files to be turned into examples.
type Ingest struct {
	Format      int                        `json:"format"`
	Program     json.RawMessage            `json:"program"`
	Template    string                     `json:"template"`
	Target      *Target                    `json:"target"` // nil at the first feed: the ingest settles it
	Sources     []Source                   `json:"sources"`
	Output      []string                   `json:"output"` // columns or fields that are the answer
	Using       map[string]json.RawMessage `json:"using"`  // field → where it is found
	Options     map[string]json.RawMessage `json:"options"`
	Known       *string                    `json:"known"` // an Arrow file of WriteKnown
	FirstNumber int64                      `json:"first_number"`
	Folds       *int                       `json:"folds"`            // nil: the ingest decides
	Test        *float64                   `json:"test"`             // share of the test part; nil: the ingest decides
	Metric      string                     `json:"metric,omitempty"` // the one that was asked for; empty: the ingest proposes
}

// Source is one file of a feed or of a question.
type Source struct {
	Name   string `json:"name"` // as people know it
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

// MarshalJSON writes the lists and objects that the trainer expects in place of null.
func (in Ingest) MarshalJSON() ([]byte, error) {
	type plain Ingest
	p := plain(in)
	if p.Sources == nil {
		p.Sources = []Source{}
	}
	if p.Output == nil {
		p.Output = []string{}
	}
	if p.Using == nil {
		p.Using = map[string]json.RawMessage{}
	}
	if p.Options == nil {
		p.Options = map[string]json.RawMessage{}
	}
	return json.Marshal(p)
}
