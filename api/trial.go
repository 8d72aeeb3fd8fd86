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
