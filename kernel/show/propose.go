package show

import (
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
)

// shownLeftOut is how many columns without a field are named.
const shownLeftOut = 6

// Proposed shows a program that was proposed for a file, and why.
func Proposed(program string, f api.Findings) Output {
	p := page{}
	says := f.Says
	if f.Predicts != "" {
		says += " To predict: " + f.Predicts + "."
	}
	p.say("%s Proposed program, edit and run it:", says)
	p.keep("\n" + program + "\n")
	for i, c := range f.LeftOut {
		if i == shownLeftOut {
			p.add("… %s more left out", count(len(f.LeftOut)-i))
			break
		}
		p.add("left out: %s, %s", c.Column, c.Reason)
	}
	for _, note := range f.Notes {
		p.say("%s", note)
	}
	if f.Guess != "" {
		p.say("%s", f.Guess)
	}
	if len(f.Clauses) > 0 {
		p.say("When you feed it, add:  %s", strings.Join(f.Clauses, "  or  "))
	}
	p.say("Nothing is declared yet.")
	p.then("run the program above")
	return p.output()
}

// ProposedProgram writes a proposed program as a statement: a field a line, with
// what is to know of it as a comment.
func ProposedProgram(name string, f api.Findings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "schema %s {\n", name)
	pointers := map[string][]string{}
	if f.Pointers != nil {
		pointers["input"], pointers["output"] = f.Pointers.Input, f.Pointers.Output
	}
	for _, side := range []string{"input", "output"} {
		var fields []api.ProposedField
		width := 0
		for _, field := range f.Fields {
			if field.Side == side {
				fields = append(fields, field)
				width = max(width, len(field.Name))
			}
		}
		lines := make([]string, len(fields))
		long := 0
		for i, field := range fields {
			head := "              "
			if i == 0 {
				head = fmt.Sprintf("    %-8s{[", side+":")
			}
			if field.Name != "" {
				head += fmt.Sprintf("%-*s :: ", width, field.Name)
			}
			tail := ","
			if i == len(fields)-1 {
				tail = "], [" + strings.Join(pointers[side], ", ") + "]}"
				if side == "input" {
					tail += ","
				}
			}
			lines[i] = head + field.Type + tail
			if n := columns(lines[i]); n <= 64 {
				long = max(long, n)
			}
		}
		for i, field := range fields {
			b.WriteString(lines[i])
			if comment := clean(field.Comment); comment != "" {
				b.WriteString(strings.Repeat(" ", max(2, long+2-columns(lines[i]))) + "# " + comment)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("}")
	return b.String()
}

// Looking is how far the look at a file is.
func Looking(what string, s api.StudyProgress) Output {
	return Plain(fmt.Sprintf("Looking at %s · %.0f %%", what, 100*s.Step/max(1, s.Of)))
}
