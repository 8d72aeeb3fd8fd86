package schema

type tokenKind int

const (
	tokenEnd    tokenKind = iota // the text's end
	tokenAtom                    // a run of [A-Za-z0-9_./@+-]
	tokenString                  // "…" or '…'
	tokenMark                    // one of { } [ ] , : ::
	tokenFaulty                  // anything else; err says what
)

// token is one token; text is its text, of a string its value.
type token struct {
	kind       tokenKind
	start, end int
	text       string
	err        *Error
}

// scan reads the token at or after text[at]; white space, line ends and comments are skipped.
func scan(text []rune, at int) token {
	for at < len(text) {
		if text[at] == '#' {
			for at < len(text) && text[at] != '\n' && text[at] != '\r' {
				at++
			}
		} else if !IsSpace(text[at]) && text[at] != '\n' && text[at] != '\r' {
			break
		} else {
			at++
		}
	}
	if at >= len(text) {
		return token{kind: tokenEnd, start: len(text), end: len(text)}
	}
	switch r := text[at]; {
	case IsAtom(r):
		end := at
		for end < len(text) && IsAtom(text[end]) {
			end++
		}
		return token{kind: tokenAtom, start: at, end: end, text: string(text[at:end])}
	case r == '"' || r == '\'':
		value, end, err := ScanString(text, at)
		if err != nil {
			return token{kind: tokenFaulty, start: at, end: end, text: string(text[at:end]), err: err}
		}
		return token{kind: tokenString, start: at, end: end, text: value}
	case r == ':' && at+1 < len(text) && text[at+1] == ':':
		return token{kind: tokenMark, start: at, end: at + 2, text: "::"}
	case r == '{' || r == '}' || r == '[' || r == ']' || r == ',' || r == ':':
		return token{kind: tokenMark, start: at, end: at + 1, text: string(r)}
	default:
		return token{kind: tokenFaulty, start: at, end: at + 1, text: string(r)}
	}
}

// IsAtom tells whether a character belongs to atoms: [A-Za-z0-9_./@+-].
func IsAtom(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	switch r {
	case '_', '.', '/', '@', '+', '-':
		return true
	}
	return false
}

// IsSpace tells whether a character only separates: blanks of any kind that text
// copied from a page may bring along, but no line end.
func IsSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\v', '\f', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200B
}
