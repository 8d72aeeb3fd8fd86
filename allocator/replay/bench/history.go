package main

import (
	"fmt"
	"slices"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/allocator/replay"
)

// history is point 5.
func (b *bench) history() error {
	b.say("## 5. Little history, %d draws of the small matrices, %d of the large\n", b.draws, b.few)
	b.say("default over roundrobin, ratio of means; without history it should be at most 1.1 everywhere. There ties go by the")
	b.say("candidates' ids, and so decide what both try first: DEEPLEARNING's happen to run from cheap to dear. In the rows that")
	b.say("say \"renamed\" the order of the ids is drawn anew in each draw; in those that say \"held out\" beliefs and constants are")
	b.say("those of the three other matrices. The share is default's own at 0.01: how much history helps it.\n")
	b.say("| matrix | past searches | 0.05 | 0.02 | 0.01 | 0.005 | share, %% | at most 1.1 |")
	b.say("|---|---|---|---|---|---|---|---|")
	for i := range matrices {
		m := &matrices[i]
		for j, n := range []int{replay.NoHistory, replay.NoHistory, 3, 10} {
			draws := b.draws
			if m.features {
				if draws = b.few; j == 1 {
					continue // its ids are in no order of cost
				}
			}
			c := b.config(m, draws)
			c.History, c.Policies, c.Rename = n, []string{"roundrobin", "default"}, j == 1
			if n == replay.NoHistory {
				c.Policies = append(c.Policies, heldOutName)
				c.Variants = map[string]allocator.Options{heldOutName: m.chosen}
			}
			r, err := replay.Run(c)
			if err != nil {
				return err
			}
			for _, policy := range c.Policies[1:] {
				name := m.name
				if c.Rename {
					name += ", renamed"
				}
				if policy == heldOutName {
					name += ", held out"
				}
				b.littleHistory(&r, name, policy, max(n, 0))
			}
			if err := b.done(fmt.Sprint(m.name, " ", n)); err != nil {
				return err
			}
		}
	}
	b.say("")
	return nil
}

// littleHistory writes a row of that table.
func (b *bench) littleHistory(r *replay.Report, name, policy string, past int) {
	row := fmt.Sprintf("| %s | %d |", name, past)
	ok := true
	for _, t := range r.Settings.Targets {
		x := b.ratio(r, policy, "roundrobin", t, targets)
		row += fmt.Sprintf(" %s |", x)
		ok = ok && x.Value <= 1.1
	}
	p, _ := r.Policy(policy)
	b.say("%s %.3g | %s |", row, 100*p.Targets[slices.Index(r.Settings.Targets, 0.01)].Mean, verdict(ok))
}
