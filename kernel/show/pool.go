package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// Pool lists the devices: who has each, and why one can't be used. Tasks of mine
// are named without the user.
func Pool(mine string, pool api.Pool) Output {
	p := page{}
	cards, slots := tally{noun: "GPU"}, tally{noun: "CPU slot"}
	t := &table{head: []string{"device", "", "memory", "", ""}, right: []bool{false, false, true}}
	for _, d := range pool.Devices {
		kind := &cards
		if isSlot(d) {
			kind = &slots
		}
		kind.add(d)
		memory := ""
		if d.Memory > 0 {
			memory = size(d.Memory)
		}
		name := d.Name
		if name == "" {
			name = d.Class
		}
		t.put(d.ID, name, memory, holder(mine, d), deviceNote(pool, d))
	}
	p.say("%s", join("pool", cards.words(), slots.words()))
	p.lay(t)
	switch pool.Waiting {
	case 0:
		p.say("No task waits for a device.")
	case 1:
		p.say("1 task waits for a device.")
	default:
		p.say("%s tasks wait for a device.", count(pool.Waiting))
	}
	return p.output()
}

// isSlot tells a CPU slot from a card.
func isSlot(d api.Device) bool { return strings.HasPrefix(d.Class, "cpu") }

// tally counts the devices of a kind.
type tally struct {
	noun                             string
	all, busy, outside, not, missing int
}

func (c *tally) add(d api.Device) {
	c.all++
	switch d.State {
	case "held":
		c.busy++
	case "busy_by_others":
		c.outside++
	case "draining":
		c.not++
	case "lost":
		c.missing++
	}
}

func (c *tally) words() string {
	if c.all == 0 {
		return ""
	}
	s := fmt.Sprintf("%s of %s at work", count(c.busy), several(c.all, c.noun))
	if c.outside > 0 {
		s += ", " + count(c.outside) + " used from outside"
	}
	if c.not > 0 {
		s += ", " + count(c.not) + " not usable"
	}
	if c.missing > 0 {
		s += ", " + count(c.missing) + " gone"
	}
	return s
}

// holder says who has a device.
func holder(mine string, d api.Device) string {
	switch {
	case d.State == "held" && d.Mine && d.Why == "":
		return strings.TrimPrefix(d.Task, mine+"/")
	case d.State == "held" && d.Why != "":
		return "being given back"
	case d.State == "held":
		return "another user"
	case d.State == "free":
		return "free"
	case d.State == "busy_by_others":
		return "used from outside, not touched"
	case d.State == "draining":
		return "not usable"
	}
	return "gone"
}

// deviceNote is what runs, until when, or why nothing does.
func deviceNote(pool api.Pool, d api.Device) string {
	if d.State != "held" || d.Why != "" {
		return d.Why
	}
	ends := ""
	if d.Ends != nil {
		if left := d.Ends.Sub(pool.Now).Seconds(); left < 600 {
			ends = "about " + about(max(left, 1)) + " left"
		} else {
			ends = "until about " + clock(*d.Ends, pool.Now)
		}
	}
	return join(d.Label, ends)
}
