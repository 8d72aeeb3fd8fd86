package jupyter

import (
	"context"
	"encoding/json"
)

// Handler is the language behind the messages. Execute, Complete, Inspect and IsComplete are called one at a time, in the order in which
// the requests came in, so a Handler needs no lock against itself.
type Handler interface {
	// Execute runs one cell. ctx ends with the cause [ErrInterrupted] when the person interrupts, and when the kernel shuts down. An error
	// that is (or wraps) a *[Failure] is shown as it is; any other is shown by its text under the name "Error".
	Execute(ctx context.Context, r ExecuteRequest) (ExecuteReply, error)
	// Complete proposes what may stand at cursor, a position in code counted in Unicode code points. ctx ends after a second, when
	// JupyterLab has stopped waiting.
	Complete(ctx context.Context, code string, cursor int) Completion
	// Inspect describes what stands at cursor (code points). detail is 0 for a short answer (Shift+Tab), 1 for all there is. The bool says
	// whether there was anything to describe.
	Inspect(ctx context.Context, code string, cursor, detail int) (Bundle, bool)
	// IsComplete tells a console whether Enter runs the code: status is "complete", "incomplete", "invalid" or "unknown"; indent is put
	// before the next line of an incomplete one.
	IsComplete(code string) (status, indent string)
}

// Bundle is one thing to show in several forms: MIME type → a string, or a value that becomes JSON. Binary forms such as image/png are
// base64 strings. It is encoded before the call it is passed to returns, so the caller may change it afterwards.
type Bundle struct {
	Data     map[string]any
	Metadata map[string]any
}

// Text is the Bundle of a plain text.
func Text(s string) Bundle { return Bundle{Data: map[string]any{"text/plain": s}} }

// Sink is where the outputs of one cell go. Its methods may be called from several goroutines. Once Execute has returned only Update still
// does something; the other methods are ignored. The Sink of a silent request swallows everything.
type Sink interface {
	// Stream writes text; name is "stdout" or "stderr". What is written in quick succession travels as one message. Of all methods only this
	// one waits, when the readers are many megabytes behind.
	Stream(name, text string)
	// Display shows b. A displayID that isn't empty is what Update refers to later.
	Display(b Bundle, displayID string)
	// Update replaces what all displays with that id show, also after the cell has ended. A reader too slow for every update gets the
	// newest one.
	Update(b Bundle, displayID string)
	// Result is the value of the cell, shown under its number.
	Result(b Bundle)
	// Clear removes the cell's outputs; with wait, only when the next output arrives.
	Clear(wait bool)
}

// Prompter asks the person at the frontend for a line of text.
type Prompter interface {
	// Input shows prompt and waits for the answer, without showing what is typed if password. It ends with ctx. The errors are
	// [ErrNoStdin] where the frontend takes no questions and io.EOF where the person ended the input.
	Input(ctx context.Context, prompt string, password bool) (string, error)
}

// ExecuteRequest is a cell to run.
type ExecuteRequest struct {
	Code         string
	Silent       bool // nothing is shown; Out swallows everything
	StoreHistory bool // the cell is counted and remembered; never together with Silent
	AllowStdin   bool // Prompt can ask
	Count        int  // the cell's number, In [Count]; that of the last counted cell if this one is not counted
	// UserExpressions are small expressions to evaluate after the cell: key → code.
	UserExpressions map[string]string
	// Metadata is the metadata of the message as it came, for instance {"cellId": "…"}.
	Metadata json.RawMessage
	Out      Sink
	Prompt   Prompter
}

// ExecuteReply is what a cell that ran without an error says besides its outputs.
type ExecuteReply struct {
	Payload []Payload
	// UserExpressions answers those of the request by key. A key left out is answered with an error of its own, never failing the cell.
	UserExpressions map[string]Expression
}

// Expression is the value of a user expression, or why there is none.
type Expression struct {
	Value   Bundle
	Failure *Failure
}

// Payload is a wish to the frontend: [Page] or [SetNextInput].
type Payload struct{ body any }

// MarshalJSON writes the payload as an execute_reply has it.
func (p Payload) MarshalJSON() ([]byte, error) { return json.Marshal(p.body) }

// Page asks the frontend to show b in its pager, beside the notebook.
func Page(b Bundle) Payload {
	return Payload{pagePayload{Source: "page", Data: showable(b).Data}}
}

// SetNextInput puts text into a new cell below, or in place of the cell that ran if replace.
func SetNextInput(text string, replace bool) Payload {
	return Payload{nextInputPayload{Source: "set_next_input", Text: text, Replace: replace}}
}

// Failure is an error as a notebook shows it: one error message, and the status of the reply.
type Failure struct {
	Name  string // short, one word: "SyntaxError"
	Value string // one sentence
	// Traceback is what is shown, a line each; ANSI colours are allowed. If it is empty, "Name: Value" is shown.
	Traceback []string
}

// Error is "Name: Value".
func (f *Failure) Error() string {
	switch {
	case f.Name == "":
		return f.Value
	case f.Value == "":
		return f.Name
	}
	return f.Name + ": " + f.Value
}

// Completion is what may replace the code from Start to End, both in code points.
type Completion struct {
	Matches    []string
	Start, End int
	// Types says what the matches are, for frontends that show it; it may be empty or cover only some matches.
	Types []CompletionType
}

// CompletionType describes one match: its kind ("keyword", "task", "file" …) and, if it has one, its signature.
type CompletionType struct {
	Text, Type, Signature string
}
