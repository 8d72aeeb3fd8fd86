package show

import (
	"fmt"

	"github.com/easeml/easeml/api"
)

// Stopped is what stop answers; already tells that nothing changed.
func Stopped(name string, v api.View, already bool) Output {
	p := page{}
	if already {
		p.say("%s · stopped already, nothing changed", name)
	} else {
		p.say("%s · stopped by you: %s%s", name, triedWords(v.Task), keptWords(v.Task))
	}
	p.then("resume %s", name)
	return p.output()
}

// StoppedTrial is what stopping one trial answers.
func StoppedTrial(name string, trial int) Output {
	return Plain(fmt.Sprintf("%s · trial %d is stopped; its best so far counts, the search goes on", name, trial))
}

// keptWords says that the model of before stays in use.
func keptWords(t api.Task) string {
	switch {
	case !real(t.Best):
		return ", no real model yet"
	case t.Best.Test != nil:
		return "; " + short(t.Metric.Name, *t.Best.Test) + " on the test part stays in use"
	}
	return "; " + short(t.Metric.Name, t.Best.Search) + " in the search stays in use"
}

// Resumed is what resume answers; already tells that nothing changed.
func Resumed(name string, v api.View, already bool) Output {
	p := page{}
	left := max(0, v.Candidates-v.Tried)
	switch {
	case already:
		p.say("%s · was not stopped, nothing changed: %s", name, standing(v.Task, v.Now))
	case v.State == api.TaskDeclared:
		p.say("%s · resumed: it has no examples yet, nothing runs", name)
		p.then("feed %s \"FILE\"", name)
		return p.output()
	case v.State == api.TaskSettled:
		p.say("%s · resumed: %s, nothing is left to try", name, standing(v.Task, v.Now))
		return p.output()
	default:
		p.say("%s · searching again: %s left", name, several(left, "candidate"))
	}
	if v.State == api.TaskSearching {
		p.then("watch %s", name)
	}
	return p.output()
}

// DropQuestion is what drop asks first.
func DropQuestion(name string, t api.Task) string {
	return fmt.Sprintf("Drop %s with its %s and all its models for good? (yes/no) ", clean(name), several(t.Examples, "example"))
}

// Dropped is what drop answers.
func Dropped(name string, t api.Task) Output {
	return Plain(fmt.Sprintf("%s is dropped: its %s and the models of %s are gone.", name, several(t.Examples, "example"), several(t.Tried, "trial")))
}

// NotDropped is what drop answers where the person said no.
func NotDropped(name string) Output {
	return Plain(fmt.Sprintf("%s was not dropped. Nothing was changed.", name))
}

// Wrote says that a table went into a file.
func Wrote(rows int, noun, file string) Output {
	return Plain(fmt.Sprintf("%s in %s", several(rows, noun), file))
}

// WroteModels says that the leaderboard is in a file. The guess has a row there, but is no candidate.
func WroteModels(v api.View, file string) Output {
	candidates, guess := 0, ""
	for _, r := range v.Rows {
		if r.Baseline {
			guess = " and the guess"
		} else {
			candidates++
		}
	}
	return Plain(several(candidates, "candidate") + guess + " in " + file)
}
