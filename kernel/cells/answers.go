package cells

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/show"
	"github.com/easeml/easeml/schema"
)

// answerFile writes answers beside the rows they belong to: all the person's
// columns as they came, then the answer, how sure it is, and what to check.
//
// Which columns there are is known only when the last row has come (files may
// differ), so the answers are kept in a temporary file first. The target appears
// whole or not at all.
type answerFile struct {
	target string
	order  []string // fields of the program's output
	labels []string
	many   bool // several sources: rows are numbered within each

	spool   *os.File
	writer  *bufio.Writer
	encoder *json.Encoder

	columns []string // the person's, in order of appearance
	seen    map[string]bool
	fields  []string // that were answered
	array   bool     // rows have no columns of their own
	sure    bool
	shares  bool // probabilities were asked for
}

func newAnswerFile(target string, task api.Task, many bool) (*answerFile, error) {
	if info, err := os.Stat(filepath.Dir(target)); err != nil || !info.IsDir() {
		return nil, fail(fileError, fmt.Sprintf("The folder of %s isn't there.", target), "")
	}
	f := &answerFile{target: target, labels: task.Labels, many: many}
	if p, err := schema.Parse(task.Program); err == nil {
		for i := range p.Output.Fields {
			f.order = append(f.order, p.FieldName(schema.Output, i))
		}
	}
	spool, err := os.CreateTemp("", "easeml-answers-*")
	if err != nil {
		return nil, err
	}
	f.spool = spool
	return f, f.restart()
}

// restart forgets what was added: the request is made again.
func (f *answerFile) restart() error {
	if err := f.spool.Truncate(0); err != nil {
		return err
	}
	if _, err := f.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.writer = bufio.NewWriterSize(f.spool, 1<<16)
	f.encoder = json.NewEncoder(f.writer)
	f.columns, f.fields, f.seen = nil, nil, map[string]bool{}
	f.array, f.sure, f.shares = false, false, false
	return nil
}

// add takes the next answer.
func (f *answerFile) add(a api.Answer) error {
	for _, v := range a.Values {
		if !f.seen[v.Column] {
			f.seen[v.Column] = true
			f.columns = append(f.columns, v.Column)
		}
	}
	f.array = f.array || len(a.Values) == 0
	f.sure = f.sure || a.Sure != nil
	f.shares = f.shares || len(a.Probabilities) > 0
	for name := range a.Answer {
		if !slices.Contains(f.fields, name) {
			f.fields = append(f.fields, name)
		}
	}
	return f.encoder.Encode(a)
}

// discard removes what is temporary.
func (f *answerFile) discard() {
	f.spool.Close()
	os.Remove(f.spool.Name())
}

// finish writes the target; in holds the kinds of columns and answers that the server knows.
func (f *answerFile) finish(in api.Inferred) (err error) {
	if err := f.writer.Flush(); err != nil {
		return err
	}
	if len(f.fields) == 0 {
		f.fields = f.order
	}
	slices.SortStableFunc(f.fields, func(a, b string) int { return f.place(a) - f.place(b) })
	head := f.head()
	return writeTable(f.target, f.kinds(head, in), func(w records) error {
		if _, err := f.spool.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := w.Write(head); err != nil {
			return err
		}
		d := json.NewDecoder(bufio.NewReaderSize(f.spool, 1<<16))
		for {
			var a api.Answer
			if err := d.Decode(&a); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := w.Write(f.row(a)); err != nil {
				return err
			}
		}
	})
}

// place is where a field stands in the program; others come after.
func (f *answerFile) place(field string) int {
	if i := slices.Index(f.order, field); i >= 0 {
		return i
	}
	return len(f.order)
}

// head names the columns: those that tell places, the person's own, and what is
// answered. A person's columns keep their names; one of ours that is called alike
// gets another.
func (f *answerFile) head() []string {
	var places []string
	if f.many {
		places = append(places, unused("file", " (fed)", f.columns))
	}
	if f.array {
		places = append(places, unused("row", " (fed)", f.columns))
	}
	out := slices.Concat(places, f.columns)
	add := func(name string) {
		out = append(out, unused(name, " (answer)", out))
	}
	for _, name := range f.fields {
		add(name)
	}
	if f.sure {
		add("sure")
	}
	if f.shares {
		for _, l := range f.labels {
			add("p(" + l + ")")
		}
	}
	add("check")
	return out
}

// unused is a name that none of taken is: name, else name and suffix, "x (answer)",
// else numbered, "x (answer 2)".
func unused(name, suffix string, taken []string) string {
	out := name
	for i := 1; slices.Contains(taken, out); i++ {
		if out = name + suffix; i > 1 {
			out = name + strings.TrimSuffix(suffix, ")") + " " + strconv.Itoa(i) + ")"
		}
	}
	return out
}

// kinds tells the kinds of the columns of head: the person's own and the answers have
// those that the server knows; how sure they are is in numbers.
func (f *answerFile) kinds(head []string, in api.Inferred) func(string) string {
	of := map[string]string{head[len(head)-1]: api.ColumnText}
	for _, c := range f.columns {
		of[c] = in.Columns[c]
	}
	before := 0
	if f.many {
		of[head[before]] = api.ColumnText
		before++
	}
	if f.array {
		of[head[before]] = api.ColumnWhole
	}
	// Behind the person's own stand the answers, how sure they are, and what to check, under whatever names.
	first := len(head) - 1 - len(f.fields)
	if f.sure {
		first--
	}
	if f.shares {
		first -= len(f.labels)
	}
	for i, name := range head[first : len(head)-1] {
		if of[name] = api.ColumnNumber; i < len(f.fields) {
			of[name] = in.Fields[f.fields[i]]
		}
	}
	return func(column string) string { return of[column] }
}

func (f *answerFile) row(a api.Answer) []string {
	var out []string
	if f.many {
		out = append(out, a.Source)
	}
	if f.array {
		out = append(out, strconv.FormatInt(a.Row, 10))
	}
	values := make(map[string]string, len(a.Values))
	for _, v := range a.Values {
		values[v.Column] = v.Text
	}
	for _, c := range f.columns {
		out = append(out, values[c])
	}
	for _, name := range f.fields {
		out = append(out, whole(a.Answer[name]))
	}
	if f.sure {
		text := ""
		if a.Sure != nil {
			text = strconv.FormatFloat(*a.Sure, 'f', 4, 64)
		}
		out = append(out, text)
	}
	if f.shares {
		for _, l := range f.labels {
			text := ""
			if p, ok := a.Probabilities[l]; ok {
				text = strconv.FormatFloat(p, 'f', 4, 64)
			}
			out = append(out, text)
		}
	}
	check := ""
	switch {
	case a.Refused != nil:
		check = "refused: " + a.Refused.Reason
		if a.Refused.Column != "" && !strings.HasPrefix(a.Refused.Reason, a.Refused.Column+" ") {
			check = "refused: " + a.Refused.Column + " " + a.Refused.Reason
		}
	case a.Sure != nil && *a.Sure < show.UnsureBelow:
		check = "unsure"
	}
	return append(out, check)
}

// whole is an answer as text with all its digits.
func whole(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
