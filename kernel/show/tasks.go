package show

import (
	"github.com/easeml/easeml/api"
)

// Tasks lists tasks; mine is the user whose own come first and are named without
// the user.
func Tasks(mine string, tasks []api.Task) Output {
	p := page{}
	if len(tasks) == 0 {
		p.say("No tasks yet. A task begins with its program: help schema")
		return p.output()
	}
	searching, own := 0, 0
	var used float64
	var marked []api.Task
	t := &table{head: []string{"task", "", "examples", "on the test part", "", "device time"}, right: []bool{false, false, true, false, false, true}}
	add := func(task api.Task) {
		if len(task.Doubts) > 0 && real(task.Best) {
			marked = append(marked, task)
		}
		t.put(nameOf(mine, task), task.Description, count(task.Examples), taskQuality(task), briefStanding(task), seconds(task.Seconds))
		if task.State == api.TaskSearching {
			searching++
		}
	}
	for _, task := range tasks {
		if task.User == mine {
			own++
			used += task.Seconds
			add(task)
		}
	}
	for _, task := range tasks {
		if task.User != mine {
			add(task)
		}
	}
	first := several(len(tasks), "task")
	if searching > 0 {
		first += ", " + count(searching) + " searching"
	}
	if own > 0 {
		first += " · yours have used " + seconds(used) + " of device time"
	}
	p.say("%s", first)
	p.lay(t)
	for i, task := range marked {
		if i == shownWarnings && len(marked) > i+1 {
			p.say("! and %s more", several(len(marked)-i, "task"))
			break
		}
		p.say("! %s: %s", nameOf(mine, task), doubt(task))
	}
	if line := sharing(mine, tasks); line != "" {
		p.say("%s", line)
	}
	return p.output()
}

// sharing says what it meant for the user's tasks that others searched too: ρ, over their device time.
func sharing(mine string, tasks []api.Task) string {
	rho, weight := 0.0, 0.0
	for _, t := range tasks {
		if t.User == mine && t.Rho != nil {
			rho += *t.Rho * max(t.Seconds, 1)
			weight += max(t.Seconds, 1)
		}
	}
	if weight == 0 {
		return ""
	}
	return "You: sharing made you " + fairWords(rho/weight) + "."
}

// fairWords is ρ, how many times slower than with a fair share of one's own.
func fairWords(rho float64) string {
	switch {
	case rho >= 1.05:
		return significant(rho, 2) + " × slower than a private fair share"
	case rho > 0 && rho < 0.95:
		return significant(1/rho, 2) + " × faster than a private fair share"
	}
	return "neither slower nor faster than a private fair share"
}

// nameOf is what a task is called by a user: others' with the owner.
func nameOf(user string, t api.Task) string {
	if t.User == user {
		return t.Name
	}
	return t.User + "/" + t.Name
}

// taskQuality is the figure of a task's row, with the part it is from, and a mark
// where it may be too good.
func taskQuality(t api.Task) string {
	mark := ""
	if len(t.Doubts) > 0 {
		mark = " !"
	}
	switch {
	case !real(t.Best):
		return "no model yet"
	case t.Best.Test != nil:
		return short(t.Metric.Name, *t.Best.Test) + mark
	}
	return short(t.Metric.Name, t.Best.Search) + " (search)" + mark
}

// waitingWords is a task's place in the queue and when its turn comes, as briefly
// as a table has room for: "waiting, 2nd, 3–14 min".
func waitingWords(t api.Task) string {
	switch q := t.Queue; {
	case q == nil:
		return "waiting, " + count(t.Tried) + " of " + count(t.Candidates)
	case q.Position == 0:
		return "waiting for " + q.WaitingFor
	case q.EtaHigh == 0:
		return "waiting, " + ordinal(q.Position) + ", no estimate yet"
	default:
		return "waiting, " + ordinal(q.Position) + ", " + between(q.EtaLow, q.EtaHigh)
	}
}

// briefStanding is where a task stands, in the room of a table's cell.
func briefStanding(t api.Task) string {
	switch {
	case t.State == api.TaskSearching && t.Running == 0:
		return waitingWords(t)
	case t.State == api.TaskSettled && t.Reason == api.SettledBudget:
		return "resting, time is used up"
	case t.State == api.TaskSettled && t.Reason == api.SettledExhausted:
		return "all tried"
	case t.State == api.TaskSettled:
		return settledWords(t)
	}
	return standing(t, t.Changed)
}
