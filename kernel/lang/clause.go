package lang

import (
	"slices"
	"strings"
)

// This file reads the parts that several statements share.

// taskHere reads what the look-ahead says as a task.
func (p *parser) taskHere() (t Task, ok bool) {
	switch p.tok.kind {
	case tokenOwned:
		t.User, t.Name = p.tok.user, p.tok.text
		ok = IsName(t.Name) && !strings.Contains(t.User, "/")
	case tokenAtom:
		t.User, t.Name, ok = splitTask(p.tok.text)
		ok = ok && (t.User != "" || !IsReserved(t.Name))
	}
	t.Span = p.spanOf(p.tok)
	return t, p.may(KindTask, "", ok)
}

func (p *parser) isTask() bool { _, ok := p.taskHere(); return ok }

// maybeTask reads [ task ]: the first atom after a word that can be a task is one.
func (p *parser) maybeTask() *Task {
	t, ok := p.taskHere()
	if !ok {
		return nil
	}
	p.takeTask(t)
	return &t
}

func (p *parser) task() Task {
	t, ok := p.taskHere()
	if !ok {
		p.unexpected()
	}
	p.takeTask(t)
	return t
}

func (p *parser) takeTask(t Task) {
	p.context.Task = t.String()
	p.take(KindTask)
	p.tokens[len(p.tokens)-1].Text = t.String()
}

func (p *parser) isSource() bool {
	file := p.may(KindFile, "", p.tok.kind == tokenString)
	json := p.may(KindJSON, "", p.tok.kind == tokenMark && (p.tok.text == "[" || p.tok.text == "{"))
	return p.is("from") || file || json
}

func (p *parser) sources() []Source {
	var sources []Source
	p.must()
	p.list(func() { sources = append(sources, p.source()) }, func() bool {
		return p.tok.kind == tokenString || p.tok.kind == tokenMark && (p.tok.text == "[" || p.tok.text == "{")
	})
	return sources
}

func (p *parser) source() (s Source) {
	start := p.tok
	switch {
	case !p.isSource():
		p.unexpected()
	case p.tok.kind == tokenString:
		s.Kind, s.Text = SourceFile, p.take(KindFile).text
		if s.Text == "" {
			p.note(start, "the file has no name", "")
		}
		p.context.Files = append(p.context.Files, s.Text)
	case p.tok.kind == tokenMark:
		json, end, err := scanJSON(p.src, p.lines, p.tok.start)
		if err != nil {
			err.open = err.missing
			p.goTo(max(end, p.tok.end))
			panic(err)
		}
		p.goTo(end)
		s.Kind, s.JSON = SourceJSON, json
	default:
		p.accept("from")
		v, ok := p.atom(KindVariable, isVariable)
		if !ok {
			p.unexpected()
		}
		s.Kind, s.Text = SourceVariable, v.text
	}
	s.Span = p.lines.span(start.start, p.last.end)
	return s
}

func (p *parser) column() string {
	if t, ok := p.text(KindColumn); ok {
		return t.text
	}
	t, ok := p.atom(KindColumn, isVariable)
	if !ok {
		p.unexpected()
	}
	return t.text
}

// output reads [ "output" column { "," column } ].
func (p *parser) output() []string {
	if !p.accept("output") {
		return nil
	}
	var columns []string
	p.list(func() { columns = append(columns, p.column()) }, func() bool { return p.tok.kind == tokenString })
	return columns
}

// using reads [ "using" FIELD "=" column { "," FIELD "=" column } ].
func (p *parser) using() []Binding {
	if !p.accept("using") {
		return nil
	}
	var bindings []Binding
	p.list(func() {
		field, ok := p.atom(KindField, func(s string) bool { return strings.Trim(s, fieldCharacters) == "" })
		if !ok {
			p.unexpected()
		}
		p.expectMark("=")
		column := p.column()
		bindings = append(bindings, Binding{field.text, column, p.lines.span(field.start, p.last.end)})
	}, nil)
	return bindings
}

const fieldCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_"

// options reads [ "with" NAME "=" optval { "," NAME "=" optval } ].
func (p *parser) options() []Option {
	if !p.accept("with") {
		return nil
	}
	var all []Option
	p.list(func() {
		name, ok := p.atom(KindOption, IsName)
		if !ok {
			p.unexpected()
		}
		doc := optionDoc(p.word, name.text)
		if doc == nil {
			p.unknownOption(name)
		} else if !doc.Repeat && slices.ContainsFunc(all, func(o Option) bool { return o.Name == name.text }) {
			p.note(name, "the option `"+name.text+"` stands twice", "")
		}
		p.context.Option = name.text
		p.tokens[len(p.tokens)-1].Option = name.text
		p.expectMark("=")
		kind := KindValue
		if doc != nil && doc.Type == OptionColumn {
			kind = KindColumn
		}
		value := p.optionValue(kind)
		p.context.Option = ""
		if doc != nil {
			if message := doc.check(value.text); message != "" {
				p.note(value, message, "")
			}
		}
		all = append(all, Option{name.text, value.text, value.kind == tokenString,
			p.lines.span(name.start, value.end), p.spanOf(value)})
	}, nil)
	return all
}

func (p *parser) unknownOption(name token) {
	names := optionNames(p.word)
	hint := "There are " + joinWords(names) + "."
	if near := Nearest(name.text, names); near != "" {
		hint = "Did you mean `" + near + "`?"
	}
	p.note(name, "`"+p.word+"` has no option `"+name.text+"`", hint)
}

// optionValue reads optval: an atom or a string.
func (p *parser) optionValue(kind ItemKind) token {
	if !p.may(kind, "", p.tok.kind == tokenAtom || p.tok.kind == tokenString) {
		if p.tok.kind == tokenMark && p.tok.text != "=" {
			p.fail(p.tok, "`"+p.tok.text+"` stands in quotes here", "Did you mean "+quote(p.tok.text)+"?")
		}
		p.unexpected()
	}
	return p.take(kind)
}

// into reads [ "into" ( STRING | NAME ) ].
func (p *parser) into() *Into {
	start := p.tok
	if !p.accept("into") {
		return nil
	}
	into := &Into{}
	if t, ok := p.text(KindFile); ok {
		into.File = t.text
	} else if t, ok := p.atom(KindVariable, IsName); ok {
		into.Variable = t.text
	} else {
		p.unexpected()
	}
	into.Span = p.lines.span(start.start, p.last.end)
	return into
}

// who reads USER | STRING | "class" NAME | "everyone".
func (p *parser) who() (w Who) {
	start := p.tok
	switch {
	case p.accept("everyone"):
		w.Kind = WhoEveryone
	case p.accept("class"):
		w.Kind, w.Name = WhoClass, p.className().text
	default:
		t, ok := p.text(KindUser)
		if !ok {
			t, ok = p.atom(KindUser, isUser)
		}
		if !ok {
			p.unexpected()
		}
		if t.text == "" || strings.Contains(t.text, "/") {
			p.note(t, "a user's name is not empty and has no `/`", "")
		}
		w.Kind, w.Name = WhoUser, t.text
	}
	w.Span = p.lines.span(start.start, p.last.end)
	return w
}

func (p *parser) className() token {
	t, ok := p.atom(KindClass, IsName)
	if !ok {
		p.unexpected()
	}
	return t
}

// operand reads a value: NUMBER | STRING | ATTR.
func (p *parser) operand() Operand {
	if t, ok := p.atom(KindNumber, isNumber); ok {
		return Number{t.text}
	}
	if t, ok := p.text(KindText); ok {
		return String{t.text}
	}
	text := p.tok.text
	if p.tok.kind != tokenAtom && p.tok.kind != tokenOwned {
		p.may(KindAttribute, "", false)
		p.unexpected()
	}
	task, name, ok := splitAttribute(text)
	if p.tok.kind == tokenOwned && task == "" {
		ok = false // "a b"/digits is a task, not one of its attributes
	}
	if !p.may(KindAttribute, "", ok) {
		p.unexpected()
	}
	a := Attribute{Name: name, Span: p.spanOf(p.tok)}
	if task != "" {
		a.Task = &Task{Span: p.lines.span(p.tok.start, p.tok.end-len(name)-1)}
		if a.Task.User, a.Task.Name, _ = splitTask(task); p.tok.kind == tokenOwned {
			a.Task.User = p.tok.user
		}
		p.context.Task = a.Task.String()
	}
	t := p.take(KindAttribute)
	if task != "" {
		task = a.Task.String()
	}
	if attributeDoc(name) == nil {
		p.noAttribute(t, task, name)
	}
	return a
}

func joinWords(words []string) string { return strings.Join(words, ", ") }
