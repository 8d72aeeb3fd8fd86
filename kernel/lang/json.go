package lang

import (
	"strings"

	"github.com/easeml/easeml/schema"
)

// maxJSONDepth keeps hostile nesting from the stack.
const maxJSONDepth = 200

// jsonScanner reads one JSON value (RFC 8259) out of a cell, where comments and
// line ends are spaces too, and writes it compactly.
type jsonScanner struct {
	lexer
	last  token // the token before the one just read
	read  token
	out   strings.Builder
	depth int
}

// scanJSON reads the array or object at src[at]. On an error, which has its
// place in the cell, missing tells that the cell ended inside the value.
func scanJSON(src []rune, l lines, at int) (compact []byte, end int, err *Error) {
	s := jsonScanner{lexer: lexer{src: src, lines: l, pos: at, joins: true}}
	if err := s.value(s.token()); err != nil {
		return nil, s.pos, err
	}
	return []byte(s.out.String()), s.pos, nil
}

func (s *jsonScanner) token() token {
	s.joins = true
	t := s.scan()
	s.pos = t.end
	s.last, s.read = s.read, t
	return t
}

func (s *jsonScanner) value(t token) *Error {
	switch {
	case t.kind == tokenMark && t.text == "[":
		return s.list("]", func(t token) *Error { return s.value(t) })
	case t.kind == tokenMark && t.text == "{":
		keys := map[string]bool{}
		return s.list("}", func(t token) *Error {
			if err := s.key(t, keys); err != nil {
				return err
			}
			return s.value(s.token())
		})
	case t.kind == tokenString && s.src[t.start] == '"':
		s.out.WriteString(schema.Quote(t.text))
		return nil
	case t.kind == tokenAtom && (t.text == "true" || t.text == "false" || t.text == "null" || isNumber(t.text)):
		s.out.WriteString(t.text)
		return nil
	case t.kind == tokenAtom:
		hint := "Texts stand in double quotes: " + schema.Quote(t.text) + "."
		switch strings.ToLower(t.text) {
		case "nan", "none", "na", "inf", "-inf", "infinity":
			hint = "A missing value is null."
		case "true", "false":
			hint = "Did you mean " + strings.ToLower(t.text) + "?"
		}
		return s.fault(t, "`"+t.text+"` is no JSON value", hint)
	}
	return s.unexpected(t, "a value")
}

func (s *jsonScanner) key(t token, keys map[string]bool) *Error {
	switch {
	case t.kind == tokenAtom:
		return s.fault(t, "a key stands in double quotes", "Did you mean "+schema.Quote(t.text)+"?")
	case t.kind != tokenString || s.src[t.start] != '"':
		return s.unexpected(t, "a key in double quotes")
	case keys[t.text]:
		return s.fault(t, "the key "+schema.Quote(t.text)+" stands twice", "")
	}
	keys[t.text] = true
	s.out.WriteString(schema.Quote(t.text))
	colon := s.token()
	if colon.kind != tokenMark || colon.text != ":" {
		return s.unexpected(colon, "`:` after the key")
	}
	s.out.WriteByte(':')
	return nil
}

// list reads items up to the closing bracket; the opening one is taken.
func (s *jsonScanner) list(end string, item func(token) *Error) *Error {
	if s.depth++; s.depth > maxJSONDepth {
		return s.fault(token{start: s.pos - 1, end: s.pos}, "this JSON is nested more than 200 deep", "")
	}
	defer func() { s.depth-- }()
	s.out.WriteString(map[string]string{"]": "[", "}": "{"}[end])
	t := s.token()
	for first := true; first || !(t.kind == tokenMark && t.text == end); first = false {
		if first && t.kind == tokenMark && t.text == end {
			break
		}
		if !first {
			if t.kind != tokenMark || t.text != "," {
				if t.kind == tokenAtom || t.kind == tokenString || t.text == "{" || t.text == "[" {
					return s.fault(t, "a comma is missing before `"+string(s.src[t.start:t.end])+"`", "")
				}
				return s.unexpected(t, "`,` or `"+end+"`")
			}
			s.out.WriteByte(',')
			t = s.token()
		}
		if err := item(t); err != nil {
			return err
		}
		t = s.token()
	}
	s.out.WriteString(end)
	return nil
}

func (s *jsonScanner) fault(t token, message, hint string) *Error {
	return &Error{Span: s.lines.span(t.start, t.end), Message: message, Hint: hint}
}

func (s *jsonScanner) unexpected(t token, wanted string) *Error {
	switch {
	case t.err != nil:
		return t.err
	case t.kind == tokenEnd:
		err := s.fault(token{start: s.last.end, end: s.last.end}, "the JSON isn't finished: "+wanted+" is missing", "")
		err.missing, err.atEnd = true, true
		return err
	case t.kind == tokenString:
		return s.fault(t, "JSON has its strings in double quotes", "Did you mean "+schema.Quote(t.text)+"?")
	case t.kind == tokenOwned:
		return s.fault(t, "expected "+wanted+", not a task", "")
	}
	return s.fault(t, "expected "+wanted+" in the JSON, not `"+string(s.src[t.start:t.end])+"`", "")
}
