package show

import (
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/easeml/easeml/api"
)

// shownRejects is how many groups of rejected rows are named before a count.
const shownRejects = 3

// Upload is the progress of a file on its way: done of all bytes, and the
// seconds it may still take (0: not known).
func Upload(name string, done, of int64, left float64) Output {
	share := 1.0
	if of > 0 {
		share = float64(done) / float64(of)
	}
	return progress("Uploading "+name, share, join(bytesOf(done, of), leftWords(left)), "resumes if the line drops")
}

// Hashing is the progress of a file or folder that is read before it is sent: what
// the server has already isn't sent again.
func Hashing(name string, done, of int64) Output {
	share := 1.0
	if of > 0 {
		share = float64(done) / float64(of)
	}
	return progress("Looking through "+name, share, bytesOf(done, of), "only what is new is sent")
}

// Reading is the progress of a feed at the server.
func Reading(name string, f api.FeedProgress) Output {
	verb := "Reading"
	switch f.Phase {
	case "", "read", "reading":
	default:
		verb = strings.ToUpper(f.Phase[:1]) + f.Phase[1:] + ":"
	}
	switch {
	case f.Of > 0:
		return progress(verb+" "+name, float64(f.Rows)/float64(f.Of), count(int(f.Rows))+" of "+count(int(f.Of))+" rows", "")
	case f.Rows > 0:
		return Plain(fmt.Sprintf("%s %s · %s", verb, name, several(int(f.Rows), "row")))
	}
	return Plain(fmt.Sprintf("%s %s …", verb, name))
}

func progress(what string, share float64, words, note string) Output {
	share = min(1, max(0, share))
	line := fmt.Sprintf("%s %s %.0f %% · %s", what, meter(share, 20), 100*share, words)
	if note != "" && columns(line)+6+columns(note)+2 <= Width {
		line += "      (" + note + ")"
	}
	p := page{}
	p.say("%s", line)
	return p.output()
}

// meter is a share drawn with characters.
func meter(share float64, width int) string {
	full := int(share*float64(width) + 0.5)
	return "▕" + strings.Repeat("█", full) + strings.Repeat("░", width-full) + "▏"
}

func bytesOf(done, of int64) string {
	a, b := size(done), size(of)
	if n, unit, _ := strings.Cut(a, " "); strings.HasSuffix(b, " "+unit) {
		return n + " of " + b
	}
	return a + " of " + b
}

func leftWords(s float64) string {
	if s <= 0 {
		return ""
	}
	return "about " + about(s)
}

// Fed is what feed answers when it has ended: the feed, and the task after it.
func Fed(name string, f api.Feed, v api.View) Output {
	p := page{}
	if c := f.Changed; c != nil && !f.Earlier && f.Accepted+len(c.Corrected)+len(c.Gone) > 0 {
		changedFile(&p, name, f, v)
		return p.output()
	}
	if f.Earlier || (f.Accepted == 0 && f.Rejected == 0 && f.Known > 0) {
		p.say("%s: %s here already. Nothing changed.", sourceWords(f.Sources), allWords(max(f.Known, f.Accepted), f.Rejected))
		return p.output()
	}
	first := fmt.Sprintf("%s taken, %s rejected", several(f.Accepted, "example"), count(f.Rejected))
	if f.Known > 0 {
		first += fmt.Sprintf(", %s here already", count(f.Known))
	}
	if f.Version > 0 {
		first += fmt.Sprintf(" · version %d", f.Version)
	}
	p.say("%s", join(first, classWords(v.Task)))
	rejectLines(&p, f.Rejects, f.Rejected)
	for _, r := range f.ReadAs {
		p.add("read: %s", r)
	}
	if s := partWords(v.Task); s != "" {
		p.add("kept apart: %s", s)
	}
	if m := v.Metric; m.Reason != "" && measureOf(m.Name).form != right {
		between := ": "
		if strings.HasPrefix(m.Reason, "since ") {
			between = ", "
		}
		p.add("quality: %s%s%s", measureOf(m.Name).says, between, m.Reason)
	}
	warningLines(&p, name, f.Warnings)
	switch {
	case v.State == api.TaskSearching && real(v.Best):
		p.say("The search goes on from what it knows; the model of before answers meanwhile.")
	case v.State == api.TaskSearching:
		p.say("Searching: %s%s.", several(v.Candidates, "candidate"), firstModelWords(v))
	case v.Stopped:
		p.say("%s is stopped, so nothing runs.", name)
		p.then("resume %s", name)
		return p.output()
	case f.Accepted == 0:
		p.say("Nothing was taken, so nothing changed.")
		return p.output()
	case v.Reason == api.SettledNoData:
		p.say("There is nothing to search by yet: it starts by itself when there is more.")
		p.then("feed %s \"FILE\"", name)
		return p.output()
	default:
		p.say("%s is %s.", name, standing(v.Task, v.Now))
	}
	p.then("watch %s", name)
	return p.output()
}

// firstModelWords says when there will be a first real model: the quickest
// candidate's turn and time. Its seconds are nearly log-normal; the range holds in
// about four of five cases.
func firstModelWords(v api.View) string {
	low, high := 0.0, 0.0
	for _, r := range v.Rows {
		if e := r.Expected; e != nil && !r.Baseline && e.Seconds > 0 {
			spread := math.Exp(1.2816 * math.Sqrt(math.Log1p(e.SecondsSD*e.SecondsSD/(e.Seconds*e.Seconds))))
			if high == 0 || e.Seconds*spread < high {
				low, high = e.Seconds/spread, e.Seconds*spread
			}
		}
	}
	switch q := v.Queue; {
	case q != nil && q.Position == 0:
		return "; " + queueWords(*q, v.Now)
	case high == 0:
		return ""
	case q != nil && q.EtaHigh == 0:
		return "; a first model: no estimate yet"
	case q != nil:
		low, high = low+q.EtaLow, high+q.EtaHigh
	}
	return "; a first model in " + between(low, max(high+1, low)) // the guess is measured before it
}

func sourceWords(sources []string) string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = path.Base(s)
	}
	if len(names) > 3 {
		return several(len(names), "file")
	}
	return list(names, "and")
}

func allWords(known, rejected int) string {
	if rejected > 0 {
		return fmt.Sprintf("%s (and %s rejected again) are", several(known, "example"), count(rejected))
	}
	if known == 1 {
		return "its 1 example is"
	}
	return "all " + several(known, "example") + " are"
}

// classWords says how many examples the classes have: "137–153 of each class".
func classWords(t api.Task) string {
	if len(t.Classes) < 2 {
		return ""
	}
	labels := make([]string, 0, len(t.Classes))
	for l := range t.Classes {
		labels = append(labels, l)
	}
	sort.Slice(labels, func(i, j int) bool {
		a, b := t.Classes[labels[i]], t.Classes[labels[j]]
		return a > b || a == b && labels[i] < labels[j]
	})
	high, low := t.Classes[labels[0]], t.Classes[labels[len(labels)-1]]
	switch {
	case high == low:
		return count(high) + " of each class"
	case len(labels) <= 4 || high > 3*low:
		if len(labels) > 4 {
			rarest := labels[len(labels)-1]
			return fmt.Sprintf("%s of most classes, only %s of %s", count(t.Classes[labels[len(labels)/2]]), count(low), rarest)
		}
		var parts []string
		for _, l := range labels {
			shown := l
			if _, err := strconv.ParseFloat(l, 64); err == nil { // two numbers side by side can't be told apart
				shown = strconv.Quote(l)
			}
			parts = append(parts, count(t.Classes[l])+" "+shown)
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s–%s of each class", count(low), count(high))
}

// partWords says what is kept apart from training.
func partWords(t api.Task) string {
	if t.Examples == 0 {
		return ""
	}
	test := fmt.Sprintf("%s for the final test, which the search never sees", count(t.Parts.Test))
	switch {
	case t.Protocol.Kind == "folds" && t.Parts.Test > 0:
		return fmt.Sprintf("%s; candidates are compared by turns on the other %s (%d folds)", test, count(t.Examples-t.Parts.Test), t.Protocol.K)
	case t.Protocol.Kind == "folds":
		return fmt.Sprintf("nothing, there are too few for a test part; candidates are compared by turns on all %s (%d folds)", count(t.Examples), t.Protocol.K)
	case t.Parts.Validation == 0 && t.Parts.Test == 0:
		return ""
	case t.Parts.Test == 0:
		return fmt.Sprintf("%s to compare candidates; no test part", count(t.Parts.Validation))
	}
	return fmt.Sprintf("%s to compare candidates, %s", count(t.Parts.Validation), test)
}

// rejectLines names the first groups of rejected rows with place and reason.
func rejectLines(p *page, rejects []api.Reject, all int) {
	type group struct {
		source, words string
		places        []string
		lines, zero   bool
	}
	var groups []*group
	byKey := map[string]*group{}
	for _, r := range rejects {
		words := rejectWords(r)
		key := r.Source + "\x00" + words
		g := byKey[key]
		if g == nil {
			g = &group{source: path.Base(r.Source), words: words}
			if oneFile(r.Source) {
				g.source = r.Source
			}
			byKey[key] = g
			groups = append(groups, g)
		}
		if r.Line != nil {
			g.places, g.lines = append(g.places, count(int(*r.Line))), true
		} else {
			g.places, g.zero = append(g.places, count(int(r.Row))), true
		}
	}
	named := 0
	for i, g := range groups {
		if i == shownRejects {
			break
		}
		noun := "row"
		if g.lines {
			noun = "line"
		}
		named += len(g.places)
		if oneFile(g.source) { // its name is the place
			colon := ""
			if strings.HasSuffix(g.source, "/") { // a sentence follows, not what is wrong with the file
				colon = ":"
			}
			p.add("rejected: %s%s %s", g.source, colon, g.words)
			continue
		}
		places, more := g.places, ""
		if len(places) > 5 {
			more = fmt.Sprintf(" and %s more", count(len(places)-5))
			places = places[:5]
		}
		if len(g.places) > 1 {
			noun += "s"
		}
		note := ""
		if g.zero && !g.lines && fromZero(g.source) {
			note = " (counted from 0)"
		}
		p.add("rejected: %s %s %s%s%s: %s", g.source, noun, strings.Join(places, ", "), more, note, g.words)
	}
	if rest := all - named; rest > 0 && named > 0 {
		p.add("… and %s more", count(rest))
	}
}

// oneFile tells whether a reject's source is itself the place: a picture, or a
// folder of pictures.
func oneFile(source string) bool {
	switch strings.ToLower(path.Ext(source)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return strings.HasSuffix(source, "/")
}

// fromZero tells whether the rows of a file are counted from 0, as its arrays are.
func fromZero(source string) bool {
	return strings.EqualFold(path.Ext(source), ".npz")
}

// rejectWords is the value and the reason, then what to do.
func rejectWords(r api.Reject) string {
	var s string
	switch {
	case r.Value != "" && strings.Contains(r.Reason, strings.Trim(r.Value, `"`)):
		if s = r.Reason; r.Column != "" {
			s = r.Column + ": " + s
		}
	case r.Column != "" && r.Value != "":
		s = fmt.Sprintf("%s %s, %s", r.Column, r.Value, r.Reason)
	case r.Column != "":
		s = r.Column + ": " + r.Reason
	case r.Value != "":
		s = r.Value + ", " + r.Reason
	default:
		s = r.Reason
	}
	if r.Remedy != "" {
		s += " (" + strings.TrimSuffix(r.Remedy, ".") + ")"
	}
	return s
}

// warningLines says what to settle before a number is trusted.
func warningLines(p *page, name string, warnings []api.Warning) {
	if len(warnings) == 0 {
		return
	}
	warnings = slices.Clone(warnings)
	slices.SortStableFunc(warnings, func(a, b api.Warning) int { // what spoils numbers comes first
		switch {
		case minor[a.Code] == minor[b.Code]:
			return 0
		case minor[b.Code]:
			return -1
		}
		return 1
	})
	if slices.ContainsFunc(warnings, func(w api.Warning) bool { return !minor[w.Code] }) {
		p.say("Before you trust any number:")
	} else {
		p.say("Good to know:")
	}
	spoiled := false
	for _, w := range warnings {
		p.add("%s", warningWords(name, w))
		spoiled = spoiled || w.Spoils
	}
	if spoiled {
		p.say("Figures are marked until that is answered. Is all of it fine as it is? feed %s as is", name)
	}
}

// changedFile says how a file differs from what was fed of it before.
func changedFile(p *page, name string, f api.Feed, v api.View) {
	parts := []string{count(f.Accepted) + " new"}
	if n := f.Changed.Relabeled; n > 0 {
		parts[0] += fmt.Sprintf(" (%s of them %s there before with another label)", count(n), pick(n, "was", "were"))
	}
	if n := len(f.Changed.Corrected); n > 0 {
		parts = append(parts, count(n)+" with another label")
	}
	gone := f.Changed.Gone
	if n := len(gone); n > 0 {
		parts = append(parts, count(n)+" gone")
	}
	if f.Rejected > 0 {
		parts = append(parts, fmt.Sprintf("%s rejected", count(f.Rejected)))
	}
	since := "it was fed"
	if t := f.Changed.Since; t != nil {
		since = clock(*t, v.Now)
	}
	first := fmt.Sprintf("%s has changed since %s: %s", sourceWords(f.Sources), since, strings.Join(parts, ", "))
	if f.Version > 0 {
		first += fmt.Sprintf(" → version %d (%s)", f.Version, several(v.Examples, "example"))
	}
	p.say("%s", first)
	rejectLines(p, f.Rejects, f.Rejected)
	warningLines(p, name, f.Warnings)
	if n := len(gone); n > 0 {
		p.say("The %s that %s gone %s still on.", pick(n, "one", count(n)), pick(n, "is", "are"), pick(n, "is", "are"))
		p.lead = pick(n, "To drop it", "To drop them")
		p.then("refine %s off gone", name)
	} else {
		p.then("watch %s", name)
	}
}

// minor are the codes of warnings that are good to know and spoil no number.
var minor = map[string]bool{"copies": true, "dates": true, "rare_class": true, "absent_class": true, "constant_column": true}

// warningWords is a warning with what settles it. Which examples are tested was
// settled when they were fed: for another choice a task is begun anew.
func warningWords(name string, w api.Warning) string {
	mark := "! "
	if minor[w.Code] {
		mark = "· "
	}
	switch {
	case w.Fix == "":
		return mark + w.Message
	case strings.HasPrefix(w.Fix, "with "):
		return fmt.Sprintf("%s%s  → drop %s, then feed it %s", mark, w.Message, name, w.Fix)
	}
	return fmt.Sprintf("%s%s  → drop %s, then %s", mark, w.Message, name, w.Fix)
}
