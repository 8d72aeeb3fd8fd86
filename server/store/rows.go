package store

import (
	"encoding/json"
	"time"
)

// User is a person with a name that tasks are called by.
type User struct {
	ID      string
	Name    string
	Role    string // user | admin
	Created time.Time
}

// Token lets its bearer act as a user. Only its hash is kept.
type Token struct {
	Hash    []byte // SHA-256
	UserID  string
	Label   string
	Created time.Time
	Revoked *time.Time
}

// Blob is a file's content, called by its hash.
type Blob struct {
	SHA256  string // hexadecimal
	Size    int64
	Created time.Time
}

// Upload is a file on its way in; once complete, SHA256 names its blob.
type Upload struct {
	ID       string
	UserID   string
	Name     string
	Size     int64
	SHA256   string
	Complete bool
	Created  time.Time
}

// Search is a dataset version with a metric, a split protocol and a salt.
type Search struct {
	ID             string
	DatasetVersion string
	Metric         string
	Protocol       json.RawMessage
	Salt           string
	Program        string
	Template       string
	Target         json.RawMessage
	Profile        json.RawMessage
	DataPath       string
	Rows           int
	Parts          json.RawMessage
	Seed           int
	Inherits       string // id of the search of the version before, or empty
	State          string // open | settled
	Reason         string
	Created        time.Time
	Settled        *time.Time
}

// Candidate is an arm of a search; Object is the trainer's JSON.
type Candidate struct {
	SearchID string
	ID       string
	Version  int
	Ordinal  int
	Object   json.RawMessage
	Removed  *time.Time
}

// Task is a declared program with its examples.
type Task struct {
	ID          string
	UserID      string
	User        string // the owner's name, joined
	Name        string
	Program     string
	Template    string
	Options     json.RawMessage
	State       string // declared | searching | settled | dropped
	Reason      string
	Stopped     bool
	Target      json.RawMessage // nil before the first feed
	Profile     json.RawMessage // nil before the first feed
	Version     int
	SearchID    string // empty before the first version
	Served      json.RawMessage
	NextExample int
	NextTrial   int
	NextFeed    int
	Created     time.Time
	Changed     time.Time
	Settled     *time.Time
	Dropped     *time.Time
}

// Feed is one feed of a task.
type Feed struct {
	ID       string
	TaskID   string
	Number   int
	Key      string
	State    string // running | ended | failed
	Request  json.RawMessage
	Folder   string
	Read     int
	Accepted int
	Known    int
	Rejected int
	Profile  json.RawMessage
	Version  int
	Seconds  float64
	Error    json.RawMessage
	Created  time.Time
	Ended    *time.Time
	AsIs     string // who said that what it warned of is fine
}

// Reject is a row of a feed that was not accepted.
type Reject struct {
	N      int // 1 and on, given by the store
	Source string
	Row    int64
	Line   *int64
	Column string
	Value  string
	Reason string
	Remedy string
}

// Example is an accepted example without its content.
type Example struct {
	Number      int
	ExampleHash string
	InputHash   string
	Group       string // hash of what keeps rows in one part; empty when nothing does
	Label       string
	Fed         string // the label as it was fed, where it was corrected since; empty: Label is as it was fed
	Part        string
	Feed        int
	Version     int
	Source      string
	Row         int64
	On          bool
}

// ExampleCounts counts a task's examples; the parts count those that are on.
type ExampleCounts struct {
	On         int
	Off        int
	Train      int
	Validation int
	Test       int
}

// Version is a dataset version of a task.
type Version struct {
	TaskID   string
	Number   int
	Hash     string
	On       int
	Off      int
	Parts    json.RawMessage
	Cause    string
	Feed     *int
	SearchID string
	By       string          // the name of whoever made it; empty where nobody noted it
	Changes  json.RawMessage // what a refinement changed; nil for a feed
	Created  time.Time
}

// Trial is (search, candidate, candidate version, seed).
type Trial struct {
	ID               string
	SearchID         string
	Candidate        string
	CandidateVersion int
	Seed             int
	State            string // queued | running | paused | ok | stopped | failed
	Kind             string
	Message          string
	Quality          *float64
	Result           json.RawMessage
	HeldOut          []byte
	Seconds          float64
	Charge           float64
	DeviceClass      string
	Model            string
	Reason           json.RawMessage
	Created          time.Time
	Ended            *time.Time
}

// Attempt is one run of a trial on one lease.
type Attempt struct {
	TrialID     string
	Number      int
	Device      string
	DeviceClass string
	Engine      string
	Folder      string
	Outcome     string // empty while it runs
	Kind        string
	Message     string
	Seconds     float64
	Charge      float64
	PeakBytes   int64
	Requeued    bool
	Started     time.Time
	Ended       *time.Time
}

// TaskTrial is the small number a task gave a trial when it first saw it.
type TaskTrial struct {
	TaskID  string
	Number  int
	TrialID string
}

// Share is what a search had of the devices and what an equal share of its own
// would have given it, in device seconds until At; since then it has gone on at
// the rates Owes and Having, in devices.
type Share struct {
	SearchID     string
	Owed, Had    float64
	Owes, Having float64
	At           time.Time
}

// Prior is a prior of one kind of search as it was fitted once.
type Prior struct {
	Version  int    // given by the store, never twice
	Template string // with Target: the kind of search
	Target   string
	ID       string // hash of the body
	Trials   int    // finished trials that the store had then
	Body     json.RawMessage
	Created  time.Time
}

// Finished is a finished trial with what a prior learns from. State is ok,
// stopped (Quality is a lower bound: it was censored) or failed; failed of Kind
// memory or unsupported means infeasible on DeviceClass.
type Finished struct {
	TrialID          string
	SearchID         string
	Candidate        string
	CandidateVersion int
	Seed             int
	State            string
	Kind             string
	Quality          *float64
	Seconds          float64 // summed over attempts
	DeviceClass      string
	Ended            time.Time
	Object           json.RawMessage // the candidate's
	DatasetVersion   string          // from here on: the search's
	Metric           string
	Protocol         json.RawMessage
	Template         string
	Target           json.RawMessage
	Profile          json.RawMessage
	Rows             int
	Parts            json.RawMessage
}

// Idempotent is the answer to a request that carried an idempotency key.
type Idempotent struct {
	UserID  string
	Key     string
	Request string // hash of method, path, body
	Status  int
	Body    json.RawMessage
	Created time.Time
}

// Event is a durable event of the log.
type Event struct {
	Seq   int64
	Time  time.Time
	Topic string
	Type  string
	Data  json.RawMessage
}
