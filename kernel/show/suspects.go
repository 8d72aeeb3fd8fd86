package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// shownSuspects is how many suspects are told apart, in two columns.
const shownSuspects = 40

// Suspects lists the examples whose label looks wrong, without their content.
func Suspects(name string, v api.View, f api.Findings) Output {
	p := page{}
	if f.Found == 0 {
		p.say("None of %s of %s looks wrong, judged by models that had not seen the example.", several(f.Of, "label"), name)
		return p.output()
	}
	numbers := f.Suspects[0].Sure == nil
	what := "labels look wrong"
	if numbers {
		what = "numbers are far from what they should be"
	}
	p.say("%s of %s %s, judged by models that had not seen the example. Most likely first:", count(f.Found), count(f.Of), what)
	shown := f.Suspects[:min(len(f.Suspects), shownSuspects)]
	half := (len(shown) + 1) / 2
	t := &table{head: []string{"id", "says", "looks like", "sure"}, right: []bool{true, false, false, true}}
	if half < len(shown) {
		t.head = append(t.head, "id", "says", "looks like", "sure")
		t.right = append(t.right, true, false, false, true)
	}
	row := func(e api.Suspect) []string {
		sure := ""
		if e.Sure != nil {
			sure = fmt.Sprintf("%.2f", *e.Sure)
		}
		return []string{fmt.Sprint(e.Number), e.Says, e.LooksLike, sure}
	}
	for i := range half {
		cells := row(shown[i])
		if i+half < len(shown) {
			cells = append(cells, row(shown[i+half])...)
		} else if half < len(shown) {
			cells = append(cells, "", "", "", "")
		}
		t.put(cells...)
	}
	p.lay(t)
	if rest := f.Found - len(shown); rest > 0 {
		var more []string
		for _, e := range f.Suspects[len(shown):min(len(f.Suspects), len(shown)+12)] {
			more = append(more, fmt.Sprint(e.Number))
		}
		if rest > len(more) {
			more = append(more, "…")
		}
		p.say(" … %s more: %s", count(rest), strings.Join(more, ", "))
	}
	if !numbers {
		p.say("Tried on digits with a quarter of wrong labels: the first ten were wrong indeed, of all suspects 8 in 10. Look before you act.")
	}
	first := shown[0]
	p.say("label wrong?  refine %s %d as %s      unusable?  refine %s off %d", name, first.Number, value(first.LooksLike), name, first.Number)
	if !numbers {
		p.say("Correcting is worth more than switching off: examples are what you have least of.")
	}
	return p.output()
}

// value writes a label as a statement takes it.
func value(label string) string {
	for _, r := range label {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./@+-", r) {
			return fmt.Sprintf("%q", label)
		}
	}
	return label
}

// SuspectsAreOff is what "refine off suspects" answers where that was done.
func SuspectsAreOff(name string, v api.Version) Output {
	p := page{}
	p.say("Nothing changed: the suspects of version %d are off already (%s).", v.Number-1, several(len(v.Changes.Off), "example"))
	p.then("refine %s suspects", name)
	return p.output()
}

// Studying is how far a study is.
func Studying(words string, s api.StudyProgress) Output {
	return Plain(fmt.Sprintf("%s · %s %.0f of %.0f", words, s.Unit, s.Step, s.Of))
}
