package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
)

// long is a wait of which people want to know more than its range, in seconds.
const long = 5

// waiting tells what a task waits for: the place and the range; and of a wait that
// is long, what is in the way, who is ahead, and how such estimates have held.
func waiting(p *page, v api.View) {
	q := v.Queue
	if q == nil {
		return
	}
	p.tell("next", "%s", queueWords(*q, v.Now))
	if q.Position == 0 || max(q.EtaHigh, q.Waited) < long {
		return
	}
	if line := missedWords(*q); line != "" {
		p.tell(" ", "%s", line)
	}
	if line := inTheWay(q.InTheWay); line != "" {
		p.tell(" ", "In the way: %s.", line)
	}
	if line := aheadWords(*q); line != "" {
		p.tell(" ", "%s", line)
	}
	var rest []string
	if q.Light {
		rest = append(rest, "Not waiting: light candidates, on CPU slots.")
	}
	if q.Waits >= enoughWaits {
		rest = append(rest, fmt.Sprintf("Estimates held in %d of the last %d waits.", q.Held, q.Waits))
	}
	if len(rest) > 0 {
		p.tell(" ", "%s", strings.Join(rest, " "))
	}
}

// enoughWaits is how many have to have ended before a count of them says anything.
const enoughWaits = 10

// queueWords is what a task waits for, its place, and a range.
func queueWords(q api.Queue, now time.Time) string {
	s := "waiting"
	if q.WaitingFor != "" {
		s += " for " + q.WaitingFor
	}
	switch {
	case q.Position > 0 && q.Of == 1:
		s += ", nobody else waits"
	case q.Position > 0 && q.Of > 1:
		s += fmt.Sprintf(", you are %s of %s", ordinal(q.Position), count(q.Of))
	case q.Position > 0:
		s += ", you are " + ordinal(q.Position)
	}
	switch {
	case q.EtaHigh <= 0:
		return s + ", no estimate yet"
	case q.EtaHigh < 3600:
		return s + "; yours comes in " + between(q.EtaLow, q.EtaHigh)
	}
	at := func(s float64) string { return clock(now.Add(time.Duration(s*float64(time.Second))), now) }
	return s + "; yours comes between " + at(q.EtaLow) + " and " + at(q.EtaHigh)
}

// missedWords admits an estimate that did not hold.
func missedWords(q api.Queue) string {
	if q.Thought[1] <= 0 || q.Waited <= 1.2*q.Thought[1]+1 {
		return ""
	}
	return fmt.Sprintf("It waits for %s already; at first %s was thought.", about(q.Waited), between(q.Thought[0], q.Thought[1]))
}

func inTheWay(w api.InTheWay) string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{w.Working, "at work"}, {w.Outside, "used from outside"}, {w.Unusable, "not usable"}} {
		switch {
		case x.n == 0:
		case len(parts) == 0:
			parts = append(parts, several(x.n, "device")+" "+x.what)
		default:
			parts = append(parts, count(x.n)+" "+x.what)
		}
	}
	return strings.Join(parts, ", ")
}

// aheadWords says who comes before and how many after: what decides are gains, and
// the device time that tasks have had.
func aheadWords(q api.Queue) string {
	var parts []string
	if a := q.Ahead; a != nil && q.Position > 1 {
		who := "another user's task"
		if a.Name != "" {
			who = "your task " + a.Name
		}
		if q.Position > 2 {
			who = several(q.Position-1, "task") + ", first " + who
		}
		had := "which has had no device time yet"
		if a.Had >= 0.5 {
			had = "which has had " + seconds(a.Had) + " of device time"
		}
		parts = append(parts, fmt.Sprintf("Before you: %s, %s (this one %s).", who, had, seconds(a.Mine)))
	}
	if after := q.Of - q.Position; after > 0 && q.Position > 0 {
		parts = append(parts, "After you: "+count(after)+".")
	}
	return strings.Join(parts, " ")
}
