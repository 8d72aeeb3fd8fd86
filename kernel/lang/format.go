package lang

import (
	"strings"

	"github.com/easeml/easeml/schema"
)

// Format is the canonical text of a statement, on one line. Parse reads it back as
// the same statement, places apart.
func Format(s Statement) string {
	var f formatter
	f.statement(s)
	return strings.Join(f.words, " ")
}

// formatter collects words, which one blank separates.
type formatter struct{ words []string }

func (f *formatter) add(words ...string) { f.words = append(f.words, words...) }

func (f *formatter) addIf(holds bool, words ...string) {
	if holds {
		f.add(words...)
	}
}

func (f *formatter) task(t *Task) {
	if t != nil {
		f.add(t.String())
	}
}

func (f *formatter) trial(n int) { f.addIf(n > 0, "trial", itoa(n)) }

// formatList is the items with commas between them.
func formatList[T any](items []T, format func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = format(item)
	}
	return strings.Join(texts, ", ")
}

func (f *formatter) statement(s Statement) {
	if s.Word() != "program" && s.Word() != "value" {
		f.add(s.Word())
	}
	switch s := s.(type) {
	case *Schema:
		f.add(s.Name, schema.Format(s.Program))
		f.options(s.Options)
	case *SchemaFrom:
		f.add(s.Name, "from", quote(s.From))
		f.output(s.Output)
	case *Bare:
		f.add(schema.Format(s.Program))
	case *Feed:
		f.task(s.Task)
		if s.AsIs {
			f.add("as", "is")
			break
		}
		f.addIf(s.Hidden, "as", "hidden")
		f.add(formatList(s.Sources, formatSource))
		f.output(s.Output)
		f.using(s.Using)
		f.options(s.Options)
	case *Refine:
		f.refine(s)
	case *Infer:
		f.task(s.Task)
		f.add(formatList(s.Sources, formatSource))
		f.using(s.Using)
		f.into(s.Into)
		f.options(s.Options)
	case *Watch:
		f.addIf(s.All, "all")
		f.addIf(len(s.Tasks) > 0, formatList(s.Tasks, Task.String))
	case *Wait:
		f.task(s.Task)
		for i, c := range s.Until {
			f.add([]string{"until", "or"}[min(i, 1)], formatCondition(c))
		}
	case *Best:
		f.task(s.Task)
	case *Explain:
		f.task(s.Task)
		if s.Example != nil {
			f.add(itoa(*s.Example))
		} else if s.Source != nil {
			f.add(formatSource(*s.Source))
		}
	case *Models:
		f.task(s.Task)
		f.into(s.Into)
	case *Why:
		f.task(s.Task)
		f.trial(s.Trial)
		f.addIf(s.Candidate != "", s.Candidate)
	case *Tasks:
		f.addIf(s.All, "all")
		if s.Of != nil {
			f.add("of", formatWho(*s.Of))
		}
		f.into(s.Into)
	case *Pool:
		f.pool(s)
	case *Budget:
		f.task(s.Task)
		if s.For != nil {
			f.add("for", formatWho(*s.For))
		}
		f.addIf(s.Off, "off")
		f.addIf(len(s.Limits) > 0, formatList(s.Limits, formatLimit))
	case *Stop:
		f.add(s.Task.String())
		f.trial(s.Trial)
	case *Resume:
		f.add(s.Task.String())
	case *Share:
		f.add(s.Task.String(), "with", formatWho(s.With))
		f.addIf(s.As != "", "as", s.As)
	case *Unshare:
		f.add(s.Task.String(), "with", formatWho(s.With))
	case *Class:
		f.add(s.Name)
		f.into(s.Into)
	case *Export:
		f.task(s.Task)
		f.add(quote(s.File))
		f.trial(s.Trial)
	case *Client:
		f.task(s.Task)
		f.add(s.Language)
		f.into(s.Into)
	case *Drop:
		f.add(s.Task.String())
		f.addIf(s.Yes, "yes")
	case *Assert:
		f.add(formatOperand(s.Left), s.Compare, formatOperand(s.Right))
	case *Print:
		f.add(formatList(s.Values, formatOperand))
	case *Warn:
		f.add(quote(s.Text))
	case *Server:
		f.addIf(s.Address != "", quote(s.Address))
	case *Help:
		f.addIf(s.Topic != "", s.Topic)
	case *Value:
		f.add(formatOperand(s.Operand))
	}
}

func (f *formatter) refine(s *Refine) {
	f.task(s.Task)
	f.addIf(s.Action == RefineOn || s.Action == RefineOff, string(s.Action))
	f.addIf(s.Content, "show")
	f.addIf(s.Suspects, "suspects")
	f.addIf(s.Gone, "gone")
	f.addIf(s.All, "all")
	f.addIf(s.Yes, "yes")
	f.addIf(len(s.IDs) > 0, formatList(s.IDs, Range.String))
	f.addIf(s.Action == RefineLabel, "as", formatAtom(s.Label, s.Quoted))
}

func (f *formatter) pool(s *Pool) {
	f.addIf(s.Action != PoolShow, string(s.Action))
	f.addIf(s.Device != "", s.Device)
	f.addIf(s.Now, "now")
	t := s.Token
	if t == nil {
		return
	}
	if t.Label != "" {
		f.add(t.Name + ":" + t.Label)
	} else {
		f.add(t.Name)
	}
	if t.Count != nil {
		f.add(itoa(*t.Count))
	}
	f.addIf(t.Off, "off")
	f.addIf(t.On != "", "on", t.On)
	f.addIf(t.For > 0, "for", formatDuration(t.For))
}

func (f *formatter) output(columns []string) {
	f.addIf(len(columns) > 0, "output", formatList(columns, formatColumn))
}

func (f *formatter) using(bindings []Binding) {
	f.addIf(len(bindings) > 0, "using", formatList(bindings, func(b Binding) string {
		return b.Field + " = " + formatColumn(b.Column)
	}))
}

func (f *formatter) options(options []Option) {
	f.addIf(len(options) > 0, "with", formatList(options, func(o Option) string {
		return o.Name + " = " + formatAtom(o.Value, o.Quoted)
	}))
}

func (f *formatter) into(into *Into) {
	switch {
	case into == nil:
	case into.Variable != "":
		f.add("into", into.Variable)
	default:
		f.add("into", quote(into.File))
	}
}

// formatAtom writes a value as it was typed, in quotes where it needs them.
func formatAtom(s string, quoted bool) string {
	if quoted || !isAtom(s) {
		return quote(s)
	}
	return s
}

// formatColumn quotes a column that is no plain word, or is a word of the language.
func formatColumn(s string) string {
	if isVariable(s) && !IsReserved(s) {
		return s
	}
	return quote(s)
}

func formatSource(s Source) string {
	switch s.Kind {
	case SourceJSON:
		return string(s.JSON)
	case SourceVariable:
		return "from " + s.Text
	}
	return quote(s.Text)
}

func formatWho(w Who) string {
	switch {
	case w.Kind == WhoEveryone:
		return "everyone"
	case w.Kind == WhoClass:
		return "class " + w.Name
	case isUser(w.Name) && w.Name != "class" && w.Name != "everyone":
		return w.Name
	}
	return quote(w.Name)
}

func formatCondition(c Condition) string {
	switch c.Kind {
	case ConditionFinal:
		return "final"
	case ConditionTime:
		return formatDuration(c.Duration)
	}
	return c.Attribute + " " + c.Compare + " " + c.Number.Text
}

func formatLimit(l Limit) string {
	switch l.Kind {
	case LimitDevices:
		return "devices " + itoa(l.Count)
	case LimitWeight:
		return "weight " + l.Weight.Text
	case LimitStorage:
		return "storage " + formatSize(l.Bytes)
	}
	if l.Per != "" {
		return formatDuration(l.Duration) + " per " + l.Per
	}
	return formatDuration(l.Duration)
}

func formatOperand(o Operand) string {
	switch o := o.(type) {
	case Number:
		return o.Text
	case String:
		return quote(o.Text)
	case Attribute:
		if o.Task == nil {
			return o.Name
		}
		return o.Task.String() + "." + o.Name
	}
	return ""
}
