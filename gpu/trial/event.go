package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Types of an Event.
const (
	EventStarted    = "started"
	EventPhase      = "phase"
	EventProgress   = "progress"
	EventCheckpoint = "checkpoint"
	EventMemory     = "memory"
	EventWarning    = "warning"
	EventDone       = "done"
	EventPaused     = "paused"
	EventFailed     = "failed"
)

// Event is one line of events.jsonl. N counts up from 1, T is in seconds since the attempt's start. Which of the other
// fields are set depends on Type; pointers are nil where the line has none.
type Event struct {
	N    int64   `json:"n"`
	T    float64 `json:"t"`
	Type string  `json:"type"`

	PID        int               `json:"pid,omitempty"` // started
	Host       string            `json:"host,omitempty"`
	Versions   map[string]string `json:"versions,omitempty"`
	DeviceName string            `json:"device_name,omitempty"`

	Name string `json:"name,omitempty"` // phase: load, fit, evaluate, save

	Step    float64 `json:"step,omitempty"` // progress, checkpoint, paused
	Of      float64 `json:"of,omitempty"`
	Unit    string  `json:"unit,omitempty"`  // epoch, fold, tree, iteration
	Bytes   int64   `json:"bytes,omitempty"` // progress of an ingest
	Rows    int64   `json:"rows,omitempty"`
	Quality *Number `json:"quality,omitempty"`
	Loss    *Number `json:"loss,omitempty"`
	Best    *Number `json:"best,omitempty"`

	Path       string `json:"path,omitempty"`       // checkpoint
	Checkpoint string `json:"checkpoint,omitempty"` // paused

	PeakBytes    int64 `json:"peak_bytes,omitempty"` // memory: private bytes
	GPUPeakBytes int64 `json:"gpu_peak_bytes,omitempty"`

	Code    string `json:"code,omitempty"` // warning
	Message string `json:"message,omitempty"`

	Accepted int64 `json:"accepted,omitempty"` // done of an ingest
	Rejected int64 `json:"rejected,omitempty"`
	Known    int64 `json:"known,omitempty"`

	Steps  float64 `json:"steps,omitempty"`  // done
	Reason string  `json:"reason,omitempty"` // finished, plateau, stopped, out_of_time

	Kind  string `json:"kind,omitempty"` // failed
	Hint  string `json:"hint,omitempty"` // what to do about it
	Where *Where `json:"where,omitempty"`
}

// Where points at a place in the user's files, as a spreadsheet or editor shows it.
type Where struct {
	File   string `json:"file,omitempty"`
	Row    *int64 `json:"row,omitempty"`
	Line   *int64 `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
}

// ReadEvents reads the events that stand after byte afterOffset (0 = from the start) and returns them with the offset
// to go on from. A last line without its newline is left for the next call: it is being written, or torn for ever. A
// complete line that is no event becomes a warning event with code "unreadable_event", so that nothing is lost in
// silence and nobody is stuck. No file means no events yet. A line of a higher format is ErrFormat.
func ReadEvents(folder string, afterOffset int64) ([]Event, int64, error) {
	f, err := os.Open(filepath.Join(folder, EventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, afterOffset, nil
	}
	if err != nil {
		return nil, afterOffset, fmt.Errorf("read the events of an attempt: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(afterOffset, io.SeekStart); err != nil {
		return nil, afterOffset, fmt.Errorf("read the events of an attempt: %w", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, afterOffset, fmt.Errorf("read the events of an attempt: %w", err)
	}
	events, used, err := parseEvents(b)
	return events, afterOffset + int64(used), err
}

// PausedAt reports whether an attempt has left on an order to pause, and the checkpoint to go on from, relative to its
// folder; empty when it has to begin anew.
func PausedAt(events []Event) (checkpoint string, paused bool) {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == EventPaused {
			return events[i].Checkpoint, true
		}
	}
	return "", false
}

// parseEvents reads whole lines and says how many bytes they were.
func parseEvents(b []byte) (events []Event, used int, err error) {
	for {
		i := bytes.IndexByte(b[used:], '\n')
		if i < 0 {
			return events, used, nil
		}
		line := bytes.TrimSpace(b[used : used+i])
		if len(line) > 0 {
			var e struct {
				Event
				Format int `json:"format"`
			}
			err := json.Unmarshal(line, &e)
			// A field of another type than ours is like an unknown one: the rest of the line stands.
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
				err = nil
			}
			if err != nil || e.Type == "" {
				e.Event = Event{Type: EventWarning, Code: "unreadable_event",
					Message: "The trainer wrote a line that is no event: " + clip(string(line), 120)}
			}
			if e.Format > Format {
				return events, used, fmt.Errorf("an event has format %d, this server reads up to %d: %w", e.Format, Format, ErrFormat)
			}
			events = append(events, e.Event)
		}
		used += i + 1
	}
}
