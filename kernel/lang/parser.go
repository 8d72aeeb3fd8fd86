package lang

import (
	"slices"
	"strings"

	"github.com/easeml/easeml/schema"
)

// Parse reads a cell. All of it is parsed before anything of it runs; the error is
// an *Error and tells the first fault. Lines are those of src.
func Parse(src string) (Cell, error) {
	if HostCell(src) {
		return Cell{}, &Error{Span: Span{End: 2, Line: 1, Column: 1}, Message: "a cell that starts with %% belongs to the host, not to the language"}
	}
	p := newParser([]rune(src), false)
	p.cell()
	if len(p.faults) > 0 {
		return Cell{}, p.faults[0]
	}
	return Cell{p.out}, nil
}

// HostCell tells whether a cell belongs to the host, such as %%python.
func HostCell(src string) bool { return strings.HasPrefix(strings.TrimLeft(src, " \t\r\n"), "%%") }

// parser is a recursive descent with one token of look-ahead and no backtracking.
// A wrong token ends the statement by a panic with an *Error, caught in
// (*parser).statement: errors need the first fault only, but completion and
// inspection go on behind it, with the next line.
type parser struct {
	lexer
	tok      token  // the look-ahead
	last     token  // the token before it
	expected []Item // what could have stood at tok
	asked    int    // so many of them could be left out; errors name the rest

	start   token  // first token of the statement
	word    string // its word
	context Context
	onStart bool    // tok is at a statement's start
	goesOn  bool    // behind a fault, with the next statement
	tokens  []Token // what the taken tokens are, for inspection

	out      []Statement
	places   []place // of every statement, faulty ones too
	faults   []*Error
	programs map[string]schema.Program // declared in this cell, by the task's name
}

// place is where a statement stands and which of the tokens is its first.
type place struct{ start, end, token int }

func newParser(src []rune, goesOn bool) *parser {
	p := &parser{goesOn: goesOn, lexer: lexer{src: src, lines: newLines(src)}, programs: map[string]schema.Program{}}
	p.tok = p.next()
	return p
}

func (p *parser) cell() {
	for {
		for p.tok.kind == tokenLine {
			p.advance()
		}
		p.onStart, p.expected = true, nil
		p.context, p.word = Context{}, ""
		if p.tok.kind == tokenEnd {
			return
		}
		p.statement()
		if p.tok.kind == tokenEnd || len(p.faults) > 0 && !p.goesOn {
			return
		}
	}
}

// statement reads one statement and its end.
func (p *parser) statement() {
	p.start, p.onStart = p.tok, false
	here := place{start: p.tok.start, token: len(p.tokens)}
	defer func() {
		defer func() { here.end = p.tok.start; p.places = append(p.places, here) }()
		switch fault := recover().(type) {
		case nil:
		case *Error:
			p.report(fault)
			if p.tok.kind != tokenEnd {
				p.expected = nil
			}
			for p.tok.kind != tokenEnd && p.tok.kind != tokenLine {
				p.joins = false // a line that is wrong ends at its end
				p.advance()
			}
		default:
			panic(fault)
		}
	}()
	s := p.dispatch()
	if !p.may(KindEnd, "", p.tok.kind == tokenEnd || p.tok.kind == tokenLine) {
		p.unexpected()
	}
	p.out = append(p.out, s)
}

// place is the statement's place, once all of its tokens are taken.
func (p *parser) place() at { return at{p.lines.span(p.start.start, p.last.end)} }

func (p *parser) spanOf(t token) Span { return p.lines.span(t.start, t.end) }

// advance goes to the next token.
func (p *parser) advance() {
	p.last, p.tok, p.expected, p.asked = p.tok, p.next(), nil, 0
}

// must says that one of what is asked for from here on has to stand at tok.
func (p *parser) must() { p.asked = len(p.expected) }

// take takes the look-ahead and notes what it is.
func (p *parser) take(kind ItemKind) token {
	t := p.tok
	if kind != KindPunctuation {
		p.tokens = append(p.tokens, Token{Kind: kind, Text: t.text, Span: p.spanOf(t),
			Statement: p.word, Task: p.context.Task, Option: p.context.Option})
	}
	p.advance()
	return t
}

// goTo moves the lexer behind something that another parser read.
func (p *parser) goTo(end int) {
	p.last = token{kind: tokenMark, start: end - 1, end: end}
	p.pos, p.joins = end, false
	p.tok, p.expected, p.asked = p.next(), nil, 0
}

// may notes that something can stand here and passes on whether it does.
func (p *parser) may(kind ItemKind, text string, holds bool) bool {
	item := Item{kind, text}
	if !slices.Contains(p.expected, item) {
		p.expected = append(p.expected, item)
	}
	return holds
}

// is tells whether a word stands here, which it notes.
func (p *parser) is(word string) bool {
	return p.may(KindWord, word, p.tok.kind == tokenAtom && p.tok.text == word)
}

// accept takes a word if it stands here.
func (p *parser) accept(word string) bool {
	ok := p.is(word)
	if ok {
		p.take(KindWord)
	}
	return ok
}

// isMark tells whether a punctuation mark stands here, which it notes.
func (p *parser) isMark(mark string) bool {
	return p.may(KindPunctuation, mark, p.tok.kind == tokenMark && p.tok.text == mark)
}

func (p *parser) acceptMark(mark string) bool {
	ok := p.isMark(mark)
	if ok {
		p.take(KindPunctuation)
	}
	return ok
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.unexpected()
	}
}

func (p *parser) expectMark(mark string) {
	if !p.acceptMark(mark) {
		p.unexpected()
	}
}

// atom takes an atom of a kind for which fits holds.
func (p *parser) atom(kind ItemKind, fits func(string) bool) (token, bool) {
	if p.may(kind, "", p.tok.kind == tokenAtom && fits(p.tok.text)) {
		return p.take(kind), true
	}
	return token{}, false
}

// text takes a string of a kind.
func (p *parser) text(kind ItemKind) (token, bool) {
	if p.may(kind, "", p.tok.kind == tokenString) {
		return p.take(kind), true
	}
	return token{}, false
}

// list takes item { "," item }; again tells whether tok looks like a further item
// whose comma is missing.
func (p *parser) list(item func(), again func() bool) {
	for {
		before := p.tok.start
		item()
		end := p.last.end
		if p.acceptMark(",") {
			continue
		}
		expected := slices.Clone(p.expected)
		further := again != nil && again()
		p.expected = expected // an item can't really stand here
		if further {
			one, two := string(p.src[before:end]), string(p.src[p.tok.start:p.tok.end])
			if len(one) > 40 {
				one = "…" + string([]rune(one)[len([]rune(one))-20:])
			}
			p.fail(p.tok, "a comma is missing between "+one+" and "+two, "")
		}
		return
	}
}

// fault makes an error at a token.
func (p *parser) fault(t token, message, hint string) *Error {
	return &Error{Span: p.spanOf(t), Message: message, Hint: hint}
}

// fail ends the statement with an error.
func (p *parser) fail(t token, message, hint string) { panic(p.fault(t, message, hint)) }

// note records an error in a statement that can be read on.
func (p *parser) note(t token, message, hint string) { p.report(p.fault(t, message, hint)) }

func (p *parser) report(err *Error) {
	err.Statement = p.spanOf(p.start)
	switch {
	case err.missing && !err.open: // the sentence ends with an example
	case p.word == "schema" || p.word == "program":
		err.After = "Nothing was declared."
	case p.word == "feed":
		err.After = "Nothing was fed."
	case len(p.out) > 0:
		err.After = "Nothing of this cell was run."
	}
	p.faults = append(p.faults, err)
}

// unexpected ends the statement: nothing of what was expected stands here.
func (p *parser) unexpected() {
	if p.tok.err != nil {
		panic(p.tok.err)
	}
	says := sayExpected(p.expected[p.asked:])
	if p.tok.kind == tokenEnd || p.tok.kind == tokenLine {
		// Point behind the last token, not behind blanks and comments.
		err := p.fault(token{start: p.last.end, end: p.last.end}, p.subject()+" wants "+says+" here", "")
		if doc := statementDoc(p.word); doc != nil {
			err.Hint = "For example: `" + firstLine(doc.Example) + "`."
		}
		err.Expected, err.missing, err.atEnd = slices.Clone(p.expected), true, p.tok.kind == tokenEnd
		panic(err)
	}
	err := p.fault(p.tok, "expected "+says+", not `"+string(p.src[p.tok.start:p.tok.end])+"`", p.hint())
	err.Expected = slices.Clone(p.expected)
	panic(err)
}

func (p *parser) subject() string {
	if p.word == "program" || p.word == "value" || p.word == "" {
		return "the statement"
	}
	return "`" + p.word + "`"
}

// expects tells whether an item of a kind was expected at tok.
func (p *parser) expects(kind ItemKind) bool {
	return slices.ContainsFunc(p.expected, func(i Item) bool { return i.Kind == kind })
}

// hint guesses what was meant by a token that can't stand here.
func (p *parser) hint() string {
	text := p.tok.text
	switch {
	case p.tok.kind != tokenAtom:
		return ""
	case p.expects(KindFile) && strings.ContainsAny(text, "./"):
		return "A file's name stands in quotes: " + quote(text) + "."
	case p.expects(KindColumn):
		return "A column whose name has other characters stands in quotes: " + quote(text) + "."
	}
	if p.word == "program" && text == "with" {
		return "Only a named program takes options: schema NAME { … } with …"
	}
	if slices.Contains([]string{"output", "using", "into", "with"}, text) && (p.word == "feed" || p.word == "infer") {
		return "The form is: " + statementDoc(p.word).Forms[0]
	}
	var words []string
	for _, item := range p.expected {
		if item.Kind == KindWord {
			words = append(words, item.Text)
		}
	}
	if near := Nearest(text, words); near != "" {
		return "Did you mean `" + near + "`?"
	}
	if p.expects(KindTask) && IsReserved(text) {
		return "`" + text + "` is a word of the language, so no task has this name."
	}
	if _, name, _ := splitTask(text); p.expects(KindTask) && !IsName(name) && IsName(strings.ToLower(name)) {
		return "Names of tasks have small letters: " + strings.ToLower(text) + "."
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
