package schema

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// Quote writes a text as a string of the language, on one line, with JSON's escapes.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ScanString reads the string that starts at text[at] ('"' or '\”) and gives its
// value and the offset after it. "…" has JSON's escapes, '…' is raw; neither goes
// over a line end. Line and Column of the error are left to the caller.
func ScanString(text []rune, at int) (value string, end int, err *Error) {
	fault := func(from, to int, message, hint string) *Error {
		return &Error{Offset: from, End: to, Message: message, Hint: hint}
	}
	mark := text[at]
	var b strings.Builder
	for i := at + 1; i < len(text); i++ {
		switch r := text[i]; {
		case r == mark:
			return b.String(), i + 1, nil
		case r == '\n' || r == '\r':
			return "", i, fault(at, i, "the string that starts here has no end", "Strings end on their line, with "+string(mark)+".")
		case r != '\\' || mark == '\'':
			b.WriteRune(r)
		default:
			value, n := unescape(text[i:])
			if n == 0 {
				to := min(i+2, len(text))
				return "", i, fault(i, to, "`"+string(text[i:to])+"` is no escape in a \"…\" string",
					`Write it in '…', where nothing is special, or write \\ for a backslash.`)
			}
			b.WriteRune(value)
			i += n - 1
		}
	}
	return "", len(text), fault(at, len(text), "the string that starts here has no end", "Close it with "+string(mark)+".")
}

// unescape reads one escape at the start of text: its value and length, 0 where it is none.
func unescape(text []rune) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	if i := strings.IndexRune(`"\/bfnrt`, text[1]); i >= 0 && text[1] < 0x80 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(text[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
			return pair, 12
		}
	}
	return 0, 0 // half a character
}

func hex4(text []rune) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
