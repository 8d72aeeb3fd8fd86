package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// Declared is what schema answers. name is the task as the person writes it.
func Declared(name string, d api.Declared) Output {
	v := d.View
	p := page{}
	switch {
	case d.Outcome == "same" && v.Examples == 0:
		p.say("%s · as before: no examples yet, nothing runs", name)
		p.then("feed %s \"FILE\"", name)
		return p.output()
	case d.Outcome == "same":
		p.say("%s · as before: %s · nothing restarted", name, strings.Join(sameWords(v.Task), ", "))
		return p.output()
	case d.Outcome == "changed" && v.Examples > 0:
		p.say("%s · other options from now on, %s · %s", name, metricWords(v.Task), afterRefine(v))
		if real(v.Best) {
			if v.Best.Scored == v.Version {
				p.say("The model of before answers meanwhile; by this measure it has %s.", figureOf(v.Metric.Name, v.Best.Search))
			} else {
				p.say("The model of before answers meanwhile.")
			}
		}
		p.then("watch %s", name)
		return p.output()
	}
	if d.Outcome == "replaced" {
		p.say("%s · replaced, it had no examples: %s", name, what(v.Task))
	} else {
		p.say("%s · %s", name, what(v.Task))
	}
	p.say("%s", join(catalogWords(v.Task, d.Count, v.Deep), metricWords(v.Task)))
	if n := missingDeep(v.Deep); n > 0 {
		p.say("%s PyTorch, which is not installed where models are trained. The search goes without %s; once it is installed, the next feed takes %s in.",
			pick(n, "1 deep one needs", count(n)+" deep ones need"), pick(n, "it", "them"), pick(n, "it", "them"))
	}
	p.say("No examples yet, nothing runs.")
	p.then("feed %s \"FILE\"", name)
	return p.output()
}

// what is a task in words, with the template that matched it.
func what(t api.Task) string {
	s := t.Description
	if len(t.Labels) > 0 && len(t.Labels) <= 12 {
		s += ", labels " + labelWords(t.Labels)
	}
	if t.Template != "" {
		s += " (" + strings.ReplaceAll(t.Template, "_", " ") + ")"
	}
	return s
}

// labelWords names the labels: 0–9 where they count up, else all of them.
func labelWords(labels []string) string {
	for i, l := range labels {
		if l != fmt.Sprint(i) {
			return list(labels, "and")
		}
	}
	if len(labels) > 2 {
		return fmt.Sprintf("0–%d", len(labels)-1)
	}
	return list(labels, "and")
}

// sameWords is what a task has already.
func sameWords(t api.Task) []string {
	out := []string{several(t.Examples, "example")}
	switch {
	case !real(t.Best):
		out = append(out, "no real model yet")
	case t.Best.Test != nil:
		out = append(out, short(t.Metric.Name, *t.Best.Test)+" on the test part"+doubted(t))
	default:
		out = append(out, inSearch(t, t.Best.Search))
	}
	return out
}

// catalogWords counts the candidates a program would have.
func catalogWords(t api.Task, c api.CatalogCount, deep *api.DeepNote) string {
	missing := missingDeep(deep)
	there := max(0, c.Deep-missing)
	all := several(c.Light+there, "candidate")
	switch {
	case there == 0 && c.Light > 0:
		return all + ", all light (seconds on a CPU)"
	case c.Light == 0 && there > 0:
		return all + ", all deep (a GPU helps)"
	case there == 0 && t.Template == "general_recovery":
		return "no candidates for such an output: what can be learned is a label, numbers, a picture of a picture, a series of a series"
	case there == 0:
		return "candidates: chosen when there are examples"
	}
	return fmt.Sprintf("%s: %s light (seconds on a CPU), %s deep (a GPU helps)", all, count(c.Light), count(there))
}

func missingDeep(d *api.DeepNote) int {
	if d == nil {
		return 0
	}
	return d.Missing
}

// metricWords says what is measured.
func metricWords(t api.Task) string {
	if t.Metric.Name == "" {
		return "metric: chosen from the data"
	}
	s := "metric: " + measureOf(t.Metric.Name).says
	if t.Metric.Reason != "" {
		s += " (" + t.Metric.Reason + ")"
	}
	return s
}

// pick chooses by number.
func pick(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
