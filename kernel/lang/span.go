package lang

import "sort"

// Span is a piece of the source: Start and End are code-point offsets (End is
// one past the last), Line and Column give Start as an editor shows it, from 1.
type Span struct {
	Start, End   int
	Line, Column int
}

// lines finds line and column of an offset in a source without reading it again.
type lines struct {
	starts []int // offset of the first code point of each line
}

func newLines(src []rune) lines {
	starts := []int{0}
	for i, r := range src {
		if r == '\n' || r == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return lines{starts}
}

func (l lines) span(start, end int) Span {
	n := sort.SearchInts(l.starts, start+1)
	return Span{Start: start, End: end, Line: n, Column: start - l.starts[n-1] + 1}
}
