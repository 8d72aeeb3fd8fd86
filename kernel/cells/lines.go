package cells

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/easeml/easeml/kernel/jupyter"
)

// Lines writes outputs as JSON, one a line, for other programs.
type Lines struct {
	*encoder
	request json.RawMessage // which request they belong to; nil where there is but one
}

// encoder writes whole lines.
type encoder struct {
	mu  sync.Mutex
	out *json.Encoder
}

var _ jupyter.Sink = (*Lines)(nil)

// NewLines makes a Lines that writes to out.
func NewLines(out io.Writer) *Lines {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return &Lines{encoder: &encoder{out: e}}
}

// of is where the outputs of a request go.
func (l *Lines) of(request json.RawMessage) *Lines { return &Lines{l.encoder, request} }

// line is one output: type is stream, display, update, result, clear, page or
// error. Those that only [Pipe] writes follow.
type line struct {
	Type      string          `json:"type"`
	Request   json.RawMessage `json:"request,omitempty"`
	Name      string          `json:"name,omitempty"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Data      map[string]any  `json:"data,omitempty"`
	Traceback []string        `json:"traceback,omitempty"`
	Wait      bool            `json:"wait,omitempty"` // of clear: only when the next output comes

	Password bool              `json:"password,omitempty"` // of question
	Version  string            `json:"version,omitempty"`  // of ready
	Status   string            `json:"status,omitempty"`   // of done, like all below
	Payload  []jupyter.Payload `json:"payload,omitempty"`
	Start    *int              `json:"start,omitempty"`
	End      *int              `json:"end,omitempty"`
	Matches  []match           `json:"matches,omitzero"`
	Found    *bool             `json:"found,omitempty"`
	Indent   string            `json:"indent,omitempty"`
}

// match is one proposal of a completion.
type match struct {
	Text string `json:"text"`
	Kind string `json:"kind,omitempty"`
	Doc  string `json:"doc,omitempty"`
}

func (l *Lines) write(x line) {
	x.Request = l.request
	l.mu.Lock()
	defer l.mu.Unlock()
	// A reader that has gone away is noticed by the process's own end.
	_ = l.out.Encode(x)
}

// Stream writes text.
func (l *Lines) Stream(name, text string) { l.write(line{Type: "stream", Name: name, Text: text}) }

// Display writes an output.
func (l *Lines) Display(b jupyter.Bundle, id string) {
	l.write(line{Type: "display", ID: id, Data: b.Data})
}

// Update writes the new state of an output.
func (l *Lines) Update(b jupyter.Bundle, id string) {
	l.write(line{Type: "update", ID: id, Data: b.Data})
}

// Result writes a cell's value.
func (l *Lines) Result(b jupyter.Bundle) { l.write(line{Type: "result", Data: b.Data}) }

// Clear says that the outputs before it are no longer wanted.
func (l *Lines) Clear(wait bool) { l.write(line{Type: "clear", Wait: wait}) }

// Failure writes why a cell ended.
func (l *Lines) Failure(f *jupyter.Failure) {
	l.write(line{Type: "error", Name: f.Name, Text: f.Value, Traceback: f.Traceback})
}

// Page writes a text for the pager.
func (l *Lines) Page(text string) { l.write(line{Type: "page", Text: text}) }
