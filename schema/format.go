package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Format is the canonical text of a program, on one line. Parse reads it back.
func Format(p Program) string {
	return "{input: " + formatType(p.Input) + ", output: " + formatType(p.Output) + "}"
}

// Hash is the SHA-256 of the canonical text, in hex.
func Hash(p Program) string {
	sum := sha256.Sum256([]byte(Format(p)))
	return hex.EncodeToString(sum[:])
}

func formatType(t Type) string {
	return "{[" + formatFields(t) + "], [" + strings.Join(t.Pointers, ", ") + "]}"
}

func formatFields(t Type) string {
	fields := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = FormatField(f)
	}
	return strings.Join(fields, ", ")
}

// FormatField is one field of the canonical text: image :: Tensor[8, 8, 1].
func FormatField(f Field) string {
	s := ""
	if f.Name != "" {
		s = f.Name + " :: "
	}
	return s + formatKind(f, 0)
}

// formatKind prints Tensor[…] or Class[…]. Where wrap > 0, a list of labels that
// would be wider than 100 columns goes on after line ends, wrap columns from the left.
func formatKind(f Field, wrap int) string {
	switch {
	case f.Classes == nil:
		sizes := make([]string, len(f.Shape))
		for i, d := range f.Shape {
			sizes[i] = strconv.Itoa(d)
		}
		return "Tensor[" + strings.Join(sizes, ", ") + "]"
	case f.Classes.Labels == nil:
		return "Class[" + strconv.Itoa(f.Classes.Count) + "]"
	}
	var b strings.Builder
	b.WriteString("Class[")
	column := wrap + b.Len()
	for i, label := range f.Classes.Labels {
		q := Quote(label)
		if i > 0 {
			b.WriteByte(',')
			if n := utf8.RuneCountInString(q); wrap > 0 && column+n+3 > 100 {
				b.WriteString("\n" + strings.Repeat(" ", wrap+len("Class[")))
				column = wrap + len("Class[") + n
			} else {
				b.WriteByte(' ')
				column += n + 2
			}
		} else {
			column += utf8.RuneCountInString(q)
		}
		b.WriteString(q)
	}
	return b.String() + "]"
}

// Print is the program for people, on several lines, one field a line.
func Print(p Program) string { return PrintWithNotes(p, nil) }

// PrintWithNotes prints as Print does and puts a comment beside each field for
// which note (may be nil) gives one.
func PrintWithNotes(p Program, note func(side Side, field int) string) string {
	if note == nil {
		note = func(Side, int) string { return "" }
	}
	return "{\n" + printSide(Input, p.Input, ",", note) + printSide(Output, p.Output, "", note) + "}"
}

func printSide(s Side, t Type, after string, note func(Side, int) string) string {
	head := "    input:  {["
	if s == Output {
		head = "    output: {["
	}
	names := 0
	for _, f := range t.Fields {
		names = max(names, len(f.Name))
	}
	lines, notes := make([]string, len(t.Fields)), make([]string, len(t.Fields))
	width := 0
	for i, f := range t.Fields {
		line := head
		if i > 0 {
			line = strings.Repeat(" ", len(head))
		}
		if f.Name != "" {
			line += f.Name + strings.Repeat(" ", names-len(f.Name)) + " :: "
		}
		line += formatKind(f, len(line))
		if i < len(t.Fields)-1 {
			line += ","
		} else {
			line += "], [" + strings.Join(t.Pointers, ", ") + "]}" + after
		}
		lines[i] = line
		if notes[i] = strings.Join(strings.Fields(note(s, i)), " "); notes[i] != "" {
			if w := lastLine(line); w <= 80 {
				width = max(width, w)
			}
		}
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		if notes[i] != "" {
			b.WriteString(strings.Repeat(" ", max(0, width-lastLine(line))) + "    # " + notes[i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lastLine is the width of a text's last line.
func lastLine(s string) int { return utf8.RuneCountInString(s[strings.LastIndexByte(s, '\n')+1:]) }
