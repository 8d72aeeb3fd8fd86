package show

import (
	"fmt"

	"github.com/easeml/easeml/api"
)

// shownMistakes is how many kinds of mistakes best names.
const shownMistakes = 5

// mistakeLines say where a model of classes errs, on the examples that compared
// candidates.
func mistakeLines(p *page, m api.Mistakes) {
	if m.Wrong == 0 {
		p.say("Mistakes in the search: none of %s", count(m.N))
		return
	}
	p.say("Mistakes in the search: %s%s", confusions(m.Pairs[:min(len(m.Pairs), shownMistakes)]), restOfMistakes(m))
	line := ""
	if w := m.Weakest; w != nil {
		line = fmt.Sprintf("weakest class %s, %s of %s right", w.Label, count(w.Right), count(w.N))
	}
	sure := ""
	if m.Sure != nil && m.Sure.N > 0 {
		sure = fmt.Sprintf("where it is sure (≥ 0.8) %s of %s right", count(m.Sure.Right), count(m.Sure.N))
		if m.Unsure != nil && m.Unsure.N > 0 {
			sure += fmt.Sprintf(", where not %s of %s", count(m.Unsure.Right), count(m.Unsure.N))
		}
	}
	if s := join(line, sure); s != "" {
		p.say("%s", capital(s))
	}
}

// confusions puts what was taken for what into words: "8 read as 1, 2 and 3 · 3
// read as 8".
func confusions(pairs []api.Pair) string {
	var order []string
	answers := map[string][]string{}
	for _, c := range pairs {
		if answers[c.Truth] == nil {
			order = append(order, c.Truth)
		}
		s := c.Answer
		if c.N > 1 {
			s += fmt.Sprintf(" (%s times)", count(c.N))
		}
		answers[c.Truth] = append(answers[c.Truth], s)
	}
	var parts []string
	for _, truth := range order {
		parts = append(parts, truth+" read as "+list(answers[truth], "and"))
	}
	return join(parts...)
}

// restOfMistakes counts those that are not named.
func restOfMistakes(m api.Mistakes) string {
	rest := m.Wrong
	for i, c := range m.Pairs {
		if i < shownMistakes {
			rest -= c.N
		}
	}
	if rest <= 0 {
		return ""
	}
	return fmt.Sprintf(" · %s more", count(rest))
}
