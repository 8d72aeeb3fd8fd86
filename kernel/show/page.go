package show

import (
	"fmt"
	"strings"
)

// page is an output before it is printed: what stands where, once for both forms.
type page struct {
	blocks []block
	next   string // the statement to type next, or ""
	lead   string // what stands before it; "" is "Next"
}

// block is one of: a line, a table, text that keeps its shape, or pictures, which
// only HTML has.
type block struct {
	line   string
	indent bool   // a line of evidence under another one
	label  string // a word in front of the line that says what it is about
	table  *table
	shape  string // characters that keep their places, e.g. a caret under a word
	grid   []thumbnail
	cross  *cross // a picture that only HTML shows
}

// labelWidth is how many columns a label takes with the blanks after it.
const labelWidth = 6

// say adds a line.
func (p *page) say(format string, args ...any) {
	p.blocks = append(p.blocks, block{line: clean(fmt.Sprintf(format, args...))})
}

// add adds an indented line.
func (p *page) add(format string, args ...any) {
	p.blocks = append(p.blocks, block{line: clean(fmt.Sprintf(format, args...)), indent: true})
}

// tell adds a line with a word in front of it; such lines under each other are aligned.
func (p *page) tell(label, format string, args ...any) {
	p.blocks = append(p.blocks, block{label: label, line: clean(fmt.Sprintf(format, args...))})
}

// lay adds a table, unless it is empty.
func (p *page) lay(t *table) {
	if len(t.rows) > 0 {
		p.blocks = append(p.blocks, block{table: t})
	}
}

// keep adds text that keeps its shape.
func (p *page) keep(text string) {
	p.blocks = append(p.blocks, block{shape: text})
}

// then sets the advice.
func (p *page) then(format string, args ...any) {
	p.next = clean(fmt.Sprintf(format, args...))
}

// output prints the page.
func (p *page) output() Output {
	return Output{Text: p.text(), HTML: p.html()}
}

// text is the page in characters, at most Width columns, without a line end
// after the last line.
func (p *page) text() string {
	var lines []string
	for _, b := range p.blocks {
		switch {
		case b.cross != nil: // lines have said it in words
		case b.table != nil:
			lines = append(lines, b.table.lines()...)
		case b.shape != "":
			lines = append(lines, strings.Split(b.shape, "\n")...)
		case b.label != "":
			line := fmt.Sprintf("%-*s%s", labelWidth, b.label, b.line)
			lines = append(lines, wrap(line, Width, strings.Repeat(" ", labelWidth))...)
		case b.indent:
			for _, line := range wrap(b.line, Width-2, "  ") {
				lines = append(lines, "  "+line)
			}
		default:
			lines = append(lines, wrap(b.line, Width, "  ")...)
		}
	}
	if p.next != "" {
		lines = advise(lines, p.leadWords()+": "+p.next)
	}
	return strings.Join(lines, "\n")
}

// leadWords stands before the advice.
func (p *page) leadWords() string {
	if p.lead == "" {
		return "Next"
	}
	return p.lead
}

// advise puts the advice at the right of the last line where it fits there, else
// on a line of its own.
func advise(lines []string, advice string) []string {
	length := columns(advice)
	if n := len(lines); n > 0 {
		if used := columns(lines[n-1]); used+4+length <= nextEnd {
			lines[n-1] += strings.Repeat(" ", nextEnd-used-length) + advice
			return lines
		}
	}
	return append(lines, strings.Repeat(" ", max(0, nextEnd-length))+advice)
}

// clean takes out what could not stand in a line: control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return -1
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1 // they would turn the rest of the line around
		}
		return r
	}, s)
}
