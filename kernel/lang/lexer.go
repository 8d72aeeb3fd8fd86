package lang

import "github.com/easeml/easeml/schema"

type tokenKind int

const (
	tokenEnd    tokenKind = iota // the source's end
	tokenLine                    // a line end or `;`: ends a statement
	tokenAtom                    // a run of [A-Za-z0-9_./@+-]
	tokenString                  // "…" or '…'; text is its value
	tokenOwned                   // "…"/task: text is the task, user the string's value
	tokenMark                    // one of { } [ ] , : = == != >= <= > <
	tokenFaulty                  // anything else; err says what
)

type token struct {
	kind       tokenKind
	start, end int
	text       string
	user       string
	err        *Error
}

// lexer reads tokens on demand, since programs and inline JSON are read by
// parsers of their own, which tell it where to go on.
type lexer struct {
	src   []rune
	lines lines
	pos   int
	joins bool // the last token was `,` or `=`: line ends after it are spaces
}

func (l *lexer) next() token {
	t := l.scan()
	l.pos, l.joins = t.end, t.kind == tokenMark && (t.text == "," || t.text == "=")
	return t
}

func (l *lexer) scan() token {
	i := l.pos
	for i < len(l.src) {
		switch r := l.src[i]; {
		case r == '#':
			for i < len(l.src) && l.src[i] != '\n' && l.src[i] != '\r' {
				i++
			}
			continue
		case r == '\n' || r == '\r':
			if !l.joins {
				end := i + 1
				if r == '\r' && end < len(l.src) && l.src[end] == '\n' {
					end++
				}
				return token{kind: tokenLine, start: i, end: end, text: "\n"}
			}
		case !schema.IsSpace(r):
			return l.visible(i)
		}
		i++
	}
	return token{kind: tokenEnd, start: len(l.src), end: len(l.src)}
}

// visible reads the token that starts at i, where there is no space.
func (l *lexer) visible(i int) token {
	switch r := l.src[i]; {
	case schema.IsAtom(r):
		end := l.atom(i)
		return token{kind: tokenAtom, start: i, end: end, text: string(l.src[i:end])}
	case r == '"' || r == '\'':
		return l.quoted(i)
	case r == ';':
		return token{kind: tokenLine, start: i, end: i + 1, text: ";"}
	case (r == '=' || r == '!' || r == '<' || r == '>') && i+1 < len(l.src) && l.src[i+1] == '=':
		return token{kind: tokenMark, start: i, end: i + 2, text: string(l.src[i : i+2])}
	case r == '{' || r == '}' || r == '[' || r == ']' || r == ',' || r == ':' || r == '=' || r == '<' || r == '>':
		return token{kind: tokenMark, start: i, end: i + 1, text: string(r)}
	default:
		hint := ""
		switch r {
		case '“', '”', '„', '‘', '’', '«', '»':
			hint = `Strings have straight quotes: "…".`
		case '%':
			hint = "A share is written as a number: 0.97."
		case '(', ')':
			hint = "Statements need no parentheses."
		case '≥', '≤', '≠':
			hint = "Comparisons are written >=, <= and !=."
		case '\\':
			hint = `A path stands in quotes: 'C:\data\new.csv'.`
		}
		return l.faulty(i, i+1, "`"+string(r)+"` has no meaning here", hint)
	}
}

func (l *lexer) atom(i int) int {
	for i < len(l.src) && schema.IsAtom(l.src[i]) {
		i++
	}
	return i
}

// quoted reads a string, or a task whose user stands in quotes: "a b"/digits.
func (l *lexer) quoted(i int) token {
	value, end, err := schema.ScanString(l.src, i)
	if err != nil {
		return l.faulty(err.Offset, max(err.End, end), err.Message, err.Hint)
	}
	if end < len(l.src) && l.src[end] == '/' {
		to := l.atom(end)
		return token{kind: tokenOwned, start: i, end: to, text: string(l.src[end+1 : to]), user: value}
	}
	return token{kind: tokenString, start: i, end: end, text: value}
}

func (l *lexer) faulty(start, end int, message, hint string) token {
	return token{kind: tokenFaulty, start: start, end: end, text: string(l.src[start:end]),
		err: &Error{Span: l.lines.span(start, end), Message: message, Hint: hint}}
}

// depth counts the brackets that are open at the end of src; strings and comments don't count.
func depth(src []rune) int {
	n := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '{', '[':
			n++
		case '}', ']':
			n = max(0, n-1)
		case '#':
			for i+1 < len(src) && src[i+1] != '\n' && src[i+1] != '\r' {
				i++
			}
		case '"', '\'':
			if _, end, err := schema.ScanString(src, i); err == nil {
				i = end - 1
			}
		}
	}
	return n
}
