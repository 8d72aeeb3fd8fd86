package lang

import "strings"

// Error says where a cell is wrong and what to do. The caller may make its own
// (no such task, no such file): Show works alike.
type Error struct {
	Span     Span
	Message  string // one sentence without its final stop, lower case at the start
	Hint     string // a whole sentence, or ""
	Expected []Item // what could have stood there
	// Statement is the place of the statement's first token, so that Show can
	// print its first line above a later one; the zero value: not known.
	Statement Span
	// After is said last: "Nothing was declared."
	After string

	missing bool // a statement ended where more was wanted: nothing typed is wrong
	atEnd   bool // and the source ends there
	open    bool // inside brackets
}

// Error is the sentence with the place in front.
func (e *Error) Error() string {
	return "line " + itoa(e.Span.Line) + ", column " + itoa(e.Span.Column) + ": " + e.sentence()
}

func (e *Error) sentence() string {
	s := e.Message
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	if e.Hint != "" {
		s += " " + e.Hint
	}
	return s
}
