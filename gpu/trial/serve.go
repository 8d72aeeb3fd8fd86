package trial

import "encoding/json"

// Order is one line to the warm parent: run a folder, or signal one.
type Order struct {
	Run     string            `json:"run,omitempty"`     // a folder
	Command string            `json:"command,omitempty"` // run, ingest or study
	Env     map[string]string `json:"env,omitempty"`
	Limits  map[string]int64  `json:"limits,omitempty"` // memory_bytes, threads
	Signal  string            `json:"signal,omitempty"` // a folder
	Name    string            `json:"name,omitempty"`   // USR1, TERM, KILL
}

// Word is one line from the warm parent. Exactly one of Ready, Started, Event, Ended and Error is set; Started,
// Event and Ended name a folder.
type Word struct {
	Ready     json.RawMessage `json:"ready"`
	Started   string          `json:"started"`
	PID       int             `json:"pid"`
	Event     string          `json:"event"` // look into events.jsonl
	Ended     string          `json:"ended"`
	Code      *int            `json:"code"` // null when a signal ended it
	Signal    SignalName      `json:"signal"`
	PeakBytes int64           `json:"peak_bytes"`
	Message   string          `json:"message"` // of an ended folder that could not be forked
	Error     string          `json:"error"`   // an order was not understood
}

// SignalName is a signal's name without SIG, "KILL". It is read from "SIGKILL", "KILL" and the number alike.
type SignalName string

// UnmarshalJSON reads a name, a number or null.
func (s *SignalName) UnmarshalJSON(b []byte) error {
	var number int
	if json.Unmarshal(b, &number) == nil {
		*s = ""
		if number > 0 {
			*s = SignalName(SignalOf(number))
		}
		return nil
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	if len(name) > 3 && name[:3] == "SIG" {
		name = name[3:]
	}
	*s = SignalName(name)
	return nil
}
