package show

import (
	"fmt"
	"slices"

	"github.com/easeml/easeml/api"
)

// doubt says in few words why the figures of a task may be too good: "column code
// alone gives the answer: see feed"; "" where nothing makes them so.
func doubt(t api.Task) string {
	if len(t.Doubts) == 0 {
		return ""
	}
	s := doubtWords(t.Doubts[0])
	if n := len(t.Doubts) - 1; n > 0 {
		s += fmt.Sprintf(", and %s more", count(n))
	}
	return s + ": see feed"
}

// doubted is the same in brackets after a figure.
func doubted(t api.Task) string {
	if s := doubt(t); s != "" {
		return " (" + s + ")"
	}
	return ""
}

// within is the same behind what stands in a figure's brackets already.
func within(t api.Task) string {
	if s := doubt(t); s != "" {
		return "; " + s
	}
	return ""
}

func doubtWords(w api.Warning) string {
	switch w.Code {
	case "gives_answer":
		return "column " + w.Column + " alone gives the answer"
	case "id_column":
		return "column " + w.Column + " numbers the rows"
	case "repeated_entities":
		return "rows of one " + w.Column + " stand on both sides of the test"
	case "near_duplicates":
		return "nearly the same rows may stand on both sides of the test"
	}
	return "the examples are in doubt"
}

// doubtLines are the doubts in full, with what settles each, and the word for
// somebody who knows that all is well.
func doubtLines(p *page, name string, t api.Task) {
	for _, w := range t.Doubts {
		p.say("%s", warningWords(name, w))
	}
	if n := len(t.Doubts); n > 0 {
		p.say("The figures are marked until %s answered. %s fine as %s? feed %s as is",
			pick(n, "that is", "these are"), pick(n, "Is it", "Are they"), pick(n, "it is", "they are"), name)
	}
}

// AsIs is what is answered to somebody who says that a task's examples are fine as
// they are.
func AsIs(name string, before []api.Warning, after api.View) Output {
	p := page{}
	if len(before) == 0 {
		p.say("%s · nothing of its examples is in doubt; nothing was changed", name)
		return p.output()
	}
	words := make([]string, len(before))
	for i, w := range before {
		words[i] = doubtWords(w)
	}
	p.say("%s · taken as it is: %s", name, list(slices.Compact(words), "and"))
	p.say("The figures are marked no longer; what a later feed brings is looked at anew.")
	if real(after.Best) {
		p.then("best %s", name)
	}
	return p.output()
}
