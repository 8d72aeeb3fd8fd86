package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
)

// shownRows is how many candidates the table of a watch names.
const shownRows = 6

// shownWarnings is how many warnings about the data it repeats.
const shownWarnings = 2

// WatchTable is the table under the chart: the verdict, the leaderboard's top,
// what runs now and what going on could bring.
func WatchTable(name string, v api.View) Output { return watchTable(name, v, "") }

// WatchBack is the same after the server was away, with BackWords in it.
func WatchBack(name string, v api.View, words string) Output { return watchTable(name, v, words) }

// WatchLost is the same while the server is away: what runs there now isn't
// known, and nothing can be asked of it.
func WatchLost(name string, v api.View, at time.Time) Output {
	p := page{}
	p.say("%s", watchVerdict(name, v))
	if v.State != api.TaskDeclared && v.State != api.TaskDropped {
		board(&p, name, v)
	}
	p.tell("now", "%s", lostWords(at))
	return p.output()
}

func watchTable(name string, v api.View, note string) Output {
	p := page{}
	p.say("%s", watchVerdict(name, v))
	if v.State == api.TaskDeclared || v.State == api.TaskDropped {
		if note != "" {
			p.say("%s", note)
		}
		if v.Feed != nil {
			p.tell("now", "%s", feedNow(*v.Feed))
		} else if v.State == api.TaskDeclared {
			p.then("feed %s \"FILE\"", name)
		}
		return p.output()
	}
	board(&p, name, v)
	doubtLines(&p, name, v.Task)
	// What is in doubt was said; what somebody has said is fine is not said again.
	grave := slices.DeleteFunc(slices.Clone(v.Warnings), func(w api.Warning) bool { return minor[w.Code] || w.Spoils })
	for i, w := range grave {
		if i == shownWarnings {
			p.say("! and %s", several(len(grave)-i, "more warning"))
			break
		}
		p.say("%s", warningWords(name, w))
	}
	if note != "" {
		p.say("%s", note)
	}
	if v.State == api.TaskSettled {
		settledLines(&p, name, v)
		return p.output()
	}
	if line := nowWords(v); line != "" {
		p.tell("now", "%s", line)
	}
	waiting(&p, v)
	if v.Outlook != nil {
		p.tell("end", "%s", outlookWords(*v.Outlook, v.Metric.Name))
	}
	if real(v.Best) {
		p.lead = "You can use it now"
		p.then("infer %s \"FILE\"", name)
	}
	return p.output()
}

// watchVerdict is the first line.
func watchVerdict(name string, v api.View) string {
	switch v.State {
	case api.TaskDropped:
		return name + " is dropped."
	case api.TaskDeclared:
		return name + " · no examples yet, nothing runs"
	case api.TaskSettled:
		return join(name, settledWords(v.Task)+since(v.Task, v.Now), bestWords(v.Task))
	}
	if !real(v.Best) {
		return join(name, "searching, no real model yet", guessOnly(v.Task), triedWords(v.Task))
	}
	return join(name, "best so far "+bestWords(v.Task), triedWords(v.Task))
}

// guessOnly is the reference alone, while there is nothing else.
func guessOnly(t api.Task) string {
	if t.Best != nil {
		return guessing(t.Metric.Name, t.Best.Search, t.Guess)
	}
	if t.Guess == nil {
		return ""
	}
	return guessing(t.Metric.Name, api.Estimate{N: max(t.Parts.Validation, 100)}, t.Guess)
}

// board is the leaderboard's top.
func board(p *page, name string, v api.View) {
	t := &table{head: []string{"candidate", "", "in the search", "time", ""}, right: []bool{false, false, true, true}}
	var rest, worse, ties, tried int
	for _, r := range v.Rows {
		if r.Search == nil || r.Baseline || r.State == "failed" {
			continue
		}
		tried++
		best := real(v.Best) && r.Candidate == v.Best.Candidate
		if r.Tied && !best {
			ties++
		}
		if len(t.rows) >= shownRows {
			rest++
			if !r.Tied {
				worse++
			}
			continue
		}
		mark, note := "", ""
		if best {
			mark = "◀"
		}
		if r.Tied && !best {
			note = "≈"
		}
		if r.State == "stopped" {
			note = strings.TrimSpace(note + " stopped early")
		}
		t.put(r.Label, mark, counted(v.Metric.Name, *r.Search), rowSeconds(r), note)
	}
	if tried == 0 {
		return
	}
	if measureOf(v.Metric.Name).form != right {
		t.head[2] = measureOf(v.Metric.Name).name + " in the search"
	}
	p.lay(t)
	if ties > 0 && v.Best != nil {
		p.say(" ≈ can't be told apart from the best (◀) with %s", several(v.Best.Search.N, "example"))
	}
	if rest > 0 {
		line := fmt.Sprintf(" … %s more", count(rest))
		if worse > 0 && worse < rest {
			line += fmt.Sprintf(", %s of them clearly worse", count(worse))
		} else if worse > 0 {
			line += pick(rest, ", clearly worse", ", all clearly worse")
		}
		p.say("%s: models %s", line, name)
	}
}

func rowSeconds(r api.Row) string {
	if r.Seconds == nil {
		return ""
	}
	return seconds(*r.Seconds)
}

// nowWords is what runs: device, candidate, how far.
func nowWords(v api.View) string {
	if v.Feed != nil && len(v.Live) == 0 {
		return feedNow(*v.Feed)
	}
	var parts []string
	for i, l := range v.Live {
		if i == 3 {
			parts = append(parts, count(len(v.Live)-3)+" more")
			break
		}
		s := l.Label
		if l.Device != "" {
			s = l.Device + " " + s
		}
		switch {
		case l.Step > 0 && l.Of > 0 && l.Unit != "":
			s += fmt.Sprintf(", %s %s of %s", l.Unit, count(l.Step), count(l.Of))
		case l.Step > 0 && l.Unit != "":
			s += fmt.Sprintf(", %s %s", l.Unit, count(l.Step))
		case l.Phase != "" && l.Phase != "fit":
			s += ", " + l.Phase
		}
		if l.Quality != nil {
			s += ", " + liveQuality(v.Task, *l.Quality) + " so far"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " · ")
}

// liveQuality is the figure of a trial that still runs, on the examples that
// compare candidates.
func liveQuality(t api.Task, q float64) string {
	e := api.Estimate{Value: q, Low: q - 0.02, High: q + 0.02, N: t.Parts.Validation}
	if t.Best != nil {
		e.N = t.Best.Search.N
	}
	m := measureOf(t.Metric.Name)
	if m.form == right {
		if r, ok := rightOf(e); ok {
			return fmt.Sprintf("%s of %s", count(r), count(e.N))
		}
		return percent(q, digits(e)) + " right"
	}
	if m.form == tokens {
		return percent(q, digits(e)) + " of the " + m.name
	}
	if m.form == deviation || m.form == loss {
		return percent(1-q, 0) + " of what guessing costs"
	}
	return m.name + " " + fraction(q, e)
}

func feedNow(f api.FeedProgress) string {
	if f.Of > 0 {
		return fmt.Sprintf("reading feed %d, %s of %s rows", f.Feed, count(int(f.Rows)), count(int(f.Of)))
	}
	if f.Rows > 0 {
		return fmt.Sprintf("reading feed %d, %s so far", f.Feed, several(int(f.Rows), "row"))
	}
	return fmt.Sprintf("reading feed %d", f.Feed)
}

// outlookWords says what going on could bring.
func outlookWords(o api.Outlook, metric string) string {
	if o.LikelyFinal {
		return "likely final: " + chanceWords(o)
	}
	s := "not yet \"likely final\": "
	if o.Untried == 0 {
		s += "nothing left to start, some still run."
	} else {
		s += fmt.Sprintf("the %s left may add about %s; %s", count(o.Untried), gain(o.ExpectedGain, metric), chanceWords(o))
	}
	if o.SecondsHigh > 0 {
		s += " Done in " + between(o.SecondsLow, o.SecondsHigh) + "."
	} else {
		s += " No estimate yet of how long."
	}
	return s
}

// gain is a difference of two qualities.
func gain(g float64, metric string) string {
	m := measureOf(metric)
	switch {
	case g < 0.0005:
		return "nothing"
	case m.form == right || m.form == tokens:
		if g >= 0.0095 {
			return trimNumber(100*g, 0) + " %"
		}
		return trimNumber(100*g, 1) + " %"
	case m.form == explained:
		return significant(g, 1) + " to R²"
	case m.form == score:
		return significant(g, 1)
	}
	return significant(100*g, 1) + " % of guessing's error"
}

// chanceWords is how likely something better is left.
func chanceWords(o api.Outlook) string {
	return "a better one: " + oddsWords(o.Chance) + "."
}

// oddsWords is a chance that people can picture.
func oddsWords(c float64) string {
	switch {
	case c < 0.05:
		return "less than 1 in 20"
	case c < 0.5:
		return fmt.Sprintf("about 1 in %.0f", 1/c)
	case c < 0.8:
		return "likely"
	}
	return "very likely"
}

// settledLines is what a search that has ended leaves to say.
func settledLines(p *page, name string, v api.View) {
	line := triedWords(v.Task)
	if n := v.Failed; n > 0 {
		line += fmt.Sprintf(", %s could not run", count(n))
		if why := failedWords(v); why != "" {
			line += " (" + why + ")"
		}
	}
	line += " · used " + seconds(v.Seconds) + " of device time."
	p.say("%s", line)
	if v.Outlook != nil && v.Reason == api.SettledLikelyFinal {
		p.say("A better one: %s. More or cleaner examples would do more.", oddsWords(v.Outlook.Chance))
	}
	switch {
	case v.Reason == api.SettledStopped || v.Stopped:
		p.say("Nothing runs until it is resumed.")
		p.then("resume %s", name)
		return
	case v.Reason == api.SettledBudget:
		p.say("Nothing is lost: infer, best and models work as before.")
	case v.Reason == api.SettledNoData:
		p.say("It searches as soon as there are more examples.")
		p.then("feed %s \"FILE\"", name)
		return
	default:
		p.say("Stopped by itself; it wakes when you feed.")
	}
	if real(v.Best) {
		p.then("best %s", name)
	}
}

// failedWords names the first candidates that could not run and why.
func failedWords(v api.View) string {
	var parts []string
	for _, r := range v.Rows {
		if r.State != "failed" && r.State != "set_aside" {
			continue
		}
		if len(parts) == 2 {
			break
		}
		s := r.Label
		if r.Message != "" {
			s += ": " + strings.TrimSuffix(r.Message, ".")
		}
		parts = append(parts, s)
	}
	words := strings.Join(parts, "; ")
	if rest := v.Failed - len(parts); rest > 0 && len(parts) > 0 {
		words += fmt.Sprintf("; %s more: models", count(rest))
	}
	return words
}
