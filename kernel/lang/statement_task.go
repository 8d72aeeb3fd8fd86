package lang

import "github.com/easeml/easeml/schema"

// This file reads the statements about a task's program and examples.

func (p *parser) bare() Statement {
	program := p.program()
	return &Bare{p.place(), program}
}

func (p *parser) schema() Statement {
	name, ok := p.atom(KindName, func(s string) bool { return IsName(s) && !IsReserved(s) })
	if !ok {
		p.wrongName()
	}
	p.tokens[len(p.tokens)-1].Kind = KindTask // under the cursor it is a task
	p.context.Task = name.text
	if p.is("from") {
		return p.schemaFrom(name)
	}
	if !p.isMark("{") {
		p.unexpected()
	}
	s := &Schema{Name: name.text, NameSpan: p.spanOf(name), Program: p.program()}
	p.programs[name.text] = s.Program
	s.Options = p.options()
	s.at = p.place()
	return s
}

// wrongName says why what stands here can't be the name of a new task.
func (p *parser) wrongName() {
	word := p.tok.text
	if p.tok.kind != tokenAtom {
		p.unexpected()
	}
	if IsReserved(word) {
		p.fail(p.tok, "`"+word+"` is a word of the language, so it can't be a task's name", "Did you mean "+word+"1?")
	}
	hint := ""
	if _, name, _ := splitTask(word); IsName(name) && name != word {
		hint = "A schema always declares a task of your own: " + name + "."
	} else if folded := schema.Fold(word); IsName(folded) && !IsReserved(folded) {
		hint = "Did you mean " + folded + "?"
	}
	p.fail(p.tok, "`"+word+"` can't be a task's name: names have small letters, digits and _, a letter first", hint)
}

func (p *parser) schemaFrom(name token) Statement {
	p.expect("from")
	file, ok := p.text(KindFile)
	if !ok {
		p.unexpected()
	}
	p.context.Files = append(p.context.Files, file.text)
	output := p.output()
	return &SchemaFrom{p.place(), name.text, p.spanOf(name), file.text, p.spanOf(file), output}
}

// program hands over to package schema and takes its result, marks and errors.
func (p *parser) program() schema.Program {
	source, err := schema.ParseAt(p.src, p.tok.start)
	fields := map[schema.Side][]schema.Field{schema.Input: source.Program.Input.Fields, schema.Output: source.Program.Output.Fields}
	for _, m := range source.Marks {
		t := Token{Text: string(p.src[m.Start:m.End]), Span: p.lines.span(m.Start, m.End), Statement: p.word, Task: p.context.Task}
		switch m.Kind {
		case schema.MarkWord:
			t.Kind = KindWord
		case schema.MarkField:
			t.Kind = KindField
			if side := fields[m.Side]; m.Field >= 0 && m.Field < len(side) {
				t.Doc = fieldDoc(m.Side, side[m.Field])
			}
		case schema.MarkSize:
			t.Kind = KindWhole
		case schema.MarkLabel:
			t.Kind = KindLabel
		case schema.MarkPointer:
			t.Kind = KindPointer
			t.Doc = "A pointer: what leads from one step or node to the next. One makes a series, two make a tree."
		}
		p.tokens = append(p.tokens, t)
	}
	if err == nil {
		p.goTo(source.End)
		return source.Program
	}
	fault := err.(*schema.Error)
	p.goTo(fault.End)
	if fault.AtEnd {
		p.goTo(len(p.src))
		p.expected = programItems(fault.Expected)
	}
	panic(&Error{Span: p.lines.span(fault.Offset, fault.End), Message: fault.Message, Hint: fault.Hint,
		Expected: programItems(fault.Expected), missing: fault.AtEnd, atEnd: fault.AtEnd, open: fault.AtEnd})
}

func fieldDoc(side schema.Side, f schema.Field) string {
	text := "Field of the " + string(side) + ": " + schema.FormatField(f)
	if n := f.Size(); n > 1 {
		text += ", " + itoa(n) + " numbers"
	}
	return text
}

func programItems(expected []string) []Item {
	var items []Item
	for _, e := range expected {
		switch e {
		case "FIELD":
			items = append(items, Item{KindName, ""})
		case "INT":
			items = append(items, Item{KindWhole, ""})
		case "STRING":
			items = append(items, Item{KindLabel, ""})
		case "input", "output", "Tensor", "Class":
			items = append(items, Item{KindWord, e})
		default:
			items = append(items, Item{KindPunctuation, e})
		}
	}
	return items
}

func (p *parser) feed() Statement {
	s := &Feed{Task: p.maybeTask()}
	if p.accept("as") {
		if p.accept("is") {
			s.AsIs = true
			s.at = p.place()
			return s
		}
		p.expect("hidden")
		s.Hidden = true
	}
	s.Sources = p.sources()
	s.Output = p.output()
	s.Using = p.using()
	s.Options = p.options()
	s.at = p.place()
	return s
}

func (p *parser) infer() Statement {
	s := &Infer{Task: p.maybeTask()}
	s.Sources = p.sources()
	s.Using = p.using()
	s.Into = p.into()
	s.Options = p.options()
	s.at = p.place()
	return s
}

func (p *parser) refine() Statement {
	s := &Refine{Task: p.maybeTask()}
	switch {
	case p.accept("suspects"):
		s.Suspects = true
	case p.accept("show"):
		s.Content = true
		switch {
		case p.accept("suspects"):
			s.Suspects = true
		case p.accept("all"):
			s.All = true
		case p.isRange():
			s.IDs = p.ranges()
		default:
			p.unexpected()
		}
	case p.is("on") || p.is("off"):
		s.Action = RefineAction(p.take(KindWord).text)
		switch {
		case p.accept("suspects"):
			s.Suspects = true
		case s.Action == RefineOff && p.accept("gone"):
			s.Gone = true
		case p.accept("all"):
			s.All = true
			s.Yes = s.Action == RefineOff && p.accept("yes")
		case p.isRange():
			s.IDs = p.ranges()
		default:
			p.unexpected()
		}
	case p.isRange():
		s.IDs = p.ranges()
		if p.accept("as") {
			s.Action = RefineLabel
			label := p.optionValue(KindLabel)
			s.Label, s.Quoted = label.text, label.kind == tokenString
		}
	}
	s.at = p.place()
	return s
}

func (p *parser) isRange() bool {
	_, _, ok := readRange(p.tok.text)
	return p.may(KindExample, "", ok && p.tok.kind == tokenAtom)
}

func (p *parser) ranges() []Range {
	var ranges []Range
	p.list(func() {
		if !p.isRange() {
			p.unexpected()
		}
		r, message, _ := readRange(p.tok.text)
		if message != "" {
			p.note(p.tok, message, "Did you mean "+itoa(r.To)+".."+itoa(r.From)+"?")
		}
		r.Span = p.spanOf(p.tok)
		p.take(KindExample)
		ranges = append(ranges, r)
	}, p.isRange)
	return ranges
}

func (p *parser) explain() Statement {
	s := &Explain{Task: p.maybeTask()}
	if number, ok := p.atom(KindExample, isWhole); ok {
		n, _ := readWhole(number.text)
		s.Example = &n
	} else if p.isSource() {
		source := p.source()
		s.Source = &source
	}
	s.at = p.place()
	return s
}

func isWhole(s string) bool { _, ok := readWhole(s); return ok }
