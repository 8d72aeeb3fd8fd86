package schema

import "strconv"

// Program is what a task declares: the type of its input and of its output.
type Program struct {
	Input, Output Type
}

// Type is one side of a program: its non-recursive fields and the names of its
// pointers (none: a plain record; one: a series; two: a binary tree).
type Type struct {
	Fields   []Field
	Pointers []string // nil where there are none
}

// Field is one part of a type. Exactly one of Shape and Classes is set.
type Field struct {
	Name    string   // "" where the field is anonymous; see Program.FieldName
	Shape   []int    // of a Tensor, every size at least 1
	Classes *Classes // of a Class
}

// Classes is a finite set of labels.
type Classes struct {
	Count  int
	Labels []string // nil for Class[n]: the first feed settles them
}

// Side names one side of a program.
type Side string

// The two sides.
const (
	Input  Side = "input"
	Output Side = "output"
)

// Side gives the type of one side.
func (p Program) Side(s Side) Type {
	if s == Output {
		return p.Output
	}
	return p.Input
}

// Names gives the effective names of a side's fields, in order. An anonymous
// field is called input or output, and input1, input2 … where there are several.
func (p Program) Names(s Side) []string { return p.Side(s).names(s) }

// FieldName is the effective name of field i of a side.
func (p Program) FieldName(s Side, i int) string { return p.Names(s)[i] }

func (t Type) names(s Side) []string {
	anonymous := 0
	for _, f := range t.Fields {
		if f.Name == "" {
			anonymous++
		}
	}
	names, n := make([]string, len(t.Fields)), 0
	for i, f := range t.Fields {
		switch {
		case f.Name != "":
			names[i] = f.Name
		case anonymous == 1:
			names[i] = string(s)
		default:
			n++
			names[i] = string(s) + strconv.Itoa(n)
		}
	}
	return names
}

// Rank is the number of a Tensor's sizes, and 0 for a Class.
func (f Field) Rank() int { return len(f.Shape) }

// Size is the number of values in one example of the field: the product of a
// Tensor's sizes, 1 for a Class.
func (f Field) Size() int {
	n := 1
	for _, d := range f.Shape {
		n *= d
	}
	return n
}

// Equal tells whether two programs are the same, i.e. have one canonical text.
func Equal(a, b Program) bool { return Format(a) == Format(b) }
