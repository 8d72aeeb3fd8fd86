package lang

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/easeml/easeml/schema"
)

// What an atom is is said by the place where it stands, by full match with one of
// the patterns of this file.

// reserved are the words that may stand where a task may be left out; with the
// statement words they can't be the names of tasks.
var reserved = []string{"from", "output", "using", "into", "with", "as", "on", "off", "all",
	"trial", "show", "suspects", "until", "for", "python", "go"}

// later are words that are kept for statements to come.
var later = []string{"report", "notify", "pin", "join", "reserve"}

// IsReserved tells whether a word can't be the name of a task.
func IsReserved(word string) bool {
	return slices.Contains(reserved, word) || slices.Contains(later, word) || statementDoc(word) != nil
}

// IsName tells whether a text is a NAME: [a-z][a-z0-9_]*.
func IsName(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && schema.IsField(s)
}

// isVariable is VAR: [A-Za-z_][A-Za-z0-9_]*.
func isVariable(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// isAtom tells whether a text can stand without quotes.
func isAtom(s string) bool {
	for _, r := range s {
		if !schema.IsAtom(r) {
			return false
		}
	}
	return s != ""
}

// isUser tells whether a user's name can stand without quotes before /task.
func isUser(s string) bool { return isAtom(s) && !strings.Contains(s, "/") }

// splitTask reads [USER/]NAME.
func splitTask(atom string) (user, name string, ok bool) {
	if i := strings.LastIndexByte(atom, '/'); i >= 0 {
		user, name = atom[:i], atom[i+1:]
		return user, name, isUser(user) && IsName(name)
	}
	return "", atom, IsName(atom)
}

// splitAttribute reads [TASK.]NAME; the task is "" where it was left out.
func splitAttribute(atom string) (task, name string, ok bool) {
	i := strings.LastIndexByte(atom, '.')
	if i < 0 {
		return "", atom, IsName(atom)
	}
	_, _, ok = splitTask(atom[:i])
	return atom[:i], atom[i+1:], ok && IsName(atom[i+1:])
}

// readWhole reads an INT.
func readWhole(s string) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return int(n), err == nil && n <= math.MaxInt32
}

var numberPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// isNumber is NUMBER, JSON's, within the range of float64.
func isNumber(s string) bool {
	if !numberPattern.MatchString(s) {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// readRange reads INT or RANGE; ok is false where it is neither, message says
// what is wrong with one that is.
func readRange(s string) (r Range, message string, ok bool) {
	from, to, both := strings.Cut(s, "..")
	a, okA := readWhole(from)
	b, okB := a, okA
	if both {
		b, okB = readWhole(to)
	}
	if !okA || !okB {
		return r, "", false
	}
	if b < a {
		message = "the range `" + s + "` runs backwards"
	}
	return Range{From: a, To: b}, message, true
}

var durations = []struct {
	unit   byte
	length time.Duration
}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// maxDuration keeps durations far from overflow: ten years.
const maxDuration = 10 * 365 * 24 * time.Hour

// readDuration reads a DURATION such as 10m or 1h30m: whole numbers of d, h, m, s
// in this order.
func readDuration(s string) (time.Duration, bool) {
	var total time.Duration
	next := 0
	for s != "" {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		count, ok := readWhole(s[:n])
		if !ok || n == len(s) {
			return 0, false
		}
		for next < len(durations) && durations[next].unit != s[n] {
			next++
		}
		if next == len(durations) || count > int(maxDuration/durations[next].length) {
			return 0, false
		}
		total += time.Duration(count) * durations[next].length
		s, next = s[n+1:], next+1
	}
	return total, total > 0 && total <= maxDuration
}

func formatDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range durations {
		if n := d / u.length; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteByte(u.unit)
			d -= n * u.length
		}
	}
	return b.String()
}

var sizes = []struct {
	unit   string
	length int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}}

// readSize reads a SIZE such as 5GB, in bytes; the units are powers of 1,000.
func readSize(s string) (int64, bool) {
	for _, u := range sizes {
		if text, found := strings.CutSuffix(s, u.unit); found {
			n, ok := readWhole(text)
			if !ok || int64(n) > math.MaxInt64/u.length {
				return 0, false
			}
			return int64(n) * u.length, n > 0
		}
	}
	return 0, false
}

// formatSize writes whole kilobytes as a SIZE.
func formatSize(bytes int64) string {
	for _, u := range sizes {
		if bytes%u.length == 0 {
			return strconv.FormatInt(bytes/u.length, 10) + u.unit
		}
	}
	return strconv.FormatInt(bytes/1000, 10) + "KB"
}

// readSwitch reads a switch: on, off and what people write instead.
func readSwitch(s string) (on, ok bool) {
	switch s {
	case "on", "yes", "true":
		return true, true
	case "off", "no", "false":
		return false, true
	}
	return false, false
}

func quote(s string) string { return schema.Quote(s) }

func itoa(n int) string { return strconv.Itoa(n) }
