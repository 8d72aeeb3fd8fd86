package api

import (
	"encoding/json"
	"time"
)

// Frame is one message of the server on /stream. A durable frame has Seq and
// Prev (the last seq sent on this connection for these topics, so that a hole
// is seen); a transient one has neither and stands for the latest of its Type
// and Key. Type "reset" carries only Seq: GET again and go on from there.
type Frame struct {
	Seq   int64           `json:"seq,omitempty"`
	Prev  int64           `json:"prev,omitempty"`
	Time  time.Time       `json:"time"`
	Type  string          `json:"type"`
	Topic string          `json:"topic,omitempty"`
	Key   string          `json:"key,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Subscribe is the client's first message on /stream: Since nil starts now.
type Subscribe struct {
	Since  *int64   `json:"since"`
	Topics []string `json:"topics"` // task:USER/NAME, me, pool
}

// Change is a later message: topics to add or drop.
type Change struct {
	Add  []string `json:"add,omitempty"`
	Drop []string `json:"drop,omitempty"`
}

// Types of durable events.
const (
	EventTaskDeclared      = "task.declared"
	EventTaskChanged       = "task.changed"
	EventTaskDropped       = "task.dropped"
	EventFeedEnded         = "feed.ended"
	EventVersionCreated    = "version.created"
	EventCandidatesChanged = "candidates.changed"
	EventTrialStarted      = "trial.started"
	EventAttemptEnded      = "attempt.ended"
	EventTrialEnded        = "trial.ended"
	EventBestChanged       = "best.changed"
	EventTaskSettled       = "task.settled"
	EventTaskReopened      = "task.reopened"
	EventDeviceChanged     = "device.changed"
	EventNotice            = "notice"
)

// Types of transient events.
const (
	TransientFeedProgress  = "feed.progress"
	TransientTrialProgress = "trial.progress"
	TransientQueue         = "queue"
	TransientPoolUsage     = "pool.usage"
)

// SeqHeader answers every GET: the event it is current to.
const SeqHeader = "Easeml-Seq"
