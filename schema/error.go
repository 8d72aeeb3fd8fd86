package schema

import "strconv"

// Error says where a program is wrong and what to do.
type Error struct {
	Offset, End  int // the faulty place, in code points of the text; End is one past it
	Line, Column int // Offset as an editor shows it, from 1
	Message      string
	Hint         string // a whole sentence, or ""

	// Expected is what could have stood there: literal tokens, and FIELD, INT or
	// STRING for a field name, a whole number or a label.
	Expected []string
	// AtEnd tells that the text ended inside the program: nothing in it is wrong so far.
	AtEnd bool
}

// Error is the place and the sentence.
func (e *Error) Error() string {
	s := "line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ": " + e.Message + "."
	if e.Hint != "" {
		s += " " + e.Hint
	}
	return s
}

// Position gives line and column, from 1, of a code-point offset. CRLF is one
// line end, a lone CR is one too.
func Position(text []rune, offset int) (line, column int) {
	line, column = 1, 1
	for i := 0; i < offset && i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			line, column = line+1, 1
		} else {
			column++
		}
	}
	return line, column
}
