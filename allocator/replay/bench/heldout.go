package main

import (
	"fmt"
	"math"
	"os"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/allocator/replay"
)

// constant is one of the rule's numbers with the values that it is chosen from; the first is what ships.
type constant struct {
	name   string
	values []float64
	set    func(*allocator.Options, float64)
}

var constants = []constant{
	{"service exponent", []float64{0.5, 0.25, 1}, func(o *allocator.Options, x float64) { o.Service = x }},
	{"floor", []float64{0.1, 0.03, 0.3}, func(o *allocator.Options, x float64) { o.Floor = x }},
	{"wait", []float64{8, 4, 16}, func(o *allocator.Options, x float64) { o.Wait = int(x) }},
	{"slack", []float64{4, 2, 8}, func(o *allocator.Options, x float64) { o.Limit.Slack = x }},
}

// heldOut chooses every constant by leaving one matrix out: for each matrix the value that needs the least on
// the three others, by the mean over them and over losses of 0.02, 0.01 and 0.005 of the logarithm of the
// mean share, one constant at a time, on draws of another seed than the report's.
func (b *bench) heldOut(draws int) error {
	name := func(c constant, i int) string { return fmt.Sprintf("%s %g", c.name, c.values[i]) }
	scores := make([]map[string]float64, len(matrices))
	for m := range matrices {
		c := b.config(&matrices[m], draws)
		c.Seed, c.Short, c.Targets = b.seed+1000, true, []float64{0.02, 0.01, 0.005}
		c.Variants = map[string]allocator.Options{}
		c.Policies = []string{allocator.PolicyDefault}
		for _, k := range constants {
			for i := range k.values[1:] {
				var o allocator.Options
				k.set(&o, k.values[i+1])
				c.Variants[name(k, i+1)] = o
				c.Policies = append(c.Policies, name(k, i+1))
			}
		}
		r, err := replay.Run(c)
		if err != nil {
			return err
		}
		scores[m] = map[string]float64{}
		for _, p := range r.Policies {
			for _, s := range p.Targets {
				scores[m][p.Policy] += math.Log(s.Mean) / float64(len(p.Targets))
			}
		}
		fmt.Fprintln(os.Stderr, "chose on", matrices[m].name)
	}
	b.say("**Held out.** Each of the rule's constants chosen for a matrix on the three others (%d draws of another seed; mean logarithm of the share at", draws)
	b.say("0.02, 0.01 and 0.005; one constant at a time; what ships first). The policy \"held out\" in the tables below is the rule with the choices of its column.\n")
	head, line := "| | values |", "|---|---|"
	for m := range matrices {
		head += " " + matrices[m].name + " |"
		line += "---|"
		matrices[m].chosen = allocator.Options{}
	}
	b.say("%s\n%s", head, line)
	for _, k := range constants {
		row := fmt.Sprintf("| %s | %v |", k.name, k.values)
		for m := range matrices {
			best, at := math.Inf(1), 0
			for i := range k.values {
				sum := 0.0
				for o := range matrices {
					switch {
					case o == m:
					case i == 0:
						sum += scores[o][allocator.PolicyDefault]
					default:
						sum += scores[o][name(k, i)]
					}
				}
				if sum < best-1e-9 {
					best, at = sum, i
				}
			}
			k.set(&matrices[m].chosen, k.values[at])
			row += fmt.Sprintf(" %g |", k.values[at])
		}
		b.say("%s", row)
	}
	b.say("")
	return nil
}
