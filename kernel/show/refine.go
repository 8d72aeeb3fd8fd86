package show

import (
	"fmt"
	"path"
	"strings"

	"github.com/easeml/easeml/api"
)

// shownExamples is how many examples a list of them names.
const shownExamples = 20

// Examples is what refine answers without on or off: which examples there are,
// never what is in them. Listed are the first
// ones of those that were asked for by number; with asked 0, of those that are
// off, and where none is, of all.
//
// History are the task's versions, the newest last: a line says what was refined.
func Examples(name string, v api.View, asked int, listed []api.Example, history []api.Version) Output {
	p := page{}
	if v.Version == 0 {
		p.say("%s has no examples yet.", name)
		p.then("feed %s \"FILE\"", name)
		return p.output()
	}
	all := v.Examples + v.Off
	of := fmt.Sprintf("all %s on", several(all, "example"))
	if v.Off > 0 {
		of = fmt.Sprintf("%s of %s on", count(v.Examples), several(all, "example"))
	}
	p.say("%s", join(name, of, fmt.Sprintf("version %d", v.Version), classWords(v.Task)))
	shown := listed[:min(len(listed), shownExamples)]
	of = ""
	if asked == 0 {
		if s := partWords(v.Task); s != "" {
			p.add("kept apart: %s", s)
		}
		if asked = v.Off; v.Off > 0 {
			p.say("Off:")
		} else {
			asked = all
		}
	} else if len(listed) < asked && len(listed) < shownExamples {
		of = fmt.Sprintf("Only %s of the %s asked for are there: the numbers go from 1 to %s.", count(len(listed)), count(asked), count(all))
		asked = len(listed)
	}
	t := &table{head: []string{"number", "part", "label", "", "from"}, right: []bool{true}}
	for _, e := range shown {
		state := "on"
		if !e.On {
			state = "off"
		}
		if e.Fed != "" {
			state += fmt.Sprintf(", was %s", e.Fed)
		}
		t.put(count(e.Number), e.Part, e.Label, state, exampleFrom(e))
	}
	p.lay(t)
	if rest := asked - len(shown); rest > 0 {
		p.say(" … %s more", count(rest))
	}
	if of != "" {
		p.say("%s", of)
	}
	if line := refinedBefore(history, v); line != "" {
		p.say("%s", line)
	}
	if v.Off > 0 && v.Off <= len(listed) {
		p.then("refine %s on %s", name, ranges(numbersOff(listed)))
	} else {
		p.then("refine %s off NUMBERS", name)
	}
	return p.output()
}

func numbersOff(examples []api.Example) []int {
	var out []int
	for _, e := range examples {
		if !e.On {
			out = append(out, e.Number)
		}
	}
	return out
}

// exampleFrom is the place of an example in what was fed. Arrays are counted from
// 0 as programs do, rows of data from 1.
func exampleFrom(e api.Example) string {
	if fromZero(e.Source) {
		return fmt.Sprintf("%s [%d]", path.Base(e.Source), e.Row)
	}
	return fmt.Sprintf("%s, data row %s", path.Base(e.Source), count(int(e.Row)))
}

// ranges writes numbers in rising order as refine reads them, the first few:
// 17, 90..95.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch {
		case len(parts) == 6:
			return strings.Join(parts, ", ")
		case i == j:
			parts = append(parts, fmt.Sprint(numbers[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d..%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// Refinement is a change of examples: the task before and after it, and how many
// were asked to be on or off.
type Refinement struct {
	Name          string
	Before, After api.View
	On            bool
	Label         string // what labels were corrected to; "" where they are switched on or off
	Asked         int
	Gone          bool         // asked was for what is gone from its file, however many these are
	Changes       *api.Changes // nil where nothing changed
}

// Refined is what refine answers when examples were switched on or off.
func Refined(r Refinement) Output {
	p := page{}
	to := "off"
	switch {
	case r.Label != "":
		to = r.Label
	case r.On:
		to = "on"
	}
	if r.Changes == nil && r.Gone {
		p.say("Nothing changed: every example that is on is still in its file, as it was fed last.")
		return p.output()
	}
	if r.Changes == nil {
		p.say("Nothing changed: %s %s already.", pick(r.Asked, "it is", "all "+count(r.Asked)+" are"), to)
		return p.output()
	}
	changed := len(r.Changes.On) + len(r.Changes.Off)
	first := several(changed, "example") + " " + to
	if r.Label != "" {
		changed = len(r.Changes.Labels)
		first = several(changed, "label") + " corrected"
	}
	if more := r.Asked - changed; more > 0 {
		first += fmt.Sprintf(" (%s more %s so already)", count(more), pick(more, "was", "were"))
	}
	p.say("%s · version %d: %s", first, r.After.Version, afterRefine(r.After))
	if line := rescored(r, changed); line != "" {
		p.say("%s", line)
	}
	if r.After.State == api.TaskSearching {
		p.then("watch %s", r.Name)
	} else if r.After.Examples == 0 {
		p.then("refine %s on all", r.Name)
	}
	return p.output()
}

// afterRefine says what goes on with the new version.
func afterRefine(v api.View) string {
	t := v.Task
	left := several(t.Examples, "example")
	switch {
	case t.Examples == 0:
		return "no example is on, so nothing is searched"
	case t.Stopped:
		return left + " · stopped, so nothing runs"
	case t.State == api.TaskSettled:
		return left + " · searched before, nothing to do again: " + settledWords(t)
	case t.State == api.TaskSearching:
		again := left + " · searching again (" + several(t.Candidates, "candidate")
		if o := v.Outlook; o != nil && o.SecondsHigh > 0 {
			again += ", " + between(o.SecondsLow, o.SecondsHigh)
		}
		return again + ")"
	}
	return left
}

// rescored says what the model of before reaches on the examples as they are now.
func rescored(r Refinement, changed int) string {
	before, now := r.Before.Best, r.After.Best
	if !real(before) || !real(now) {
		return ""
	}
	m := r.After.Metric.Name
	switch {
	case r.After.Examples == 0:
		return "The model of before goes on answering."
	case now.Trial != before.Trial && now.Scored == r.After.Version:
		return fmt.Sprintf("%s answers now: %s.", now.Label, inSearch(r.After.Task, now.Search))
	case now.Trial != before.Trial, now.Version == r.After.Version && r.After.State == api.TaskSettled:
		return ""
	case now.Scored != r.After.Version:
		return fmt.Sprintf("The model of before answers meanwhile; its figures are still those of version %d.", now.Scored)
	}
	a, b := before.Search, now.Search
	part, n := "part that compares candidates", r.Changes.Parts.Validation
	if r.After.Protocol.Kind == "folds" {
		n += r.Changes.Parts.Train
	}
	if before.Test != nil && now.Test != nil {
		a, b = *before.Test, *now.Test
		part, n = "test part", r.Changes.Parts.Test
	}
	if n == 0 {
		return fmt.Sprintf("None of them is in the %s: the model of before keeps its %s.", part, figureOf(m, a))
	}
	of := fmt.Sprintf("%s of them are", count(n))
	switch {
	case n == changed && n == 1:
		of = "It is"
	case n == changed:
		of = "All of them are"
	case n == 1:
		of = "1 of them is"
	}
	if a.N > 0 && a.N < 1000 {
		part += fmt.Sprintf(" (%s)", several(a.N, "example"))
	}
	corrected := "now"
	if r.Label != "" {
		corrected = "on the corrected labels"
	}
	line := fmt.Sprintf("%s in the %s, so the model of before is scored again: %s before, %s %s", of, part, figureOf(m, a), figureOf(m, b), corrected)
	if measureOf(m).form == right {
		line += " = " + percent(b.Value, digits(b))
	}
	if s := likely(m, b); s != "" {
		line += " (" + s + ")"
	}
	return line
}

// figureOf is an estimate as a count where it is one: "212 of 216", "R² 0.33".
func figureOf(metric string, e api.Estimate) string {
	if measureOf(metric).form == right {
		return basis(metric, e)
	}
	return short(metric, e)
}

// RefineQuestion is what "refine off all" asks first.
func RefineQuestion(name string, t api.Task) string {
	return fmt.Sprintf("Switch all %s of %s off? (yes/no) ", several(t.Examples, "example"), clean(name))
}

// NotRefined is what it answers where the person said no.
func NotRefined(name string) Output {
	return Plain(fmt.Sprintf("The examples of %s stay as they are.", name))
}

// refinedBefore says who refined the examples, and how, the last few times.
func refinedBefore(history []api.Version, v api.View) string {
	var parts []string
	for i := len(history) - 1; i >= 0 && len(parts) < 3; i-- {
		h := history[i]
		if h.Changes == nil {
			continue
		}
		var did []string
		if n := len(h.Changes.Labels); n > 0 {
			did = append(did, several(n, "label")+" corrected")
			if h.Cause == "feed" {
				did[0] += " by a file fed again"
			}
		}
		if n := len(h.Changes.Off); n > 0 {
			did = append(did, count(n)+" off")
		}
		if n := len(h.Changes.On); n > 0 {
			did = append(did, count(n)+" on")
		}
		who := ""
		if h.By != "" {
			who = " by " + h.By
			if h.By == v.User {
				who = ""
			}
		}
		parts = append(parts, fmt.Sprintf("version %d, %s%s: %s", h.Number, clock(h.Created, v.Now), who, strings.Join(did, ", ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Refined: " + join(parts...)
}
