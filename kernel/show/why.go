package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
)

// Why tells the last decision of a search; nil is none yet.
func Why(name string, v api.View, d *api.Decision) Output {
	p := page{}
	if d == nil {
		if v.State == api.TaskDeclared {
			p.say("%s has no examples yet, so nothing was decided.", name)
			p.then("feed %s \"FILE\"", name)
			return p.output()
		}
		p.say("%s · nothing has been started on this version yet: %s", name, standing(v.Task, v.Now))
		waiting(&p, v)
		return p.output()
	}
	if v.State == api.TaskSettled {
		p.say("%s · %s, so nothing is started now. The last that was:", name, settledWords(v.Task))
	}
	decision(&p, v, *d)
	if i := rowOf(v, d.Candidate); i >= 0 {
		outcomeOfRow(&p, v, v.Rows[i])
	}
	turnLine(&p, *d)
	if v.Rho != nil && v.State == api.TaskSearching {
		p.say("So far sharing made this task %s.", fairWords(*v.Rho))
	}
	waiting(&p, v)
	return p.output()
}

// WhyTrial tells why one trial was started, and what came of it.
func WhyTrial(v api.View, d api.Decision, t api.Trial) Output {
	p := page{}
	decision(&p, v, d)
	row := api.Row{Label: t.Label, Baseline: t.Candidate == baseline(v), State: t.State, Search: t.Search, Seconds: &t.Seconds, Kind: t.Kind, Message: t.Message}
	outcomeOfRow(&p, v, row)
	turnLine(&p, d)
	return p.output()
}

// WhyCandidate tells why a candidate was started, or why it was not yet. d is the
// decision that started it, else the last one of the search, else nil.
func WhyCandidate(name string, v api.View, r api.Row, d *api.Decision) Output {
	if d != nil && d.Candidate == r.Candidate && r.State != "open" {
		p := page{}
		decision(&p, v, *d)
		outcomeOfRow(&p, v, r)
		turnLine(&p, *d)
		return p.output()
	}
	p := page{}
	switch {
	case r.State == "set_aside" || r.State == "failed":
		p.say("%s · was not tried: %s", r.Label, failure(r))
		return p.output()
	case r.Expected == nil:
		p.say("%s · not tried yet, and nothing is expected of it yet", r.Label)
		return p.output()
	}
	e := *r.Expected
	first := fmt.Sprintf("%s · not tried yet · expected %s, takes %s", r.Label, expected(v.Metric.Name, e.Mean, e.SD), roughly(e.Seconds))
	p.say("%s", first)
	if e.Gain > 0 && v.Best != nil {
		p.say("Beats the best so far (%s) with a chance of %s; average gain %s", figure(v.Metric.Name, v.Best.Search), chance(e.Chance), gainCell(v.Metric.Name, e.Gain))
	}
	for _, line := range notYet(v, r, d) {
		p.say("%s", line)
	}
	if v.State == api.TaskSearching {
		p.then("why %s", name)
	}
	return p.output()
}

// notYet says why a candidate has not been tried.
func notYet(v api.View, r api.Row, d *api.Decision) (lines []string) {
	switch {
	case v.State == api.TaskSettled && v.Reason == api.SettledLikelyFinal:
		return []string{"The search is likely final: what is left, this one too, could hardly add anything."}
	case v.State == api.TaskSettled:
		return []string{capital(settledWords(v.Task)) + ", so nothing is started."}
	}
	worth := perSecond(r)
	ahead, next := 0, -1
	for i, o := range v.Rows {
		if o.Candidate == r.Candidate || o.State != "open" || o.Baseline || o.Expected == nil {
			continue
		}
		if w := perSecond(o); w > worth {
			ahead++
			if next < 0 || w > perSecond(v.Rows[next]) {
				next = i
			}
		}
	}
	if d != nil {
		if a, ok := d.Account(); ok {
			for _, s := range a.SetAside {
				if s.Candidate == r.Candidate {
					lines = append(lines, "When a device was last given away, "+asideWords(s.Why)+".")
				}
			}
		}
	}
	switch {
	case worth <= 0:
	case ahead == 0:
		lines = append(lines, "Of those left it gains most per second: it comes next.")
	default:
		lines = append(lines, fmt.Sprintf("%s first, gaining more per second; %s gains %s × as much.",
			pick(ahead, "1 other comes", count(ahead)+" others come"), v.Rows[next].Label, times(perSecond(v.Rows[next])/worth)))
	}
	return lines
}

// perSecond is what an untried candidate is expected to gain a second.
func perSecond(r api.Row) float64 {
	if r.Expected == nil || r.Expected.Seconds <= 0 {
		return 0
	}
	return r.Expected.Gain / r.Expected.Seconds
}

// asideWords puts the allocator's word for a candidate that it did not consider
// into a sentence part.
func asideWords(why string) string {
	word, rest, _ := strings.Cut(why, " ")
	switch word {
	case "class":
		return "it could not run on that kind of device"
	case "infeasible":
		return "it had ended before for what that kind of device lacks"
	case "opening":
		return "a first, cheap model came before it"
	case "settled":
		return "only a few others were owed a trial"
	case "slower":
		m := turnNumbers(rest)
		if n, err := strconv.ParseFloat(m["times"], 64); err == nil {
			return fmt.Sprintf("it was kept for %s, where it takes 1/%s of the time", m["elsewhere"], times(n))
		}
	}
	return "it was set aside (" + why + ")"
}

// decision is a decision with its evidence: what went where and why, what was
// expected of the chosen and of its rivals.
func decision(p *page, v api.View, d api.Decision) {
	a, ok := d.Account()
	if !ok {
		p.say("Trial %d: %s was started %s; no reason was kept.", d.Trial, d.Label, clockAt(d.Time, v.Now))
		return
	}
	where := "a device"
	if a.Device != "" {
		where = a.Device
	}
	p.say("%s %s went to %s (trial %d): %s.", capital(clockAt(d.Time, v.Now)), where, d.Label, d.Trial, chosenBecause(v, d, a))
	m := v.Metric.Name
	if d.Candidate == baseline(v) {
		return
	}
	head := []string{"candidate", "", expectedHead(m), "takes"}
	right := []bool{false, false, true, true}
	withGain := a.Best >= 0 && a.Gain > 0
	if withGain {
		head = append(head, "beats "+quality(m, a.Best), "average gain", "worth per second")
		right = append(right, true, true, true)
	}
	t := &table{head: head, right: append(right, false)}
	least := math.Inf(1)
	worth := func(gain, seconds float64) float64 {
		if seconds <= 0 {
			return 0
		}
		return gain / seconds
	}
	if withGain {
		least = worth(a.Gain, a.Seconds)
		for _, r := range a.Rivals {
			if w := worth(r.Gain, r.Seconds); w > 0 {
				least = min(least, w)
			}
		}
	}
	put := func(label, mark string, r api.Rival) {
		cells := []string{label, mark, expected(m, r.Mean, r.SD), roughly(r.Seconds)}
		if withGain {
			cells = append(cells, chance(r.Chance), gainCell(m, r.Gain), times(worth(r.Gain, r.Seconds)/least))
		}
		t.put(append(cells, asideNote(r.Aside))...)
	}
	put(d.Label, "◀", api.Rival{Mean: a.Mean, SD: a.SD, Gain: a.Gain, Chance: a.Chance, Seconds: a.Seconds})
	for _, r := range a.Rivals {
		put(labelOf(v, r.Candidate), "", r)
	}
	p.lay(t)
	if withGain {
		if r, ok := hope(a); ok {
			p.say("%s is likelier to beat it (%s), but finding out takes %s × as long: it comes after the cheap ones.",
				labelOf(v, r.Candidate), chance(r.Chance), times(r.Seconds/a.Seconds))
		}
	}
	if s := knownFrom(a); s != "" {
		p.say("Expected from: %s.", s)
	}
}

// asideNote says in the table that a rival was not considered.
func asideNote(why string) string {
	switch word, _, _ := strings.Cut(why, " "); word {
	case "":
		return ""
	case "opening":
		return "later"
	case "slower":
		return "elsewhere"
	case "settled":
		return "owed no trial"
	}
	return "not here"
}

// hope is the rival that promises more than the chosen one and costs much more.
func hope(a api.Reason) (best api.Rival, ok bool) {
	for _, r := range a.Rivals {
		if r.Aside == "" && r.Chance > a.Chance && r.Chance > best.Chance && r.Seconds > 5*a.Seconds {
			best, ok = r, true
		}
	}
	return best, ok
}

// chosenBecause says why the candidate was chosen within its search.
func chosenBecause(v api.View, d api.Decision, a api.Reason) string {
	word, _, _ := strings.Cut(a.Turn, " ")
	over := ""
	if a.Best >= 0 {
		over = " over the " + quality(v.Metric.Name, a.Best) + ofThen(v, d.Time, a.Best)
	}
	switch {
	case d.Candidate == baseline(v):
		return "the guess comes first, so that every figure has a reference beside it"
	case word == "opening":
		return "a first model at little cost, so that there is something to answer with"
	case a.Policy == "roundrobin" || a.Policy == "hybrid" || a.Policy == "greedy" || a.Policy == "fcfs":
		return "the highest bound on what it may reach"
	case a.Policy == "default" || a.Policy == "mm-ei":
		if over == "" {
			return "most to be expected per second; nothing had finished yet"
		}
		return "most improvement per second" + over
	}
	return "the next one by the policy " + a.Policy
}

// ofThen names the candidate that was best at a time, if the curve knows it.
func ofThen(v api.View, at time.Time, best float64) string {
	for _, pt := range v.Curve {
		if !pt.Time.After(at) && math.Abs(pt.Quality-best) < 1e-9 {
			return " of " + pt.Label
		}
	}
	return ", the best of then"
}

// outcomeOfRow says what came of a trial.
func outcomeOfRow(p *page, v api.View, r api.Row) {
	switch {
	case r.Search != nil && r.State == "stopped":
		p.say("It was stopped early with %s%s.", counted(v.Metric.Name, *r.Search), after(r))
	case r.Search != nil:
		p.say("It reached %s in the search%s.", counted(v.Metric.Name, *r.Search), after(r))
	case r.State == "running":
		p.say("It runs now.")
	case r.State == "paused" || r.State == "queued":
		p.say("It gave its device back and goes on later.")
	case r.State == "failed":
		p.say("It could not run: %s", failure(r))
	}
}

func after(r api.Row) string {
	if r.Seconds == nil {
		return ""
	}
	return ", in " + seconds(*r.Seconds)
}

// turnLine says whose turn it was and why.
func turnLine(p *page, d api.Decision) {
	a, ok := d.Account()
	if !ok || a.Turn == "" {
		return
	}
	word, rest, _ := strings.Cut(a.Turn, " ")
	m := turnNumbers(rest)
	waiting, _ := strconv.Atoi(m["searches"])
	if waiting <= 1 {
		p.say("Your turn, because: no other task waited for a device of this kind.")
		return
	}
	share := ""
	if a.AttainedShare > 0 || a.Results > 0 {
		share = fmt.Sprintf(" (yours: %s × the mean)", significant(a.AttainedShare, 2))
	}
	of := fmt.Sprintf("of %d tasks waiting, ", waiting)
	switch word {
	case "opening":
		p.say("Your turn, because: %syours had no model yet; a first one comes before better ones for others.", of)
	case "overdue":
		n, _ := strconv.Atoi(m["waited"])
		p.say("Your turn, because: %syours had waited longest, through %s for others.", of, several(n, "decision"))
	case "rate":
		p.say("Your turn, because: %syours gained most per second, given the device time had so far%s.", of, share)
	case "gap":
		p.say("Your turn, because: %syours had the largest gap between what it may reach and what it has.", of)
	case "robin":
		p.say("Your turn, because: the %d tasks waiting take turns.", waiting)
	case "first":
		p.say("Your turn, because: %syours came first.", of)
	default:
		p.say("Your turn, because: %syours was drawn (%s).", of, word)
	}
}

// turnNumbers reads name=value pairs.
func turnNumbers(s string) map[string]string {
	m := map[string]string{}
	for _, f := range strings.Fields(s) {
		if name, value, ok := strings.Cut(f, "="); ok {
			m[name] = value
		}
	}
	return m
}

// knownFrom says what the expectation rests on; "" where that was not kept.
func knownFrom(a api.Reason) string {
	if a.Device == "" {
		return ""
	}
	var parts []string
	if a.Results > 0 {
		parts = append(parts, several(a.Results, "finished trial")+" here")
	}
	if a.Inherited > 0 {
		parts = append(parts, several(a.Inherited, "result")+" of the version before")
	}
	if a.Earlier > 0 {
		earlier := several(a.Earlier, "earlier data set") + " of this kind"
		if a.PriorVersion > 0 {
			earlier += fmt.Sprintf(" (prior %d)", a.PriorVersion)
		}
		parts = append(parts, earlier)
	}
	if len(parts) == 0 {
		return "what candidates of these kinds usually reach and take; nothing has finished here"
	}
	return strings.Join(parts, ", ")
}

// quality is a figure in [0, 1] in the words of its metric.
func quality(metric string, q float64) string {
	switch measureOf(metric).form {
	case right, tokens:
		return percent(q, 1)
	case deviation, loss:
		return percent(1-q, 0) + " of guessing"
	}
	return fmt.Sprintf("%.2f", q)
}

func expectedHead(metric string) string {
	switch m := measureOf(metric); m.form {
	case right, tokens:
		return "expected"
	case deviation, loss:
		return "expected, of guessing"
	default:
		return "expected " + m.name
	}
}

// expected is a quality with its standard deviation: 98.3 ± 0.8 %.
func expected(metric string, mean, sd float64) string {
	switch measureOf(metric).form {
	case right, tokens:
		return fmt.Sprintf("%.1f ± %s %%", 100*mean, spread(100*sd, 1))
	case deviation, loss:
		return fmt.Sprintf("%.0f ± %s %%", 100*(1-mean), spread(100*sd, 0))
	}
	return fmt.Sprintf("%.2f ± %s", mean, spread(sd, 2))
}

// spread has d digits after the point, more where it would be 0.
func spread(v float64, d int) string {
	s := strconv.FormatFloat(v, 'f', d, 64)
	if strings.Trim(s, "0.") == "" && v > 0 {
		return significant(v, 1)
	}
	return s
}

// chance is a probability, without digits that nobody can know.
func chance(c float64) string {
	switch {
	case c < 0.005:
		return "under 1 %"
	case c > 0.995:
		return "over 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*c)
}

func gainCell(metric string, g float64) string {
	switch measureOf(metric).form {
	case right, tokens, deviation, loss:
		if g < 0.00005 {
			return "under 0.01 %"
		}
		return significant(100*g, 2) + " %"
	}
	if g < 0.00005 {
		return "under 0.0001"
	}
	return significant(g, 2)
}

// times is a ratio: 1, 8, 97, 2,190.
func times(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return ""
	case x < 9.95:
		return trimNumber(x, 1)
	case x < 1000:
		return fmt.Sprintf("%.0f", x)
	}
	return significant(x, 3)
}

// roughly is an expected time.
func roughly(s float64) string {
	if s < 0.95 {
		return seconds(s)
	}
	return about(s)
}

// clockAt is a moment, to the second where it is today.
func clockAt(t, now time.Time) string {
	if t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return "at " + clockSeconds(t)
	}
	return clock(t, now)
}

// baseline is the candidate that guesses.
func baseline(v api.View) string {
	for _, r := range v.Rows {
		if r.Baseline {
			return r.Candidate
		}
	}
	return ""
}

func rowOf(v api.View, candidate string) int {
	for i, r := range v.Rows {
		if r.Candidate == candidate {
			return i
		}
	}
	return -1
}

// labelOf is a candidate's name for people, else its id.
func labelOf(v api.View, candidate string) string {
	if i := rowOf(v, candidate); i >= 0 {
		return v.Rows[i].Label
	}
	return candidate
}
