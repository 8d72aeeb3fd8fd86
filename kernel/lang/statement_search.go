package lang

// This file reads the statements about searches, models and people.

func (p *parser) watch() Statement {
	s := &Watch{}
	if p.accept("all") {
		s.All = true
	} else if p.isTask() {
		p.list(func() { s.Tasks = append(s.Tasks, p.task()) }, p.isTask)
	}
	s.at = p.place()
	return s
}

func (p *parser) wait() Statement {
	s := &Wait{Task: p.maybeTask()}
	if !p.is("until") && p.tok.kind == tokenAtom {
		if _, time := readDuration(p.tok.text); time || p.tok.text == "final" {
			p.fail(p.tok, "`until` is missing before `"+p.tok.text+"`", "Did you mean `wait until "+p.tok.text+"`?")
		}
	}
	if p.accept("until") {
		s.Until = append(s.Until, p.condition())
		for p.accept("or") {
			s.Until = append(s.Until, p.condition())
		}
		if p.tok.text == "," || p.tok.text == "and" {
			p.fail(p.tok, "conditions are joined by `or`", "The first that holds ends the wait.")
		}
	}
	s.at = p.place()
	return s
}

func (p *parser) condition() (c Condition) {
	start := p.tok
	if p.accept("final") {
		c.Kind = ConditionFinal
	} else if t, ok := p.atom(KindDuration, isDuration); ok {
		c.Kind = ConditionTime
		c.Duration, _ = readDuration(t.text)
	} else {
		t, ok := p.atom(KindAttribute, IsName)
		if !ok {
			p.unexpected()
		}
		c.Kind, c.Attribute = ConditionCompare, t.text
		if doc := attributeDoc(t.text); doc == nil {
			p.noAttribute(t, "", t.text)
		} else if !doc.Number {
			p.note(t, "`"+t.text+"` is no number, so it can't be waited for", "For example: wait until quality >= 0.95.")
		}
		c.Compare = p.compare()
		number, ok := p.atom(KindNumber, isNumber)
		if !ok {
			p.unexpected()
		}
		c.Number = Number{number.text}
	}
	c.Span = p.lines.span(start.start, p.last.end)
	return c
}

func isDuration(s string) bool { _, ok := readDuration(s); return ok }

// noAttribute notes that a task has no such attribute.
func (p *parser) noAttribute(t token, task, name string) {
	hint := "There are " + joinWords(attributeNames()) + "."
	if near := Nearest(name, attributeNames()); near != "" {
		if task != "" {
			near = task + "." + near
		}
		hint = "Did you mean `" + near + "`?"
	}
	p.note(t, "there is no attribute `"+name+"`", hint)
}

func (p *parser) compare() string {
	for _, mark := range []string{">=", "<=", "==", "!=", ">", "<"} {
		if p.acceptMark(mark) {
			return mark
		}
	}
	if p.tok.kind == tokenMark && p.tok.text == "=" {
		p.fail(p.tok, "expected a comparison, not `=`", "Did you mean `>=` or `==`?")
	}
	p.unexpected()
	return ""
}

func (p *parser) why() Statement {
	s := &Why{Task: p.maybeTask()}
	if s.Trial = p.trial(); s.Trial == 0 {
		if s.Task != nil {
			if t, ok := p.atom(KindCandidate, isAtom); ok {
				s.Candidate = t.text
			}
		} else if p.tok.kind == tokenAtom {
			p.fail(p.tok, "expected a task or `trial`, not `"+p.tok.text+"`", "A candidate comes after its task: why TASK "+p.tok.text+".")
		}
	}
	s.at = p.place()
	return s
}

// trial reads [ "trial" INT ]; 0 where it was left out.
func (p *parser) trial() int {
	if !p.accept("trial") {
		return 0
	}
	t, ok := p.atom(KindTrial, isWhole)
	if !ok {
		p.unexpected()
	}
	n, _ := readWhole(t.text)
	if n == 0 {
		p.note(t, "trials are counted from 1", "")
	}
	return n
}

func (p *parser) taskList() Statement {
	s := &Tasks{}
	if p.accept("all") {
		s.All = true
	} else if p.accept("of") {
		who := p.who()
		s.Of = &who
	}
	s.Into = p.into()
	s.at = p.place()
	return s
}

func (p *parser) share() Statement {
	s := &Share{Task: p.task()}
	p.expect("with")
	s.With = p.who()
	if p.accept("as") {
		s.As = p.oneOf("reader", "editor", "template")
	}
	s.at = p.place()
	return s
}

// oneOf takes one of some words.
func (p *parser) oneOf(words ...string) string {
	for _, word := range words {
		if p.accept(word) {
			return word
		}
	}
	p.unexpected()
	return ""
}

func (p *parser) export() Statement {
	s := &Export{Task: p.maybeTask()}
	p.must()
	file, ok := p.text(KindFile)
	if !ok {
		p.unexpected()
	}
	s.File = file.text
	s.Trial = p.trial()
	s.at = p.place()
	return s
}

func (p *parser) client() Statement {
	s := &Client{Task: p.maybeTask()}
	p.must()
	s.Language = p.oneOf("python", "go")
	s.Into = p.into()
	s.at = p.place()
	return s
}

func (p *parser) help() Statement {
	topic, _ := p.atom(KindWord, isAtom)
	return &Help{p.place(), topic.text}
}

// value reads an expression at the start of a statement, where a plain word that
// is no attribute is most likely a mistyped statement.
func (p *parser) value() Statement {
	t := p.tok
	if t.kind == tokenAtom && !isNumber(t.text) {
		task, name, ok := splitAttribute(t.text)
		if !ok || task == "" && attributeDoc(name) == nil {
			p.unknownStatement()
		}
	} else if t.kind == tokenMark {
		p.fail(t, "a statement can't start with `"+t.text+"`", "`help` lists the statements.")
	}
	return &Value{Operand: p.operand(), at: p.place()}
}

func (p *parser) unknownStatement() {
	word := p.tok.text
	var names []string
	for _, s := range statements {
		names = append(names, s.Word)
	}
	message, hint := "unknown statement `"+word+"`", "`help` lists the statements."
	if near := Nearest(word, append(names, attributeNames()...)); near != "" {
		message, hint = message+"; did you mean `"+near+"`?", ""
	} else if _, ok := readDuration(word); ok {
		hint = "Did you mean `wait until " + word + "`?"
	} else if user, name, ok := splitTask(word); ok && (user != "" || !IsReserved(name)) {
		hint = "For a task of this name: `watch " + word + "` or `" + word + ".quality`. " + hint
	}
	panic(&Error{Span: p.spanOf(p.tok), Message: message, Hint: hint, Expected: startItems()})
}

// startItems is what can stand at the start of a statement.
func startItems() []Item {
	var items []Item
	for _, s := range statements {
		items = append(items, Item{KindWord, s.Word})
	}
	return append(items, Item{KindAttribute, ""}, Item{KindProgram, ""})
}
