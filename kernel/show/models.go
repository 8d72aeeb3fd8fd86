package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// Models is the leaderboard: all that were tried, best first, the guess last;
// then what could not run, what runs, what is left.
func Models(name string, v api.View) Output {
	p := page{}
	p.say("%s", modelsVerdict(name, v))
	t := &table{head: []string{"trial", "candidate", "", "in the search", "likely", "time", ""}, right: []bool{true, false, false, true, true, true}}
	if m := measureOf(v.Metric.Name); m.form != right {
		t.head[3] = m.name + " in the search"
		if m.form == explained {
			t.head[4] = "likely off by"
		}
	}
	var guess, failed []api.Row
	var open []string
	running := 0
	ties := 0
	for _, r := range v.Rows {
		switch {
		case r.Baseline && r.Search != nil:
			guess = append(guess, r)
		case r.State == "failed" || r.State == "set_aside":
			failed = append(failed, r)
		case r.Search != nil:
			mark, note := "", ""
			if real(v.Best) && r.Candidate == v.Best.Candidate {
				mark = "◀"
			} else if r.Tied {
				note = "≈"
				ties++
			}
			if r.State == "stopped" {
				note = strings.TrimSpace(note + " stopped early")
			}
			modelRow(t, v, r, mark, note)
		case r.State == "running" || r.State == "paused":
			running++
		case !r.Baseline:
			open = append(open, r.Label)
		}
	}
	for _, r := range guess {
		modelRow(t, v, r, "", guessNote(r.Label))
	}
	p.lay(t)
	if ties > 0 && v.Best != nil {
		p.say("≈ can't be told apart from the best (◀) with %s: their order means nothing", several(v.Best.Search.N, "example"))
	}
	if len(failed) > 0 {
		p.say("%s could not run; it doesn't count against %s:", several(len(failed), "candidate"), pick(len(failed), "it", "them"))
		f := &table{}
		for _, r := range failed {
			f.put(r.Label, failure(r))
		}
		p.lay(f)
	}
	if running > 0 && len(v.Live) > 0 { // else they are just ending
		p.say("Running now: %s", nowWords(v))
	}
	if n := len(open); n > 0 {
		more := ""
		if n > 6 {
			open, more = open[:6], fmt.Sprintf(" · %s more", count(n-6))
		}
		p.say("Not tried yet (%s of %s): %s%s", count(n), count(v.Candidates), strings.Join(open, " · "), more)
	}
	if real(v.Best) {
		p.then("best %s", name)
	}
	return p.output()
}

func modelsVerdict(name string, v api.View) string {
	if v.State == api.TaskDeclared {
		return name + " · no examples yet, so no candidate has been tried"
	}
	if !real(v.Best) {
		return join(name, "no real model yet", triedWords(v.Task))
	}
	return join(name, v.Best.Label+": "+bestWords(v.Task))
}

func modelRow(t *table, v api.View, r api.Row, mark, note string) {
	number := ""
	if r.Trial != nil {
		number = count(*r.Trial)
	}
	t.putBar(r.Search.Value, number, r.Label, mark, counted(v.Metric.Name, *r.Search),
		strings.TrimPrefix(likely(v.Metric.Name, *r.Search), "likely "), rowSeconds(r), note)
}

// guessNote names the guess, unless its label does.
func guessNote(label string) string {
	if strings.Contains(label, "guess") {
		return ""
	}
	return "the guess"
}

// failure says why a candidate could not run.
func failure(r api.Row) string {
	kinds := map[string]string{
		"memory": "not enough memory", "timeout": "took too long", "data": "can't use these examples",
		"bug": "an error in its own code", "unsupported": "not possible here", "lost": "its process went away",
	}
	words := kinds[r.Kind]
	switch {
	case words != "" && r.Message != "":
		return words + ": " + r.Message
	case r.Message != "":
		return r.Message
	case words != "":
		return words
	}
	return "no reason was given"
}
