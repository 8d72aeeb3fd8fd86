package show

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/easeml/easeml/api"
)

// UnsureBelow is where an answer counts as unsure.
const UnsureBelow = 0.8

// Preview is what infer shows: the first answers, never the rows' own columns.
type Preview struct {
	Name     string        // the task as the person writes it
	Sources  []string      // as the person wrote them
	Into     string        // file the answers went to, or ""
	Columns  bool          // the rows have columns of their own, which are in that file too
	Metric   string        // of the task
	Doubts   []api.Warning // likewise
	Answers  []api.Answer  // the first ones, refusals included
	Refused  []api.Answer  // the first refusals
	Inferred api.Inferred
}

// Inferred is what infer answers when it is done.
func Inferred(v Preview) Output {
	p := page{}
	in := v.Inferred
	into := ""
	if v.Into != "" {
		into = " in " + v.Into
	}
	p.say("%s%s, %s, by %s", several(in.Answers, "answer"), into, seconds(in.Seconds), modelWords(v, in.Best))
	if in.Answers > 0 {
		p.lay(answerTable(v))
	}
	for i, a := range v.Refused {
		if i == shownRejects {
			break
		}
		p.say("refused: %s: %s", placeWords(*a.Refused), rejectWords(*a.Refused))
	}
	if rest := in.Refused - min(len(v.Refused), shownRejects); rest > 0 && in.Refused > 0 {
		p.say("… and %s refused in all", pick(in.Refused, "1 row", count(in.Refused)+" rows"))
	}
	if line := driftWords(v.Name, in.Drift); line != "" {
		p.say("%s", line)
	}
	last := unsureWords(in, v.Into != "")
	if v.Into != "" {
		last = strings.TrimSpace(last + " " + keptOrder(v))
	}
	if last != "" {
		p.say("%s", last)
	}
	if next := fmt.Sprintf("infer %s %s into \"answers.csv\"", v.Name, strings.Join(v.Sources, ", ")); v.Into == "" && in.Answers > 1 && columns("Next: "+next) <= Width {
		p.then("%s", next)
	}
	return p.output()
}

// keptOrder says what of the person's own stands in the file.
func keptOrder(v Preview) string {
	if v.Columns {
		return "Order and all your columns are kept."
	}
	return "The order is kept."
}

// driftWords says that the rows lie otherwise than those that the model learned
// from.
func driftWords(name string, drift []api.Drift) string {
	var parts []string
	for _, d := range drift {
		parts = append(parts, d.Message)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("! These rows differ from what %s learned: %s. The test part says little about them; feed some of them with their labels.", name, strings.Join(parts, "; "))
}

// modelWords says who answered, and how good it is.
func modelWords(v Preview, b api.Best) string {
	s, but := fmt.Sprintf("trial %d", b.Trial), within(api.Task{Doubts: v.Doubts})
	switch {
	case b.Test != nil:
		return s + " (" + short(v.Metric, *b.Test) + " on the test part" + but + ")"
	case b.Search.N > 0:
		return s + " (" + short(v.Metric, b.Search) + " in the search, no test part" + but + ")"
	}
	return s
}

func unsureWords(in api.Inferred, marked bool) string {
	if in.Answers == 0 {
		return ""
	}
	where := ""
	if marked {
		where = ", marked in the column \"check\""
	}
	switch in.Unsure {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 answer is unsure (below %.1f)%s.", UnsureBelow, where)
	}
	return fmt.Sprintf("%s answers are unsure (below %.1f)%s.", count(in.Unsure), UnsureBelow, where)
}

// answerTable shows the first answers.
func answerTable(v Preview) *table {
	var fields []string
	sure := false
	many, files := false, len(v.Answers) > 0
	for _, a := range v.Answers {
		for f := range a.Answer {
			if !slices.Contains(fields, f) {
				fields = append(fields, f)
			}
		}
		sure = sure || a.Sure != nil
		many = many || a.Source != v.Answers[0].Source
		files = files && oneFile(a.Source)
	}
	sort.Strings(fields)
	t := &table{head: []string{"row"}, right: []bool{true}}
	if many {
		t.head, t.right = []string{"file", "row"}, []bool{false, true}
	}
	if files {
		t.head, t.right = []string{"file"}, []bool{false}
	}
	t.head = append(t.head, fields...)
	if sure {
		t.head = append(t.head, "sure")
	}
	for _, a := range v.Answers {
		cells := []string{count(int(a.Row))}
		if many {
			cells = []string{a.Source, count(int(a.Row))}
		}
		if files {
			cells = cells[:1]
			cells[0] = a.Source
		}
		for _, f := range fields {
			if a.Refused != nil {
				cells = append(cells, "refused")
				continue
			}
			cells = append(cells, AnswerText(a.Answer[f]))
		}
		if sure && a.Sure != nil {
			cells = append(cells, fmt.Sprintf("%.2f", *a.Sure))
		}
		t.put(cells...)
	}
	if shown := len(v.Answers); shown > 0 && v.Inferred.Answers+v.Inferred.Refused > shown {
		t.put("…")
	}
	return t
}

// AnswerText is an answer as text: a label as it is, a number with the digits it
// needs.
func AnswerText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return answerNumber(x)
	case bool:
		return fmt.Sprint(x)
	case []any:
		parts := make([]string, 0, len(x))
		for i, e := range x {
			if i == 8 {
				parts = append(parts, fmt.Sprintf("… %d in all", len(x)))
				break
			}
			parts = append(parts, AnswerText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

func answerNumber(v float64) string {
	if v >= -1e15 && v <= 1e15 && v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return strings.ReplaceAll(significant(v, 4), ",", "")
}

// placeWords is where a refused row stands in its file.
func placeWords(r api.Reject) string {
	if oneFile(r.Source) {
		return r.Source
	}
	if r.Line != nil {
		return fmt.Sprintf("%s line %s", r.Source, count(int(*r.Line)))
	}
	place := fmt.Sprintf("%s row %s", r.Source, count(int(r.Row)))
	if fromZero(r.Source) {
		place += " (counted from 0)"
	}
	return place
}

// Inferring is the progress of an infer.
func Inferring(name string, done int) Output {
	if done == 0 {
		return Plain(name + " · answering …")
	}
	return Plain(fmt.Sprintf("%s · %s so far …", name, several(done, "answer")))
}

// WaitingForModel says that infer waits for a first real model.
func WaitingForModel(name string, v api.View) Output {
	only := ""
	if v.Guess != nil {
		only = ", only the guess"
		if g := guessOnly(v.Task); g != "" {
			only += " (" + join(v.Guess.Text, g) + ")"
		}
	}
	left := ""
	for _, l := range v.Live {
		if s := l.Expected - v.Now.Sub(l.Started).Seconds(); l.Expected > 0 && (left == "" || s > 0) {
			left = ", about " + about(max(1, s))
			break
		}
	}
	return Plain(fmt.Sprintf("%s has no real model yet%s. Waiting for one%s …", name, only, left))
}
