package api

import (
	"encoding/json"
	"time"
)

// Trial is one candidate trained in a task's search, under the task's own
// number for it.
type Trial struct {
	Number    int             `json:"number"`
	Candidate string          `json:"candidate"`
	Version   int             `json:"version"` // of the candidate
	Label     string          `json:"label"`
	Family    string          `json:"family"`
	Seed      int             `json:"seed"`
	State     string          `json:"state"` // queued | running | paused | ok | stopped | failed
	Kind      string          `json:"kind,omitempty"`
	Message   string          `json:"message,omitempty"`
	Search    *Estimate       `json:"search"`
	Seconds   float64         `json:"seconds"`
	Charge    float64         `json:"charge"`
	Steps     int             `json:"steps"`
	Reason    json.RawMessage `json:"reason"` // the allocator's reason for starting it
	Attempts  []Attempt       `json:"attempts"`
	Created   time.Time       `json:"created"`
	Ended     *time.Time      `json:"ended"`
}

// Attempt is one run of a trial on one lease.
type Attempt struct {
	Number      int        `json:"number"`
	Device      string     `json:"device"`
	DeviceClass string     `json:"device_class"`
	Engine      string     `json:"engine"`
	Outcome     string     `json:"outcome,omitempty"` // ok | stopped | paused | failed | lost; empty while it runs
	Kind        string     `json:"kind,omitempty"`
	Message     string     `json:"message,omitempty"`
	Seconds     float64    `json:"seconds"`
	Charge      float64    `json:"charge"`
	PeakBytes   int64      `json:"peak_bytes"`
	Requeued    bool       `json:"requeued"`
	Started     time.Time  `json:"started"`
	Ended       *time.Time `json:"ended"`
}

// Report is GET …/best: the served model, honestly.
type Report struct {
	Task Task  `json:"task"`
	Best *Best `json:"best"` // nil: no real model yet
	// Mistakes are those on the test part, or in the search where there is none, on
	// the version that the model was trained on; nil for models of numbers, and
	// where they were not kept.
	Mistakes *Mistakes `json:"mistakes"`
}

// Mistakes is how a model of classes errs on the test part, or on the examples that compare candidates.
type Mistakes struct {
	N       int       `json:"n"`
	Wrong   int       `json:"wrong"`
	OfTest  bool      `json:"of_test"`
	Pairs   []Pair    `json:"pairs"`             // the most frequent first
	Classes []OfClass `json:"classes,omitempty"` // by label; nil where there are too many
	Weakest *OfClass  `json:"weakest,omitempty"` // the class with the smallest share right
	Sure    *RightOfN `json:"sure,omitempty"`    // answers with a probability of 0.8 or more; nil where the model tells none
	Unsure  *RightOfN `json:"unsure,omitempty"`
}

// Pair is a kind of mistake: N examples of one class were taken for another.
type Pair struct {
	Truth  string `json:"truth"`
	Answer string `json:"answer"`
	N      int    `json:"n"`
}

// RightOfN counts right answers.
type RightOfN struct {
	Right int `json:"right"`
	N     int `json:"n"`
}

// OfClass is the right answers of one class.
type OfClass struct {
	Label string `json:"label"`
	Right int    `json:"right"`
	N     int    `json:"n"`
}

// Decision is one row of …/decisions: why a trial was started. Reason is the
// allocator's own account of it (policy, turn, mean, sd, score, runner_up …).
type Decision struct {
	Trial     int             `json:"trial"`
	Candidate string          `json:"candidate"`
	Label     string          `json:"label"`
	Time      time.Time       `json:"time"`
	Reason    json.RawMessage `json:"reason"`
}
