package lang

import (
	"strings"
	"unicode"
)

// maxWidth is how many columns of a source line an error shows.
const maxWidth = 110

// Show is the error for people: the line as it was typed, a caret under the
// place, and the sentence. src is the cell that was parsed.
func (e *Error) Show(src string) string {
	runes := []rune(src)
	l := newLines(runes)
	var b strings.Builder
	if first := e.Statement.Line; first > 0 && first < e.Span.Line {
		b.WriteString(cut(l.line(runes, first), 0) + "\n")
		if first+1 < e.Span.Line {
			b.WriteString("…\n")
		}
	}
	line := l.line(runes, e.Span.Line)
	column := max(0, min(e.Span.Column-1, len(line)))
	end := max(column, min(column+e.Span.End-e.Span.Start, len(line)))
	from := 0
	if width(line[:end]) > maxWidth {
		// Start the shown part a few words before the place.
		from = max(0, column-60)
	}
	under := "^"
	if n := width(line[column:end]); n > 1 {
		under = strings.Repeat("^", min(n, maxWidth))
	}
	blank := blanks(line[from:column])
	if from > 0 {
		blank = " " + blank
	}
	b.WriteString(cut(line, from) + "\n" + blank + under + "\n")
	sentence := e.sentence()
	if len(l.starts) > 1 {
		b.WriteString("Line " + itoa(e.Span.Line) + ", column " + itoa(e.Span.Column) + ": " + sentence)
	} else {
		b.WriteString(capital(sentence))
	}
	if e.After != "" {
		b.WriteString(" " + e.After)
	}
	return b.String()
}

func capital(s string) string {
	for i, r := range s {
		if i == 0 {
			return string(unicode.ToUpper(r)) + s[len(string(r)):]
		}
	}
	return s
}

// line gives line n of the source, from 1, without its end.
func (l lines) line(src []rune, n int) []rune {
	if n < 1 || n > len(l.starts) {
		return nil
	}
	end := len(src)
	if n < len(l.starts) {
		end = l.starts[n] - 1
		if end > l.starts[n-1] && src[end] == '\n' && src[end-1] == '\r' {
			end--
		}
	}
	return src[l.starts[n-1]:end]
}

// cut is the part of a line from code point from on that fits the width.
func cut(line []rune, from int) string {
	rest, dots := line[from:min(len(line), from+8*maxWidth)], ""
	if from > 0 {
		dots = "…"
	}
	for n := len(rest); n > 0 && width(rest) > maxWidth+30; n = len(rest) {
		rest = rest[:max(n-16, 0)]
	}
	if len(rest) < len(line)-from {
		return dots + string(rest) + "…"
	}
	return dots + string(rest)
}

// blanks is as wide as text: tabs stay tabs, so that they are as wide as above.
func blanks(text []rune) string {
	var b strings.Builder
	for start, i := 0, 0; i <= len(text); i++ {
		if i == len(text) || text[i] == '\t' {
			b.WriteString(strings.Repeat(" ", width(text[start:i])))
			if i < len(text) {
				b.WriteByte('\t')
			}
			start = i + 1
		}
	}
	return b.String()
}

// width is the number of columns of a text in a fixed-width font: none for
// combining marks and joiners, two for East Asian wide characters and emoji, one
// sign for several emoji that are joined.
func width(text []rune) int {
	n, joined, flags := 0, false, 0
	for _, r := range text {
		if r >= 0x1F1E6 && r <= 0x1F1FF { // two regional indicators make a flag
			if flags++; flags%2 == 1 {
				n += 2
			}
			continue
		}
		flags = 0
		switch {
		case r == 0x200D:
			joined = n > 0
			continue
		case joined, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1F3FB && r <= 0x1F3FF:
		case isWide(r):
			n += 2
		default:
			n++
		}
		joined = false
	}
	return n
}

// wide are the ranges that Unicode's East Asian Width calls wide or fullwidth,
// and those that fonts draw as emoji.
var wide = [][2]rune{
	{0x1100, 0x115F}, {0x231A, 0x231B}, {0x23E9, 0x23EC}, {0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653},
	{0x26A1, 0x26A1}, {0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26D4, 0x26D4}, {0x26EA, 0x26EA},
	{0x26F2, 0x26F5}, {0x26FA, 0x26FD}, {0x2705, 0x2705}, {0x270A, 0x270B}, {0x2728, 0x2728}, {0x274C, 0x274E},
	{0x2753, 0x2757}, {0x2795, 0x2797}, {0x27B0, 0x27BF}, {0x2B1B, 0x2B1C}, {0x2B50, 0x2B55}, {0x2E80, 0x303E},
	{0x3041, 0x4DBF}, {0x4E00, 0xA4CF}, {0xA960, 0xA97F}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},
	{0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
	{0x1F18E, 0x1F19A}, {0x1F200, 0x1F265}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1F9FF},
	{0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
}

func isWide(r rune) bool {
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return true
		}
	}
	return r == 0x3000
}
