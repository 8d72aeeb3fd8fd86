package show

import (
	"fmt"
	"math"
	"strings"

	"github.com/easeml/easeml/api"
)

// shownUses is how many parts of an example are named.
const shownUses = 6

// Explained says what a model uses, or why it answers so for one example.
func Explained(name string, f api.Findings) Output {
	p := page{}
	if f.Answer != "" {
		explainOne(&p, name, f)
		return p.output()
	}
	p.say("%s", capital(useWords(f)))
	if f.Part == "all" {
		p.say("Measured on examples that it has learned from, for there are too few others: believe the order rather than the figures.")
	}
	p.say("What a model uses is not what causes the answer.")
	p.then("explain %s EXAMPLE", name)
	return p.output()
}

// measureWords say what is lost where a part is shuffled.
var measureWords = map[string]string{
	"right":          "right answers lost if it is shuffled",
	"right_by_class": "right answers lost if it is shuffled, each class counting alike",
	"probability":    "how much less likely it holds the right class if it is shuffled",
	"places":         "places of the answer lost if it is shuffled",
	"off":            "how much further off it is if it is shuffled",
}

// useWords says what a model uses: the parts beyond noise with what is lost
// without them, then the rest.
func useWords(f api.Findings) string {
	var beyond, noise []string
	more := 0
	for _, u := range f.Uses {
		switch {
		case !u.Beyond:
			noise = append(noise, u.Name)
		case len(beyond) == shownUses:
			more++
		default:
			beyond = append(beyond, u.Name+" "+lost(f, u))
		}
	}
	if len(beyond) == 0 {
		return fmt.Sprintf("what it uses can't be told from noise with %s.", several(f.Of, "example"))
	}
	s := fmt.Sprintf("what it uses (%s): %s", measureWords[f.Measure], strings.Join(beyond, ", "))
	if more > 0 {
		s += fmt.Sprintf(" and %s more", count(more))
	}
	switch n := len(noise); {
	case n == 0:
		return s + "."
	case n <= 4:
		return s + "; " + list(noise, "and") + ": nothing beyond noise."
	}
	return s + "; the rest is noise."
}

// lost is what is lost without a part, with its noise band.
func lost(f api.Findings, u api.Use) string {
	if f.Measure == "off" {
		return own(u.Lost, f.Of) + " ± " + own(u.Noise, f.Of)
	}
	d := 0
	if u.Lost < 0.01 {
		d = 1
	}
	return fmt.Sprintf("%s ± %s", percentDigits(u.Lost, d), percent(u.Noise, d))
}

// explainOne says why a model answers so for one example.
func explainOne(p *page, name string, f api.Findings) {
	what := "This example"
	if f.Example > 0 {
		what = fmt.Sprintf("Example %d", f.Example)
	}
	first := fmt.Sprintf("%s is read as %s", what, f.Answer)
	if f.Sure != nil {
		first += fmt.Sprintf(" (sure %.2f)", *f.Sure)
	}
	switch {
	case f.Truth == nil:
	case *f.Truth == f.Answer:
		first += ", as its label says"
	default:
		first += "; its label says " + *f.Truth
	}
	p.say("%s.", first)
	var parts []string
	for _, u := range f.Uses {
		if u.Beyond && len(parts) < shownUses {
			if f.Measure == "off" {
				parts = append(parts, u.Name+" "+own(u.Lost, 100))
			} else {
				parts = append(parts, fmt.Sprintf("%s %.2f", u.Name, u.Lost))
			}
		}
	}
	how := "how much less sure it is with other examples' values there"
	if f.Measure == "off" {
		how = "how far the answer moves with other examples' values there"
	}
	if len(parts) > 0 {
		p.say("What speaks for it (%s): %s", how, strings.Join(parts, ", "))
	} else {
		p.say("No single part of it decides: with other examples' values in any one place the answer stays.")
	}
	var near, numbers []string
	for _, n := range f.Nearest {
		near = append(near, fmt.Sprintf("%d (%s)", n.Number, n.Label))
		numbers = append(numbers, fmt.Sprint(n.Number))
	}
	if len(near) > 0 {
		p.say("Most like it of what it learned from: %s", strings.Join(near, ", "))
		if f.Example > 0 {
			numbers = append([]string{fmt.Sprint(f.Example)}, numbers...)
		}
		p.then("refine %s show %s", name, strings.Join(numbers, ", "))
	}
	if f.Seen {
		p.say("The model has learned from this very example, so its answer says little.")
	}
}

// growthWords says what twice as many examples would bring; "" where nothing is known.
func growthWords(f api.Findings) string {
	if f.Of == 0 {
		return ""
	}
	if f.Measure == "off" {
		if f.Doubled == nil {
			return fmt.Sprintf("Twice as many examples: hardly better, as far as %s can tell (half as many: off by %s)", several(f.Of, "example"), own(f.Half, f.Of))
		}
		return fmt.Sprintf("Twice as many examples: off by about %s (half as many: %s)", own(*f.Doubled, f.Of), own(f.Half, f.Of))
	}
	if f.Measure != "right" { // a score, of which the findings hold what it lacks to 1, or a loss
		m := measureOf(f.Measure)
		say := func(x float64) string {
			if m.form == loss {
				return own(x, f.Of)
			}
			return fraction(1-x, api.Estimate{N: f.Of})
		}
		if f.Doubled == nil {
			return fmt.Sprintf("Twice as many examples: hardly better, as far as %s can tell (with half of them %s %s)", several(f.Of, "test example"), m.name, say(f.Half))
		}
		return fmt.Sprintf("Twice as many examples: %s about %s (with half of them %s)", m.name, say(*f.Doubled), say(f.Half))
	}
	d := digits(api.Estimate{Value: 1 - f.Whole, N: f.Of})
	if f.Doubled == nil {
		return fmt.Sprintf("Twice as many examples: hardly better, as far as %s can tell (with half of them it had %s)", several(f.Of, "test example"), percent(1-f.Half, d))
	}
	// A gain in percent needs a digit where it is small.
	gain := func(x float64) string {
		if x < 0.1 {
			return fmt.Sprintf("+%.1f %%", math.Round(1000*x)/10)
		}
		return fmt.Sprintf("+%.0f %%", 100*x)
	}
	return fmt.Sprintf("Twice as many examples: about %s (from half to all of them it was %s)", gain(f.Whole-*f.Doubled), gain(f.Half-f.Whole))
}
