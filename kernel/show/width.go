package show

import (
	"strings"
	"unicode"
)

// wide are the scripts whose characters take two columns in a fixed font.
var wide = []*unicode.RangeTable{unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana}

// columns is how many columns a text takes in a fixed font.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || r == 0x200d || r == 0xfe0f:
		return 0
	case unicode.In(r, wide...), r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// cut shortens a text to a number of columns, at least one, and says so with "…".
func cut(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		if used+runeColumns(r) > width-1 {
			break
		}
		used += runeColumns(r)
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// wrap breaks a line at spaces so that no piece takes more than width columns,
// unless one word alone does; pieces after the first begin with hang. Runs of
// spaces inside a piece are kept.
func wrap(line string, width int, hang string) []string {
	var out []string
	for columns(line) > width {
		at, used := -1, 0 // byte offset of the last space that fits
		for i, r := range line {
			if used > width && at > 0 {
				break
			}
			if r == ' ' && used <= width && strings.TrimSpace(line[:i]) != "" {
				at = i
			} else if r == ' ' && used > width && at < 0 && strings.TrimSpace(line[:i]) != "" {
				at = i // one word is longer than the line
				break
			}
			used += runeColumns(r)
		}
		if at < 0 {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = hang + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}
