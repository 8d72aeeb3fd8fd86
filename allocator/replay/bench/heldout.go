package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/allocator/replay"
)

// constant is one of the rule's numbers with the values that it is chosen from.
type constant struct {
	name   string
	values []float64
	cold   bool // it is judged without history
	// last: the last value is taken that needs at most a tenth more than the best; what speaks for it isn't replayed.
	last bool
	get  getter
	set  setter
}

type (
	getter = func(allocator.Options) float64
	setter = func(*allocator.Options, float64)
)

func of(value func(*allocator.Options) *float64) (getter, setter) {
	return func(o allocator.Options) float64 { return *value(&o) },
		func(o *allocator.Options, x float64) { *value(o) = x }
}

// ofBeliefs changes a number of a copy of the beliefs: options share them.
func ofBeliefs(value func(*allocator.Beliefs) *float64) (getter, setter) {
	return func(o allocator.Options) float64 { return *value(o.Beliefs) }, func(o *allocator.Options, x float64) {
		b := *o.Beliefs
		*value(&b) = x
		o.Beliefs = &b
	}
}

var constants = func() []constant {
	list := []constant{
		{name: "service exponent", values: []float64{0.25, 0.5, 1}},
		{name: "floor", values: []float64{0.03, 0.1, 0.3}},
		{name: "wait", values: []float64{4, 8, 16}},
		{name: "slack", values: []float64{2, 4, 8, 16}},
		{name: "limits", values: []float64{0, 1}},
		{name: "offset", values: []float64{0.005, 0.01, 0.02, 0.05}, last: true},
		{name: "seconds: candidate", values: []float64{2.5, 5, 10}, cold: true},
		{name: "seconds: search", values: []float64{0.15, 0.4, 1.2}, cold: true},
		{name: "seconds: family", values: []float64{0, 0.33}, cold: true},
	}
	list[0].get, list[0].set = of(func(o *allocator.Options) *float64 { return &o.Service })
	list[1].get, list[1].set = of(func(o *allocator.Options) *float64 { return &o.Floor })
	list[2].get = func(o allocator.Options) float64 { return float64(o.Wait) }
	list[2].set = func(o *allocator.Options, x float64) { o.Wait = int(x) }
	list[3].get, list[3].set = of(func(o *allocator.Options) *float64 { return &o.Limit.Slack })
	list[4].get = func(o allocator.Options) float64 {
		if o.Limit.Off {
			return 0
		}
		return 1
	}
	list[4].set = func(o *allocator.Options, x float64) { o.Limit.Off = x == 0 }
	list[5].get, list[5].set = ofBeliefs(func(b *allocator.Beliefs) *float64 { return &b.Offset })
	list[6].get, list[6].set = ofBeliefs(func(b *allocator.Beliefs) *float64 { return &b.Seconds.Candidate })
	list[7].get, list[7].set = ofBeliefs(func(b *allocator.Beliefs) *float64 { return &b.Seconds.Search })
	list[8].get = func(o allocator.Options) float64 { return o.Beliefs.Seconds.Family }
	list[8].set = func(o *allocator.Options, x float64) { // a search and candidate have the rest of what both have
		b := *o.Beliefs
		b.Seconds.Own = max(b.Seconds.Own+b.Seconds.Family-x, 0)
		b.Seconds.Family = x
		o.Beliefs = &b
	}
	return list
}()

// warm is how many constants are judged with history; the others follow.
var warm = slices.IndexFunc(constants, func(k constant) bool { return k.cold })

func (k *constant) variant(i int) string { return fmt.Sprintf("%s %g", k.name, k.values[i]) }

// shipped are the options in force where none are given.
func shipped() (allocator.Options, error) {
	a, err := allocator.New(allocator.Options{})
	if err != nil {
		return allocator.Options{}, err
	}
	return a.Options(), nil
}

// cold is the name of the default policy where it is judged without history.
const cold = "cold"

// scores are, for each variant, the mean over losses of 0.02, 0.01 and 0.005 of the logarithm of the mean
// share. Without history it is that over round robin's, and a share above the report's bound of 1.1 counts
// ten times more, at 0.05 too; ids are as they are, and on the small matrices also in an order drawn anew.
func (b *bench) scores(m *matrix, draws int) (map[string]float64, error) {
	all := map[string]float64{}
	r, err := b.judge(m, draws, false, false)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Policies {
		for _, s := range p.Targets[1:] {
			all[p.Policy] += math.Log(s.Mean) / float64(len(p.Targets)-1)
		}
	}
	orders := []bool{false, true}
	if m.features { // its ids are in no order of cost
		orders = orders[:1]
	}
	for _, rename := range orders {
		r, err := b.judge(m, draws, true, rename)
		if err != nil {
			return nil, err
		}
		theirs, _ := r.Policy(allocator.PolicyRoundRobin)
		for _, p := range r.Policies {
			name := p.Policy
			if name == allocator.PolicyDefault {
				name = cold
			}
			for j, s := range p.Targets {
				x := math.Log(s.Mean / theirs.Targets[j].Mean)
				score := 10 * max(0, x-math.Log(1.1))
				if j > 0 {
					score += x
				}
				all[name] += score / float64((len(p.Targets)-1)*len(orders))
			}
		}
	}
	return all, nil
}

// judge replays the rule with every value of the constants that are judged with history, or of those that are
// without.
func (b *bench) judge(m *matrix, draws int, first, rename bool) (replay.Report, error) {
	c := b.config(m, draws)
	c.Seed, c.Rename = b.seed+1000, rename
	c.Policies = []string{allocator.PolicyDefault}
	if m.synthetic {
		c.Cost = fmt.Sprintf("%s:%d", replay.SyntheticCost, c.Seed)
	}
	if first {
		c.History, c.Policies = replay.NoHistory, append(c.Policies, allocator.PolicyRoundRobin)
	}
	c.Variants = map[string]allocator.Options{}
	for _, k := range constants {
		for i, x := range k.values {
			o, err := shipped()
			if err != nil {
				return replay.Report{}, err
			}
			if k.cold == first && k.get(o) != x {
				k.set(&o, x)
				c.Variants[k.variant(i)] = o
				c.Policies = append(c.Policies, k.variant(i))
			}
		}
	}
	return replay.Run(c)
}

// estimated are the beliefs that the moments of all matrices but one give.
func estimated(without int, start allocator.Beliefs) (allocator.Beliefs, error) {
	var rows [][]allocator.Row
	for m := range matrices {
		if m != without {
			rows = append(rows, matrices[m].rows)
		}
	}
	return allocator.EstimateBeliefs(rows, replay.Family, start)
}

// heldOut chooses every constant by leaving one matrix out: for each matrix the value that needs the least on
// the three others, one constant at a time, on draws of another seed than the report's; beliefs by their
// moments.
func (b *bench) heldOut() error {
	all := make([]map[string]float64, len(matrices))
	for m := range matrices {
		draws := b.choose
		if matrices[m].features {
			draws = b.chooseLarge
		}
		var err error
		if all[m], err = b.scores(&matrices[m], draws); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "chose on", matrices[m].name)
	}
	ship, err := shipped()
	if err != nil {
		return err
	}
	b.say("**Held out.** Each of the rule's constants chosen for a matrix on the three others (%d draws of another seed,", b.choose)
	b.say("%d of the large matrices; mean logarithm of the share at 0.02, 0.01 and 0.005; one constant at a time), and on all", b.chooseLarge)
	b.say("four. \"Gain\" is how much less the value chosen on all four needs than the shipped one; the draws' noise is some per")
	b.say("cent, so a value stays that another gains less on. Of offsets the largest is taken that needs at most a tenth more")
	b.say("than the best: a small one makes the last hundredths so large a step that a search ends early, which these figures")
	b.say("don't show. Variances of the seconds are judged without history, over round robin, where more than 1.1 times its share")
	b.say("counts ten times, with ids as they are and, on the small matrices, also in an order drawn anew; the rest with all")
	b.say("history. Limits: 1 on, 0 off. The policy \"held out\" below is the rule with the choices of its column.\n")
	head, line := "| | values |", "|---|---|"
	for m := range matrices {
		head += " " + matrices[m].name + " |"
		line += "---|"
		matrices[m].chosen = ship
	}
	b.say("%s all four | ships | gain |\n%s---|---|---|", head, line)
	for n, k := range constants {
		if n == warm { // the scale is chosen, and cold constants replace what the moments say
			for m := range matrices {
				e, err := estimated(m, *matrices[m].chosen.Beliefs)
				if err != nil {
					return err
				}
				matrices[m].chosen.Beliefs = &e
			}
		}
		choose := func(without int) (int, float64) {
			best, at, ours := math.Inf(1), 0, 0.0
			sums := make([]float64, len(k.values))
			for i := range k.values {
				name := k.variant(i)
				if k.get(ship) == k.values[i] {
					if name = allocator.PolicyDefault; k.cold {
						name = cold
					}
				}
				sum, n := 0.0, 0.0
				for o := range matrices {
					if o != without {
						sum += all[o][name]
						n++
					}
				}
				sum /= n
				sums[i] = sum
				if k.get(ship) == k.values[i] {
					ours = sum
				}
				if sum < best-1e-9 {
					best, at = sum, i
				}
			}
			for i := range sums {
				if k.last && sums[i] <= best+math.Log(1.1) {
					at = i
				}
			}
			return at, ours - sums[at]
		}
		row := fmt.Sprintf("| %s | %v |", k.name, k.values)
		for m := range matrices {
			at, _ := choose(m)
			k.set(&matrices[m].chosen, k.values[at])
			row += fmt.Sprintf(" %g |", k.values[at])
		}
		at, gain := choose(-1)
		b.say("%s %g | %g | %.1f %% |", row, k.values[at], k.get(ship), 100*(math.Exp(gain)-1))
	}
	b.say("")
	if err := b.beliefsTable(); err != nil {
		return err
	}
	return b.keep()
}

// beliefsTable says what the moments of matrices give for the beliefs.
func (b *bench) beliefsTable() error {
	b.say("**Beliefs** by the moments of the three others, of all four, and as shipped (rounded); allocator/README.md says what")
	b.say("each is. The last two and the family's part are chosen above instead.\n")
	head, line := "| |", "|---|"
	var list []allocator.Beliefs
	for m := -1; m < len(matrices); m++ {
		e, err := estimated(m, allocator.DefaultBeliefs())
		if err != nil {
			return err
		}
		list = append(list, e)
	}
	list = append(list[1:], list[0], allocator.DefaultBeliefs())
	for m := range matrices {
		head += " without " + matrices[m].name + " |"
	}
	head += " all four | ships |"
	for range list {
		line += "---|"
	}
	b.say("%s\n%s", head, line)
	for _, f := range []struct {
		name string
		of   func(allocator.Beliefs) float64
	}{
		{"level", func(x allocator.Beliefs) float64 { return x.Level }},
		{"variance", func(x allocator.Beliefs) float64 { return x.Variance }},
		{"correlation between families", func(x allocator.Beliefs) float64 { return x.Rest }},
		{"correlation within", func(x allocator.Beliefs) float64 { return x.Family }},
		{"degrees of freedom", func(x allocator.Beliefs) float64 { return x.DF }},
		{"seconds: of a search and family", func(x allocator.Beliefs) float64 { return x.Seconds.Family }},
		{"seconds: of a search and candidate", func(x allocator.Beliefs) float64 { return x.Seconds.Own }},
		{"(seconds: of a candidate)", func(x allocator.Beliefs) float64 { return x.Seconds.Candidate }},
		{"(seconds: of a search)", func(x allocator.Beliefs) float64 { return x.Seconds.Search }},
	} {
		row := "| " + f.name + " |"
		for _, x := range list {
			row += fmt.Sprintf(" %.3g |", f.of(x))
		}
		b.say("%s", row)
	}
	b.say("")
	return nil
}

// keep writes the choices beside the report, for a later run that makes other parts anew.
func (b *bench) keep() error {
	list := make([]allocator.Options, len(matrices))
	for m := range matrices {
		list[m] = matrices[m].chosen
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.choices, text, 0o644)
}

// recall reads what keep wrote.
func (b *bench) recall() error {
	text, err := os.ReadFile(b.choices)
	if err != nil {
		return fmt.Errorf("the choices of the held-out constants are missing; make the part head first: %w", err)
	}
	var list []allocator.Options
	if err := json.Unmarshal(text, &list); err != nil || len(list) != len(matrices) {
		return fmt.Errorf("%s holds no choices of %d matrices; make the part head anew", filepath.Base(b.choices), len(matrices))
	}
	for m := range matrices {
		matrices[m].chosen = list[m]
	}
	return nil
}
