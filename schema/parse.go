package schema

import (
	"slices"
	"strings"
)

// Parse reads a text that is one program and nothing else. The error is an *Error.
func Parse(text string) (Program, error) {
	runes := []rune(text)
	source, err := ParseAt(runes, 0)
	if err == nil {
		t := scan(runes, source.End)
		if t.kind == tokenEnd {
			return source.Program, nil
		}
		p := parser{text: runes}
		err = p.errorAt(t, "the program has ended, but the text goes on", "")
	}
	if e, ok := err.(*Error); ok {
		e.Line, e.Column = Position(runes, e.Offset)
	}
	return Program{}, err
}

// Source is a program together with its place in a text.
type Source struct {
	Program    Program
	Start, End int // code points of the text
	Marks      []Mark
}

// Mark says what a token of a program is.
type Mark struct {
	Start, End int
	Kind       MarkKind
	Side       Side // "" before the first side
	Field      int  // index of the field, -1 outside of fields
}

// MarkKind is what a token of a program can be, apart from punctuation.
type MarkKind string

// The kinds of marks.
const (
	MarkWord    MarkKind = "word" // input, output, Tensor, Class
	MarkField   MarkKind = "field"
	MarkSize    MarkKind = "size"
	MarkLabel   MarkKind = "label"
	MarkPointer MarkKind = "pointer"
)

// ParseAt reads the program that starts at text[at], leading blanks skipped, and
// leaves what follows it alone. The error is an *Error whose offsets are those of
// text; its Line and Column are left to the caller, who may know them at less
// cost than Position. Marks are given as far as the program was read.
func ParseAt(text []rune, at int) (source Source, err error) {
	p := &parser{text: text}
	defer func() {
		source.Marks = p.marks
		switch fail := recover().(type) {
		case nil:
		case *Error:
			err = fail
		default:
			panic(fail)
		}
	}()
	p.next(at)
	source.Start = p.tok.start
	source.Program = p.program()
	source.End = p.last.end
	return source, nil
}

// parser is a recursive descent with one token of look-ahead. It leaves by
// panicking with an *Error, which ParseAt turns into a result.
type parser struct {
	text     []rune
	tok      token    // the look-ahead
	last     token    // the token taken before it
	start    int      // where the program starts
	expected []string // what was asked for at tok, without success
	marks    []Mark
	side     Side
	field    int
}

func (p *parser) next(at int) {
	p.last, p.tok, p.expected = p.tok, scan(p.text, at), p.expected[:0]
}

func (p *parser) take() token {
	t := p.tok
	p.next(t.end)
	return t
}

func (p *parser) mark(kind MarkKind, t token) {
	p.marks = append(p.marks, Mark{t.start, t.end, kind, p.side, p.field})
}

// is notes that a literal token may stand here and tells whether it does.
func (p *parser) is(text string) bool {
	if !slices.Contains(p.expected, text) {
		p.expected = append(p.expected, text)
	}
	return p.tok.text == text && (p.tok.kind == tokenMark || p.tok.kind == tokenAtom)
}

func (p *parser) accept(text string) bool {
	ok := p.is(text)
	if ok {
		if p.tok.kind == tokenAtom {
			p.mark(MarkWord, p.tok)
		}
		p.take()
	}
	return ok
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.unexpected()
	}
}

// may notes a token that isn't literal: FIELD, INT or STRING.
func (p *parser) may(what string, holds bool) bool {
	if !slices.Contains(p.expected, what) {
		p.expected = append(p.expected, what)
	}
	return holds
}

func (p *parser) program() Program {
	p.start, p.field = p.tok.start, -1
	var out Program
	p.expect("{")
	p.side = Input
	p.expect("input")
	p.colon()
	out.Input = p.typ(Input)
	p.expect(",")
	p.side = Output
	p.expect("output")
	p.colon()
	at := len(p.marks)
	first := p.tok
	out.Output = p.typ(Output)
	if i, bad := checkSides(out); bad != nil {
		p.fail(p.fieldToken(at, i, first), bad)
	}
	p.accept(",")
	p.expect("}")
	if p.last.end-p.start > MaxText {
		p.fail(p.last, faultf("", "a program has at most %d characters", MaxText))
	}
	return out
}

func (p *parser) colon() {
	if p.is("::") && p.last.kind == tokenAtom {
		panic(p.errorAt(p.tok, "`"+p.last.text+"` is followed by one `:`", "`::` joins a field and its type."))
	}
	p.expected = p.expected[:0]
	p.expect(":")
}

func (p *parser) typ(side Side) Type {
	var t Type
	at, first := len(p.marks), p.tok
	p.expect("{")
	p.expect("[")
	for {
		start := p.tok
		p.field = len(t.Fields)
		f := p.oneField()
		if bad := checkField(f); bad != nil {
			p.failSpan(start.start, p.last.end, bad)
		}
		t.Fields = append(t.Fields, f)
		if len(t.Fields) > MaxFields {
			break // checkType says so
		}
		if p.is("]") {
			break
		}
		if !p.accept(",") {
			if p.tok.kind == tokenAtom && (IsField(p.tok.text) || p.tok.text == "Tensor" || p.tok.text == "Class") {
				panic(p.errorAt(p.tok, "a comma is missing between "+FormatField(f)+" and "+p.tok.text, ""))
			}
			p.unexpected()
		}
		if p.is("]") {
			break
		}
	}
	p.field = -1
	if i, bad := checkType(side, t); bad != nil {
		p.fail(p.fieldToken(at, i, first), bad)
	}
	p.expect("]")
	if p.is("}") {
		panic(p.errorAt(p.tok, "the list of pointers is missing", "Write `, []` after the fields: {["+formatFields(t)+"], []}."))
	}
	p.expect(",")
	p.expect("[")
	for !p.is("]") {
		if len(t.Pointers) > 0 {
			if p.tok.kind == tokenAtom {
				panic(p.errorAt(p.tok, "a comma is missing between "+p.last.text+" and "+p.tok.text, ""))
			}
			p.expect(",")
		}
		name := p.tok
		t.Pointers = append(t.Pointers, p.name(MarkPointer))
		if i, bad := checkType(side, t); bad != nil && i < 0 {
			p.fail(name, bad)
		}
	}
	p.expect("]")
	p.expect("}")
	return t
}

// fieldToken is the token to point at for field i of the type whose marks start at marks[at].
func (p *parser) fieldToken(at, i int, otherwise token) token {
	for _, m := range p.marks[at:] {
		if m.Field == i {
			return token{start: m.Start, end: m.End}
		}
	}
	return otherwise
}

func (p *parser) name(kind MarkKind) string {
	if !p.may("FIELD", p.tok.kind == tokenAtom) {
		p.unexpected()
	}
	if bad := checkName(p.tok.text, false); bad != nil {
		p.fail(p.tok, bad)
	}
	p.mark(kind, p.tok)
	return p.take().text
}

func (p *parser) fail(t token, bad *fault) { p.failSpan(t.start, t.end, bad) }

func (p *parser) failSpan(start, end int, bad *fault) {
	panic(p.errorAt(token{start: start, end: end}, bad.message, bad.hint))
}

func (p *parser) errorAt(t token, message, hint string) *Error {
	return &Error{Offset: t.start, End: t.end, Message: message, Hint: hint, Expected: slices.Clone(p.expected)}
}

// unexpected reports that none of the expected tokens stands here.
func (p *parser) unexpected() {
	if p.tok.err != nil {
		panic(p.tok.err)
	}
	var err *Error
	if p.tok.kind == tokenEnd {
		// Point behind the last token, not behind blank lines and comments.
		err = p.errorAt(token{start: p.last.end, end: p.last.end}, "the program isn't finished: "+sayExpected(p.expected)+" is missing", "")
		err.AtEnd = true
	} else {
		found := string(p.text[p.tok.start:p.tok.end])
		err = p.errorAt(p.tok, "expected "+sayExpected(p.expected)+", not `"+found+"`", "")
		if p.tok.text == "“" || p.tok.text == "”" || p.tok.text == "„" {
			err.Hint = `Strings have straight quotes: "…".`
		}
	}
	panic(err)
}

// sayExpected puts the expected tokens into words.
func sayExpected(expected []string) string {
	var words []string
	for _, e := range expected {
		switch e {
		case "FIELD":
			words = append(words, "a name")
		case "INT":
			words = append(words, "a whole number")
		case "STRING":
			words = append(words, "a label in quotes")
		default:
			words = append(words, "`"+e+"`")
		}
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
