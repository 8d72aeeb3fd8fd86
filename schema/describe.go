package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// Describe says for people what goes in and what comes out, in one line:
// "pictures of 8×8, 1 channel → one of 10 classes".
func Describe(p Program) string {
	return describeInput(p, true) + " → " + describeOutput(p, true)
}

// Brief is Describe in the few words of a list: "pictures → 10 classes".
func Brief(p Program) string {
	return describeInput(p, false) + " → " + describeOutput(p, false)
}

func describeInput(p Program, full bool) string {
	t := p.Input
	switch {
	case isImage(t):
		return picture(t.Fields[0], full)
	case len(t.Pointers) == 1:
		return recursive("series", "step", t, full)
	case len(t.Pointers) == 2:
		return recursive("trees", "node", t, full)
	case len(t.Pointers) > 2:
		return recursive("graphs of "+count(len(t.Pointers), "pointer"), "node", t, full)
	case isFlat(t) && len(t.Fields) == 1 && t.Fields[0].Classes == nil:
		if !full {
			return "table"
		}
		return "rows of " + count(t.Fields[0].Size(), "number")
	case isFlat(t):
		if !full {
			return "table"
		}
		return "rows of " + parts(t, full)
	case len(t.Fields) == 1:
		return "arrays of " + times(t.Fields[0].Shape)
	}
	return parts(t, full)
}

func describeOutput(p Program, full bool) string {
	t := p.Output
	switch {
	case len(t.Fields) == 0:
		return "nothing"
	case isImage(t):
		return picture(t.Fields[0], full)
	case len(t.Pointers) == 1:
		f := t.Fields[0]
		if full && len(t.Fields) == 1 && f.Classes == nil && f.Rank() == 1 && f.Size() > 1 {
			// Tensor[D] may be numbers or labels; the first feed decides.
			return fmt.Sprintf("series, %s a step, or one of %s (the first feed decides)", count(f.Size(), "number"), count(f.Size(), "class"))
		}
		return recursive("series", "step", t, full)
	case len(t.Pointers) > 1:
		return recursive("trees", "node", t, full)
	case len(t.Fields) > 1:
		return parts(t, full)
	}
	f := t.Fields[0]
	switch {
	case f.Classes != nil:
		return classes(*f.Classes, full)
	case f.Rank() > 1:
		return "arrays of " + times(f.Shape)
	case f.Size() == 1:
		return "a number"
	case full:
		// Tensor[D] may be numbers or classes; the first feed decides.
		return fmt.Sprintf("%s, or one of %s (the first feed decides)", count(f.Size(), "number"), count(f.Size(), "class"))
	}
	return group(f.Size()) + " numbers or classes"
}

func classes(c Classes, full bool) string {
	switch {
	case !full && c.Count == 2 && isYesNo(c.Labels):
		return "yes/no"
	case !full:
		return count(c.Count, "class")
	case c.Labels == nil || c.Count > 12:
		return "one of " + count(c.Count, "class")
	}
	if list := strings.Join(c.Labels, ", "); len(list) <= 60 {
		return "one of " + count(c.Count, "class") + ": " + list
	}
	return "one of " + count(c.Count, "class")
}

func isYesNo(labels []string) bool {
	if len(labels) != 2 {
		return false
	}
	a, b := strings.ToLower(labels[0]), strings.ToLower(labels[1])
	return a == "no" && b == "yes" || a == "yes" && b == "no"
}

func picture(f Field, full bool) string {
	if !full {
		return "pictures"
	}
	channels := 1
	if f.Rank() == 3 {
		channels = f.Shape[2]
	}
	return "pictures of " + times(f.Shape[:2]) + ", " + count(channels, "channel")
}

func recursive(what, step string, t Type, full bool) string {
	if !full {
		return what
	}
	if len(t.Fields) == 1 && t.Fields[0].Classes != nil {
		return what + ", " + classes(*t.Fields[0].Classes, full) + " a " + step
	}
	if len(t.Fields) == 1 && t.Fields[0].Rank() == 1 {
		return what + ", " + count(t.Fields[0].Size(), "number") + " a " + step
	}
	return what + ", a " + step + " holds " + parts(t, full)
}

// parts counts the fields of a type by what they are.
func parts(t Type, full bool) string {
	numbers, categories, pictures, arrays := 0, 0, 0, 0
	for _, f := range t.Fields {
		switch {
		case f.Classes != nil:
			categories++
		case f.Rank() <= 1:
			numbers += f.Size()
		case f.Rank() <= 3:
			pictures++
		default:
			arrays++
		}
	}
	var words []string
	add := func(n int, word string) {
		if n > 0 {
			words = append(words, count(n, word))
		}
	}
	add(pictures, "picture")
	add(arrays, "array")
	add(numbers, "number")
	add(categories, "category")
	if !full || len(words) < 2 {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func times(shape []int) string {
	words := make([]string, len(shape))
	for i, d := range shape {
		words[i] = strconv.Itoa(d)
	}
	return strings.Join(words, "×")
}

// count writes "1 class", "12 classes", "1,000 numbers".
func count(n int, word string) string {
	if n != 1 {
		switch word {
		case "class":
			word = "classes"
		case "category":
			word = "categories"
		default:
			word += "s"
		}
	}
	return group(n) + " " + word
}

// group writes a number with a comma between thousands.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
