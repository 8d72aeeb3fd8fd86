package show

import (
	"fmt"

	"github.com/easeml/easeml/api"
)

// shownMistakes is how many kinds of mistakes best names.
const shownMistakes = 5

// shownClasses is up to how many classes there is a picture of confusions.
const shownClasses = 20

// mistakeLines say where a model of classes errs, on the examples that compared
// candidates.
func mistakeLines(p *page, m api.Mistakes) {
	where := " in the search"
	if m.OfTest {
		where = ""
	}
	if m.Wrong == 0 {
		p.say("Mistakes%s: none of %s", where, count(m.N))
		return
	}
	p.say("Mistakes%s: %s%s", where, confusions(m.Pairs[:min(len(m.Pairs), shownMistakes)]), restOfMistakes(m))
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
	p.cross(m)
}

// cross adds the picture of confusions, which only HTML shows: the text has said
// the words. Right is the diagonal.
func (p *page) cross(m api.Mistakes) {
	if n := len(m.Classes); n < 2 || n > shownClasses {
		return
	}
	x := &cross{corner: "is ↓ · read as →"}
	most := 1
	for _, c := range m.Classes {
		x.labels = append(x.labels, clean(c.Label))
		most = max(most, c.N-c.Right)
	}
	counts := map[[2]string]int{}
	for _, pair := range m.Pairs {
		counts[[2]string{pair.Truth, pair.Answer}] = pair.N
		most = max(most, pair.N)
	}
	for _, truth := range m.Classes {
		var cells []crossCell
		for _, answer := range m.Classes {
			n := counts[[2]string{truth.Label, answer.Label}]
			cell := crossCell{N: n, Strength: float64(n) / float64(most)}
			if truth.Label == answer.Label {
				cell = crossCell{N: truth.Right, Right: true}
			}
			cells = append(cells, cell)
		}
		x.rows = append(x.rows, cells)
	}
	p.blocks = append(p.blocks, block{cross: x})
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
