package api

import (
	"encoding/json"
	"time"
)

// Frame is one message of the server on /stream. A durable frame has Seq and
// Prev (the last seq sent on this connection for these topics, so that a hole
// is seen); a transient one has neither and stands for the latest of its Type
// and Key. Frames about the stream itself have one of the Frame… types.
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

// Change is a later message: topics to add or drop. Since is the Easeml-Seq of
// the GET that the added topics go on from; nil adds them from now on.
type Change struct {
	Add   []string `json:"add,omitempty"`
	Drop  []string `json:"drop,omitempty"`
	Since *int64   `json:"since,omitempty"`
}

// Types of frames about the stream itself. The server sends reset, following
// and gone; lost and back are the Stream's own and never on the wire.
const (
	// FrameReset: what was asked for is older than the kept log. GET again; the
	// stream goes on from Seq. With a Topic only that one is meant.
	FrameReset = "reset"
	// FrameFollowing: every event up to Seq has been sent (of Topic; of all
	// topics where it is empty). A Stream keeps it to itself.
	FrameFollowing = "following"
	// FrameGone: there is no such task, or no longer, or it can't be seen. The
	// topic is not followed any more.
	FrameGone = "gone"
	// FrameLost: the server can't be reached since Time; the Stream goes on
	// trying. Sent once, until FrameBack. Data is a JSON string that says why.
	FrameLost = "lost"
	// FrameBack: reached again at Time; durable events that were missed follow.
	FrameBack = "back"
)

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

// Topics of a stream; those of tasks are made by TaskTopic.
const (
	TopicMe   = "me"   // notices to the caller, their limits
	TopicPool = "pool" // devices
)

// TaskTopic is the topic of a task's events: task:USER/NAME.
func TaskTopic(user, name string) string { return "task:" + user + "/" + name }
