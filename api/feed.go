package api

import "time"

// NewUpload is the body of POST /uploads.
type NewUpload struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

// Upload is its answer; Complete at once where the owner's blob is there already.
type Upload struct {
	ID       string `json:"id"`
	Offset   int64  `json:"offset"`
	Size     int64  `json:"size"`
	Complete bool   `json:"complete"`
}

// NewFeed is the body of POST …/feeds. Uploads are ids of complete uploads,
// in the order of the cell's sources.
type NewFeed struct {
	Uploads []string            `json:"uploads"`
	Output  []string            `json:"output,omitempty"`
	Using   map[string]string   `json:"using,omitempty"`
	Options map[string][]string `json:"options,omitempty"`
	Hidden  bool                `json:"hidden,omitempty"`
}

// Feed is one feed of a task. Version is the dataset version it made, 0 if none.
type Feed struct {
	Number   int         `json:"number"`
	State    string      `json:"state"` // running | ended | failed
	Sources  []string    `json:"sources"`
	Read     int         `json:"read"`
	Accepted int         `json:"accepted"`
	Known    int         `json:"known"` // read, but here already
	Rejected int         `json:"rejected"`
	Rejects  []Reject    `json:"rejects"` // the first 20
	ReadAs   []string    `json:"read_as"`
	Warnings []Warning   `json:"warnings"`
	Changed  *FileChange `json:"changed,omitempty"` // a file of this name was fed before, and is another by now
	Version  int         `json:"version"`
	Seconds  float64     `json:"seconds"`
	Error    *Problem    `json:"error,omitempty"` // state failed: nothing was accepted
	Created  time.Time   `json:"created"`
	Earlier  bool        `json:"earlier,omitempty"` // the same content was fed before: this is that feed
}

// FileChange is how a file differs from what was fed of it before.
type FileChange struct {
	Since     *time.Time `json:"since,omitempty"` // when a file of this name was fed last
	Corrected []Relabel  `json:"corrected"`       // examples to which it gives another label by now
	Relabeled int        `json:"relabeled"`       // new rows whose input was there with another label, and which can't be told apart
	Gone      []int      `json:"gone"`            // examples that are on and no longer in it
}

// Reject is one row that was not accepted.
type Reject struct {
	Source string `json:"source"`
	Row    int64  `json:"row"`
	Line   *int64 `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Value  string `json:"value,omitempty"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}

// Warning is something about the data to settle before trusting a number.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Column  string `json:"column,omitempty"`
	Fix     string `json:"fix,omitempty"`    // a statement's clause that settles it
	Spoils  bool   `json:"spoils,omitempty"` // it makes qualities look too good
}

// FeedProgress is transient: the feed being read now.
type FeedProgress struct {
	Feed  int    `json:"feed"`
	Phase string `json:"phase"`
	Rows  int64  `json:"rows"`
	Of    int64  `json:"of"`
}

// NewInfer is the body of POST …/infer. The answer is a stream of NDJSON:
// Answer lines in input order, then one Inferred line.
type NewInfer struct {
	Uploads []string            `json:"uploads"`
	Using   map[string]string   `json:"using,omitempty"`
	Options map[string][]string `json:"options,omitempty"`
	Wait    bool                `json:"wait,omitempty"` // wait for a first real model
}

// Answer is one line of an infer stream: an answer or a refusal.
type Answer struct {
	Source        string             `json:"source"`
	Row           int64              `json:"row"`
	Values        []Cell             `json:"values,omitempty"` // the row's own columns as text, in order; absent for arrays
	Answer        map[string]any     `json:"answer,omitempty"`
	Sure          *float64           `json:"sure,omitempty"`
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
	Refused       *Reject            `json:"refused,omitempty"`
}

// Cell is one column's text of an input row.
type Cell struct {
	Column string `json:"column"`
	Text   string `json:"text"`
}

// Kinds of columns.
const (
	ColumnWhole   = "whole"
	ColumnNumber  = "number"
	ColumnNumbers = "numbers" // several in one cell
	ColumnTruth   = "truth"   // true or false
	ColumnDay     = "day"
	ColumnTime    = "time"    // of no zone
	ColumnInstant = "instant" // a time in a zone
	ColumnText    = "text"
)

// Inferred ends an infer stream.
type Inferred struct {
	Answers int     `json:"answers"`
	Refused int     `json:"refused"`
	Unsure  int     `json:"unsure"`
	Drift   []Drift `json:"drift,omitempty"` // what lies otherwise than in what the model learned from
	Seconds float64 `json:"seconds"`
	// Columns and Fields are the kinds of the rows' own columns and of the answers, where the files that were asked about
	// and fed know them (text files know none).
	Columns map[string]string `json:"columns,omitempty"`
	Fields  map[string]string `json:"fields,omitempty"`
	Version int               `json:"version"` // dataset version of the model
	Best    Best              `json:"best"`    // the model that answered
}

// Drift is one thing that lies otherwise in the rows that were asked about, as a clause.
type Drift struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// InferLine is what a line of the stream decodes into: exactly one field is set.
type InferLine struct {
	Answer  *Answer   `json:"answer,omitempty"`
	Done    *Inferred `json:"done,omitempty"`
	Problem *Problem  `json:"problem,omitempty"`
}
