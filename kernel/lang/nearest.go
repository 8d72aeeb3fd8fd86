package lang

import "strings"

// Nearest gives the name that somebody most likely meant who typed word, or ""
// where none is near: the one with the fewest edits (a letter more, less, other,
// or two exchanged), at most one edit for every three letters.
func Nearest(word string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		d := distance([]rune(strings.ToLower(word)), []rune(strings.ToLower(name)))
		if limit := (max(len(word), len(name)) + 2) / 3; d > limit || d >= len(name) {
			continue
		}
		if best == "" || d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	if len(a) > 100 || len(b) > 100 {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
