package schema

import (
	"errors"
	"fmt"
)

// The limits of programs. They keep a typing mistake from becoming an
// allocation, and stay far above what the candidates can use.
const (
	MaxText     = 1 << 20 // code points of a program's text
	MaxFields   = 4096    // fields of one side
	MaxPointers = 16      // pointers of one side
	MaxRank     = 8       // sizes of one Tensor
	MaxValues   = 1 << 31 // values of one example of one side, and of any Tensor
	MinClasses  = 2
	MaxClasses  = 100_000
	MaxName     = 100 // characters of a name
	MaxLabel    = 1000
)

// fault is a broken limit: the message and the hint of an Error, without a place.
type fault struct{ message, hint string }

func faultf(hint, format string, args ...any) *fault {
	return &fault{fmt.Sprintf(format, args...), hint}
}

// Check tells whether a program that was built rather than parsed keeps the
// limits; the error's sentence names the field.
func Check(p Program) error {
	for _, s := range []Side{Input, Output} {
		t := p.Side(s)
		names := t.names(s)
		for i, f := range t.Fields {
			bad := checkName(f.Name, f.Name == "")
			if bad == nil {
				bad = checkField(f)
			}
			if bad != nil {
				return fmt.Errorf("%s of the %s: %s", names[i], s, bad.message)
			}
		}
		for _, name := range t.Pointers {
			if bad := checkName(name, false); bad != nil {
				return fmt.Errorf("a pointer of the %s: %s", s, bad.message)
			}
		}
		if _, bad := checkType(s, t); bad != nil {
			return errors.New(bad.message)
		}
	}
	if _, bad := checkSides(p); bad != nil {
		return errors.New(bad.message)
	}
	return nil
}

// IsField tells whether a text is a FIELD: [a-z0-9_]+.
func IsField(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') {
			return false
		}
	}
	return s != ""
}

func checkName(name string, mayBeEmpty bool) *fault {
	switch {
	case name == "" && mayBeEmpty:
		return nil
	case !IsField(name):
		return faultf("Did you mean "+Fold(name)+"?", "`%s` can't be a name: names have small letters, digits and _", name)
	case len(name) > MaxName:
		return faultf("", "a name has at most %d characters, this one has %d", MaxName, len(name))
	}
	return nil
}

// Fold makes a FIELD of any text, as names of columns are folded: lower case,
// each run of other characters becomes one _, none at the ends.
func Fold(s string) string {
	var out []rune
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out = append(out, r)
		} else if len(out) > 0 && out[len(out)-1] != '_' {
			out = append(out, '_')
		}
	}
	for len(out) > 0 && out[len(out)-1] == '_' {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return "field"
	}
	if len(out) > MaxName {
		out = out[:MaxName]
	}
	return string(out)
}

func checkField(f Field) *fault {
	if f.Classes != nil {
		return checkClasses(*f.Classes)
	}
	switch {
	case len(f.Shape) == 0:
		return faultf("Tensor[1] is a single number.", "a Tensor needs at least one size")
	case len(f.Shape) > MaxRank:
		return faultf("", "a Tensor has at most %d sizes, this one has %d", MaxRank, len(f.Shape))
	}
	n := 1
	for _, d := range f.Shape {
		switch {
		case d < 1:
			return faultf("", "a size is at least 1, not %d", d)
		case d > MaxValues/n:
			return faultf("", "a Tensor has at most 2,147,483,648 values, %s has more", FormatField(Field{Shape: f.Shape}))
		}
		n *= d
	}
	return nil
}

func checkClasses(c Classes) *fault {
	switch {
	case c.Count < MinClasses:
		return faultf("A single number is Tensor[1].", "a Class needs at least %d classes", MinClasses)
	case c.Count > MaxClasses:
		return faultf("", "a Class has at most 100,000 classes, not %s", group(c.Count))
	case c.Labels != nil && len(c.Labels) != c.Count:
		return faultf("", "a Class of %d classes has %d labels", c.Count, len(c.Labels))
	}
	seen := make(map[string]bool, len(c.Labels))
	for _, label := range c.Labels {
		if bad := checkLabel(label, seen); bad != nil {
			return bad
		}
	}
	return nil
}

func checkLabel(label string, seen map[string]bool) *fault {
	switch {
	case label == "":
		return faultf("", "a label can't be empty")
	case len([]rune(label)) > MaxLabel:
		return faultf("", "a label has at most %d characters", MaxLabel)
	case seen[label]:
		return faultf("", "the label %s stands twice", Quote(label))
	}
	seen[label] = true
	return nil
}

// checkType checks what one side's parts must keep together. The number says
// where: i ≥ 0 is a field, −1−i a pointer.
func checkType(s Side, t Type) (int, *fault) {
	switch {
	case len(t.Fields) == 0:
		return 0, faultf("", "the %s has no field", s)
	case len(t.Fields) > MaxFields:
		return MaxFields, faultf("Many numbers are one Tensor: x :: Tensor[5000].", "the %s has more than %d fields", s, MaxFields)
	case len(t.Pointers) > MaxPointers:
		return -1 - MaxPointers, faultf("", "the %s has more than %d pointers", s, MaxPointers)
	}
	seen, values := map[string]bool{}, 0
	first := map[string]int{}
	for i, name := range t.names(s) {
		if seen[name] {
			if t.Fields[i].Name == "" || t.Fields[first[name]].Name == "" {
				return i, faultf("Give the other one a name of its own.", "a field without a name is called %s here, and there is a field %s", name, name)
			}
			return i, faultf("", "the %s has two fields %s", s, name)
		}
		seen[name], first[name] = true, i
		if values += t.Fields[i].Size(); values > MaxValues {
			return i, faultf("", "an example of the %s has more than 2,147,483,648 values", s)
		}
	}
	for i, name := range t.Pointers {
		if seen[name] {
			return -1 - i, faultf("", "the %s has the name %s twice", s, name)
		}
		seen[name] = true
	}
	return 0, nil
}

// checkSides checks that no field stands on both sides: examples name their
// fields, so one name can't mean two. The number is the output's field.
func checkSides(p Program) (int, *fault) {
	seen := map[string]bool{}
	for _, name := range p.Names(Input) {
		seen[name] = true
	}
	for i, name := range p.Names(Output) {
		if seen[name] {
			return i, faultf("Call one of them "+name+"_out, for example.", "`%s` is a field of the input and of the output", name)
		}
	}
	return 0, nil
}
