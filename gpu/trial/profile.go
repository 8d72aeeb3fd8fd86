package trial

import "encoding/json"

// Profile is profile.json: what an ingest read, accepted and noticed.
type Profile struct {
	Format       int              `json:"format"`
	Target       *Target          `json:"target"`
	Examples     Counts           `json:"examples"`
	Classes      map[string]int64 `json:"classes"`
	Parts        Parts            `json:"parts"`
	Protocol     Protocol         `json:"protocol"`
	Features     int64            `json:"features"`
	Rows         int64            `json:"rows"`
	ReadAs       []string         `json:"read_as"`       // clauses for people: how the files were understood
	Fields       json.RawMessage  `json:"fields"`        // a description of each field, for views
	DynamicRange Number           `json:"dynamic_range"` // largest over median magnitude
	Metric       MetricChoice     `json:"metric"`
	Warnings     []Warning        `json:"warnings"`
	Guess        Guess            `json:"guess"`
	Changed      *FileChange      `json:"changed"` // nil: no file of a name that was fed before
}

// FileChange is how files differ from what was fed of their names before.
type FileChange struct {
	Corrected []Correction `json:"corrected"`
	Gone      []int        `json:"gone"` // numbers of examples that are on and no longer in them
}

// Correction is an example to which its file gives another label by now.
type Correction struct {
	Number int    `json:"number"`
	To     string `json:"to"`
}

// Counts of a feed's examples.
type Counts struct {
	Read     int64 `json:"read"`
	Accepted int64 `json:"accepted"`
	Known    int64 `json:"known"` // were there already
	Rejected int64 `json:"rejected"`
}

// MetricChoice is the default metric and why it was chosen.
type MetricChoice struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Warning is something to know before trusting a number.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Column  string `json:"column"`
	Fix     string `json:"fix"`    // a clause to type
	Spoils  bool   `json:"spoils"` // it makes qualities look too good
}

// Guess is the reference line: what always answering the same would reach.
type Guess struct {
	Text    string `json:"text"`
	Quality Number `json:"quality"`
}
