package jupyter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// kept is the number of inputs that are remembered.
const kept = 10_000

// entry is one input: a line of the history file. A line without input marks the start of a session.
type entry struct {
	Session int     `json:"session"`
	Line    int     `json:"line,omitempty"`
	In      string  `json:"in,omitempty"`
	Out     *string `json:"out,omitempty"` // text/plain of its result
}

// history is the inputs of this session and of earlier ones. The file, one JSON object a line, is opened anew for each input and only ever
// appended to, so several kernels of one person can share it.
type history struct {
	path string // "": memory only

	mu      sync.Mutex
	entries []entry // oldest first
	session int
}

// openHistory reads the file and begins a session. A history that can't be read or written is no reason not to work: the error says why
// only this session will be remembered, and the history is usable all the same.
func openHistory(path string) (*history, error) {
	h := &history{path: path, session: 1}
	if path == "" {
		return h, nil
	}
	lines, err := h.load()
	if err != nil {
		h.path = ""
		return h, fmt.Errorf("the history file can't be read, inputs are kept until the kernel ends: %w", err)
	}
	if lines > 2*kept {
		err = h.rewrite()
	} else {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = h.append(entry{Session: h.session})
	}
	if err != nil {
		h.path = ""
		return h, fmt.Errorf("the history file can't be written, inputs are kept until the kernel ends: %w", err)
	}
	return h, nil
}

func (h *history) load() (lines int, err error) {
	f, err := os.Open(h.path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		b, err := r.ReadBytes('\n')
		if len(b) > 0 {
			lines++
			var e entry
			// A line cut off by a crash, or by hand, costs only itself.
			if json.Unmarshal(b, &e) == nil {
				h.session = max(h.session, e.Session+1)
				if e.Line > 0 {
					h.entries = append(h.entries, e)
				}
			}
		}
		if err != nil {
			break
		}
	}
	if n := len(h.entries) - kept; n > 0 {
		h.entries = append([]entry(nil), h.entries[n:]...)
	}
	return lines, nil
}

// rewrite replaces the file by one of the entries in memory.
func (h *history) rewrite() error {
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already if all went well
	w := bufio.NewWriter(f)
	for _, e := range h.entries {
		b, err := json.Marshal(e)
		if err != nil {
			f.Close()
			return err
		}
		w.Write(b)
		w.WriteByte('\n')
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), h.path)
}

func (h *history) append(e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// add remembers an input and, if it had one, the text of its result.
func (h *history) add(line int, in string, out *string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := entry{h.session, line, in, out}
	h.entries = append(h.entries, e)
	if len(h.entries) > 2*kept {
		h.entries = append([]entry(nil), h.entries[kept:]...)
	}
	if h.path == "" {
		return nil
	}
	if err := h.append(e); err != nil {
		h.path = ""
		return fmt.Errorf("the history file can't be written, inputs are kept until the kernel ends: %w", err)
	}
	return nil
}

// find answers a history_request: (session, line, input) or (session, line, (input, output)), oldest first.
func (h *history) find(q historyRequest) [][3]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []entry
	switch q.Access {
	case "range":
		found = h.between(q.Session, q.Start, q.Stop)
	case "search":
		found = last(h.matching(q.Pattern, q.Unique), q.N)
	default: // tail
		found = last(h.entries, q.N)
	}
	answer := make([][3]any, len(found))
	for i, e := range found {
		answer[i] = [3]any{e.Session, e.Line, e.In}
		if q.Output {
			answer[i][2] = [2]any{e.In, e.Out}
		}
	}
	return answer
}

// last is the newest n of all, in their order; nil means all.
func last(all []entry, n *int) []entry {
	if n == nil || *n < 0 || *n >= len(all) {
		return all
	}
	return all[len(all)-*n:]
}

// between is the lines start to stop, without stop, of a session: its number, or 0 for this one, -1 for the one before and so on.
func (h *history) between(session, start int, stop *int) []entry {
	if session <= 0 {
		session += h.session
	}
	var found []entry
	for _, e := range h.entries {
		if e.Session == session && e.Line >= start && (stop == nil || e.Line < *stop) {
			found = append(found, e)
		}
	}
	return found
}

// matching is the inputs that fit a pattern as a whole; of equal ones, if unique, the newest.
func (h *history) matching(pattern string, unique bool) []entry {
	re := glob(pattern)
	seen := map[string]bool{}
	var found []entry
	for i := len(h.entries) - 1; i >= 0; i-- {
		e := h.entries[i]
		if unique && seen[e.In] || !re.MatchString(e.In) {
			continue
		}
		seen[e.In] = true
		found = append(found, e)
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// glob translates a pattern of * (any text, lines too), ? (one character) and [set] ([!set], [^set]: none of it); "" fits everything.
func glob(pattern string) *regexp.Regexp {
	if pattern == "" {
		pattern = "*"
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteByte('.')
		case '[':
			if set, n := globSet(pattern[i:]); n > 0 {
				b.WriteString(set)
				i += n
				continue
			}
			b.WriteString(`\[`)
		default:
			j := i + 1
			for j < len(pattern) && strings.IndexByte("*?[", pattern[j]) < 0 {
				j++
			}
			b.WriteString(regexp.QuoteMeta(strings.ToValidUTF8(pattern[i:j], "\uFFFD")))
			i = j
			continue
		}
		i++
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil { // such as the set [z-a]: then the pattern is just text
		return regexp.MustCompile(`\A` + regexp.QuoteMeta(pattern) + `\z`)
	}
	return re
}

// globSet translates the set that s starts with; n is its length there, 0 if it doesn't end.
func globSet(s string) (set string, n int) {
	i := 1
	not := i < len(s) && (s[i] == '!' || s[i] == '^')
	if not {
		i++
	}
	end := i + 1 // a ] in first place stands for itself
	for end < len(s) && s[end] != ']' {
		end++
	}
	if end >= len(s) {
		return "", 0
	}
	var b bytes.Buffer
	b.WriteByte('[')
	if not {
		b.WriteByte('^')
	}
	for _, r := range s[i:end] {
		if strings.ContainsRune(`\[]^&~`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte(']')
	return b.String(), end + 1
}
