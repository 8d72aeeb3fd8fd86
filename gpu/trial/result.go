package trial

import (
	"encoding/json"
	"fmt"
)

// Outcomes of a result.json.
const (
	OK      = "ok"      // ran to its end
	Stopped = "stopped" // told to stop, or out of time; the best so far counts
	Paused  = "paused"  // left on an order, perhaps with a checkpoint; there is no result then, see PausedAt
	Failed  = "failed"  // see Kind
)

// Kinds of failure.
const (
	KindData        = "data"
	KindMemory      = "memory"
	KindTimeout     = "timeout"
	KindLost        = "lost" // not the trial's fault; queued again
	KindBug         = "bug"
	KindUnsupported = "unsupported"
)

// Result is result.json, which the trainer writes last: its presence means that the attempt has finished, well or as
// failed. A failed one has a NaN quality.
type Result struct {
	Format          int               `json:"format"`
	Outcome         string            `json:"outcome"`
	Kind            string            `json:"kind,omitempty"`    // when failed
	Message         string            `json:"message,omitempty"` // when failed, one sentence
	Where           *Where            `json:"where,omitempty"`   // when failed
	Hint            string            `json:"hint,omitempty"`    // when failed: what to do
	Quality         Number            `json:"quality"`           // in [0,1]
	Metrics         map[string]Number `json:"metrics"`
	QualityInterval *[2]Number        `json:"quality_interval"`
	N               int64             `json:"n"` // held-out examples behind the quality
	Test            *Score            `json:"test"`
	Seconds         Seconds           `json:"seconds"`
	CPUSeconds      Number            `json:"cpu_seconds"`
	Steps           int64             `json:"steps"`
	Curve           []Point           `json:"curve"`
	PeakBytes       int64             `json:"peak_bytes"`
	GPUPeakBytes    int64             `json:"gpu_peak_bytes"`
	Model           *Model            `json:"model"`
	Predictions     string            `json:"predictions"`      // path in the folder; empty when there are none
	TestPredictions string            `json:"test_predictions"` // the same of the test part: told of the best model only
	Sample          *Sample           `json:"sample"`           // nil: it worked with all examples
}

// Sample says with how many of the examples an attempt worked whose slot has not
// the memory for all of them.
type Sample struct {
	Rows        int64 `json:"rows"`
	Of          int64 `json:"of"`
	MemoryBytes int64 `json:"memory_bytes"` // of the slot
}

// Score is a quality with what belongs to it.
type Score struct {
	Quality  Number            `json:"quality"`
	Interval *[2]Number        `json:"interval"`
	N        int64             `json:"n"`
	Metrics  map[string]Number `json:"metrics"`
}

// Seconds of an attempt by phase.
type Seconds struct {
	Load     Number `json:"load"`
	Fit      Number `json:"fit"`
	Evaluate Number `json:"evaluate"`
	Save     Number `json:"save"`
}

// Total is the sum of the phases.
func (s Seconds) Total() float64 { return float64(s.Load + s.Fit + s.Evaluate + s.Save) }

// Point is one step of a learning curve, [step, quality, t] in JSON.
type Point struct {
	Step    float64
	Quality Number
	T       float64 // seconds since the attempt's start
}

// MarshalJSON writes [step, quality, t].
func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal([3]any{p.Step, p.Quality, p.T}) }

// UnmarshalJSON reads [step, quality, t].
func (p *Point) UnmarshalJSON(b []byte) error {
	var v []Number
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if len(v) < 3 {
		return fmt.Errorf("a point of a curve is [step, quality, t], not %s", clip(string(b), 60))
	}
	*p = Point{Step: float64(v[0]), Quality: v[1], T: float64(v[2])}
	return nil
}

// Model describes the files of a saved model.
type Model struct {
	Format string      `json:"format"` // skops, safetensors or onnx
	Class  string      `json:"class"`
	Files  []ModelFile `json:"files"`
}

// ModelFile is one file of a model; Path is relative to the folder.
type ModelFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}
