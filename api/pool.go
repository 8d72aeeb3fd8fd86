package api

import "time"

// Me is GET /me.
type Me struct {
	User string `json:"user"`
	Role string `json:"role"` // user | admin
}

// Server is GET /server.
type Server struct {
	Version  string   `json:"version"`
	Private  bool     `json:"private"` // made by a kernel for one user
	Policy   string   `json:"policy"`
	Features []string `json:"features"`
}

// Device is one row of GET /pool.
type Device struct {
	ID     string `json:"id"`
	Class  string `json:"class"`
	Name   string `json:"name"`
	State  string `json:"state"` // free | held | busy_by_others | draining | lost
	Why    string `json:"why,omitempty"`
	Mine   bool   `json:"mine"`             // held by a trial of the caller
	Task   string `json:"task,omitempty"`   // only where Mine
	Label  string `json:"label,omitempty"`  // of the candidate at work; only where Mine
	Memory int64  `json:"memory,omitempty"` // bytes in all, 0 unknown
	// Ends is when the trial at work is expected to end; nil where none is, or it
	// has taken longer than expected.
	Ends *time.Time `json:"ends,omitempty"`
}

// Pool is GET /pool.
type Pool struct {
	Devices []Device  `json:"devices"`
	Waiting int       `json:"waiting"` // tasks with runnable candidates and nothing running
	Now     time.Time `json:"now"`
}

// Health is GET /healthz, which needs no token. Instance is made anew at each
// start of a server: a private server is known again by it, so that no token is
// sent to another process that took over its port.
type Health struct {
	Service  string `json:"service"` // easeml
	Status   string `json:"status"`  // ok
	Instance string `json:"instance"`
}
