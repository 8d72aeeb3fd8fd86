package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// Best is the report on the model that answers, honestly: first what it reaches
// on the part that the search never saw. More is what studies found of it.
func Best(name string, r api.Report, more ...api.Findings) Output {
	p := page{}
	t, b := r.Task, r.Best
	if !real(b) {
		noModel(&p, name, t, b)
		return p.output()
	}
	switch measureOf(t.Metric.Name).form {
	case explained, deviation:
		numberVerdict(&p, t, *b)
	default:
		shareVerdict(&p, t, *b)
	}
	doubtLines(&p, name, t)
	p.say("%s", chosenWords(t, *b))
	if s := b.Sample; s != nil {
		p.say("It worked with %s of %s examples, evenly spread: all of them don't fit into %s, the memory of its slot.",
			count(int(s.Rows)), count(int(s.Of)), size(s.MemoryBytes))
	}
	if r.Mistakes != nil {
		mistakeLines(&p, *r.Mistakes)
	}
	for _, f := range more {
		switch f.Kind {
		case api.StudyExplain:
			p.say("%s", capital(useWords(f)))
		case api.StudyGrowth:
			p.say("%s", growthWords(f))
		}
	}
	if t.State == api.TaskSearching {
		p.say("The search goes on (%s of %s tried), so this may still change.", count(t.Tried), several(t.Candidates, "candidate"))
	}
	if b.Version != 0 && b.Version != t.Version {
		p.say("It was trained on version %d of the examples; %d is the newest.", b.Version, t.Version)
	}
	p.then("infer %s \"FILE\" into \"answers.csv\"", name)
	return p.output()
}

// noModel says that there is only the guess.
func noModel(p *page, name string, t api.Task, b *api.Best) {
	guess := ""
	if t.Guess != nil {
		e := api.Estimate{N: max(100, t.Parts.Validation)}
		if b != nil {
			e = b.Search
		}
		if g := guessing(t.Metric.Name, e, t.Guess); g != "" {
			guess = ", only the guess (" + join(t.Guess.Text, g) + ")"
		}
	}
	switch t.State {
	case api.TaskDeclared:
		p.say("%s has no examples yet, so no model.", name)
		p.then("feed %s \"FILE\"", name)
	case api.TaskSearching:
		p.say("%s has no real model yet%s. %s.", name, guess, capital(standing(t, t.Changed)))
		p.then("watch %s", name)
	default:
		p.say("%s has no real model%s: %s.", name, guess, settledWords(t))
		p.then("models %s", name)
	}
}

// shareVerdict is the verdict where answers are right or wrong, or a score says
// how good they are.
func shareVerdict(p *page, t api.Task, b api.Best) {
	m := t.Metric.Name
	if b.Test == nil {
		withoutTest(p, t, b)
		return
	}
	e := *b.Test
	if measureOf(m).form == right {
		p.say("%s%s: %s examples that the search never saw%s", short(m, e), doubted(t), basis(m, e), bracket("the true rate is "+likely(m, e), e))
	} else {
		p.say("%s on the test part%s: %s that the search never saw%s", short(m, e), doubted(t), several(e.N, "example"), bracket(likely(m, e), e))
	}
	searched := fmt.Sprintf("In the search it had %s", figure(m, b.Search))
	if optimistic(b) {
		searched += ": a winner usually looks a little too good there"
	}
	p.say("%s", sentence(guessing(m, e, t.Guess), ": ")+searched+".")
	if g, ok := guessQuality(e, t.Guess); ok && e.Low <= g && e.High > e.Low {
		p.say("That is not clearly better than guessing, as far as %s can tell.", several(e.N, "example"))
	} else if e.N < 100 {
		p.say("%s are few: believe the range rather than the figure.", several(e.N, "test example"))
	}
}

// bracket puts an interval into brackets where there is one.
func bracket(words string, e api.Estimate) string {
	if e.High <= e.Low {
		return ""
	}
	return " (" + words + ")"
}

// figure is an estimate without its noun, for a second mention: 99.5 %.
func figure(metric string, e api.Estimate) string {
	switch measureOf(metric).form {
	case right:
		return percent(e.Value, digits(e))
	case tokens:
		return percent(e.Value, places(e))
	}
	s := short(metric, e)
	return strings.TrimPrefix(s, measureOf(metric).name+" ")
}

// sentence makes "guessing 10.6 %" into "Guessing: 10.6 %. ".
func sentence(words, after string) string {
	if words == "" {
		return ""
	}
	head, rest, ok := strings.Cut(words, " ")
	if strings.Contains(words, after) {
		return capital(words) + ". "
	}
	if !ok {
		return capital(words) + ". "
	}
	return capital(head) + after + rest + ". "
}

func capital(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	return strings.ToUpper(string(r[0])) + string(r[1:])
}

// optimistic tells whether the search's figure is above the test's.
func optimistic(b api.Best) bool { return b.Test != nil && b.Search.Value > b.Test.Value }

// withoutTest is the verdict where no test part was kept apart.
func withoutTest(p *page, t api.Task, b api.Best) {
	m, e := t.Metric.Name, b.Search
	interval := likely(m, e)
	if interval != "" {
		interval = "; " + interval
	}
	p.say("%s%s · %s", inSearch(t, e), interval, guessing(m, e, t.Guess))
	why := "No test part was kept apart"
	if t.Examples < 60 {
		why = fmt.Sprintf("With %s there is no test part", several(t.Examples, "example"))
	}
	p.say("%s: the same examples chose this model, and a winner usually looks a little too good there.", why)
}

// numberVerdict is the verdict where numbers are answered.
func numberVerdict(p *page, t api.Task, b api.Best) {
	m := t.Metric.Name
	if b.Test == nil {
		withoutTest(p, t, b)
		return
	}
	e := *b.Test
	off, hasOff := e.Metrics["mae"]
	r2, hasR2 := e.Metrics["r2"]
	if m == "r2" && !hasR2 {
		r2, hasR2 = e.Value, true
	}
	if hasOff {
		first := "Off by " + own(off, e.N) + " on average"
		if low, high, ok := offRange(e); ok {
			first += fmt.Sprintf(" (likely %s–%s%s)", own(low, e.N), own(high, e.N), within(t))
		} else {
			first += doubted(t)
		}
		p.say("%s", join(first, guessing("r2", e, t.Guess)))
	} else {
		p.say("%s on the test part%s: %s that the search never saw%s", short(m, e), doubted(t), several(e.N, "example"), bracket(likely(m, e), e))
	}
	if hasR2 {
		strength := "It explains"
		switch {
		case r2 <= 0:
			strength = "No better than saying the mean: it explains"
		case r2 < 0.5:
			strength = "A weak model: it explains"
		}
		p.say("%s %s of the variation (R² %s, %s never used in the search).",
			strength, percent(max(0, r2), digits(e)), fraction(r2, e), several(e.N, "example"))
	}
	switch {
	case m == "r2":
		searchR2 := explainedValue(b.Search)
		line := fmt.Sprintf("In the search R² was %s", fraction(searchR2, b.Search))
		if hasR2 && searchR2-r2 >= 0.1 {
			p.say("%s. So large a gap happens with few examples; believe the %s.", line, fraction(r2, e))
		} else if hasR2 && searchR2 > r2 {
			p.say("%s: a winner usually looks a little too good there.", line)
		} else {
			p.say("%s.", line)
		}
	default:
		line := fmt.Sprintf("In the search it was %s", short(m, b.Search))
		if optimistic(b) {
			line += ": a winner usually looks a little too good there"
		}
		p.say("%s.", line)
	}
}

// chosenWords says which model it is, and what it was chosen among.
func chosenWords(t api.Task, b api.Best) string {
	s := fmt.Sprintf("Trial %d: %s", b.Trial, b.Label)
	switch n := len(b.TiedWith); {
	case n == 1:
		s += fmt.Sprintf(" · 1 other can't be told apart from it (%s)", b.TiedWith[0])
	case n > 1:
		s += fmt.Sprintf(" · %s others can't be told apart from it", count(n))
	default:
		return s + " · trained in " + seconds(b.Seconds)
	}
	return s + "; taken: first in the search, ties by time"
}
