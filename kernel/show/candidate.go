package show

import (
	"fmt"

	"github.com/easeml/easeml/api"
)

// Candidate is one candidate's place in a search.
func Candidate(v api.View, r api.Row) Output {
	p := page{}
	switch {
	case r.Search != nil:
		p.say("%s · %s", r.Label, join(inSearch(v.Task, *r.Search), likely(v.Metric.Name, *r.Search), guessing(v.Metric.Name, *r.Search, v.Guess)))
		if r.Trial != nil {
			p.say("Trial %d, %s of device time", *r.Trial, rowSeconds(r))
		}
	case r.State == "failed" || r.State == "set_aside":
		p.say("%s · could not run: %s", r.Label, failure(r))
	case r.State == "running":
		p.say("%s · running now", r.Label)
	default:
		p.say("%s · not tried yet", r.Label)
	}
	if e := r.Expected; e != nil {
		line := fmt.Sprintf("Expected: %s, in %s", expected(v.Metric.Name, e.Mean, e.SD), roughly(e.Seconds))
		if e.Gain > 0 && real(v.Best) {
			line += fmt.Sprintf("; beats the best so far (%s) with a chance of %s", figure(v.Metric.Name, v.Best.Search), chance(e.Chance))
		}
		p.say("%s", line)
	}
	return p.output()
}
