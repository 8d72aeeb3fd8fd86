package lang

// dispatch reads the statement that starts at tok. Only a bare program begins
// with `{`; a word wins over an attribute; all else is a value.
func (p *parser) dispatch() Statement {
	if p.tok.kind == tokenMark && p.tok.text == "{" {
		p.word, p.context.Statement = "program", "program"
		return p.bare()
	}
	if p.tok.kind != tokenAtom || statementDoc(p.tok.text) == nil {
		p.word = "value"
		return p.value()
	}
	p.word = p.tok.text
	p.context.Statement = p.word
	p.take(KindWord)
	switch p.word {
	case "schema":
		return p.schema()
	case "feed":
		return p.feed()
	case "refine":
		return p.refine()
	case "infer":
		return p.infer()
	case "watch":
		return p.watch()
	case "wait":
		return p.wait()
	case "best":
		task := p.maybeTask()
		return &Best{p.place(), task}
	case "explain":
		return p.explain()
	case "models":
		task := p.maybeTask()
		into := p.into()
		return &Models{p.place(), task, into}
	case "why":
		return p.why()
	case "tasks":
		return p.taskList()
	case "pool":
		return p.pool()
	case "budget":
		return p.budget()
	case "stop":
		task := p.task()
		trial := p.trial()
		return &Stop{p.place(), task, trial}
	case "resume":
		task := p.task()
		return &Resume{p.place(), task}
	case "share":
		return p.share()
	case "unshare":
		task := p.task()
		p.expect("with")
		who := p.who()
		return &Unshare{p.place(), task, who}
	case "class":
		name := p.className()
		into := p.into()
		return &Class{p.place(), name.text, p.spanOf(name), into}
	case "export":
		return p.export()
	case "client":
		return p.client()
	case "drop":
		task := p.task()
		yes := p.accept("yes")
		return &Drop{p.place(), task, yes}
	case "assert":
		left := p.operand()
		compare := p.compare()
		right := p.operand()
		return &Assert{p.place(), left, compare, right}
	case "print":
		var values []Operand
		p.list(func() { values = append(values, p.operand()) }, nil)
		return &Print{p.place(), values}
	case "warn":
		text, ok := p.text(KindText)
		if !ok {
			p.unexpected()
		}
		return &Warn{p.place(), text.text}
	case "clear":
		return &Clear{p.place()}
	case "server":
		address, _ := p.text(KindServer)
		return &Server{p.place(), address.text}
	default: // help
		return p.help()
	}
}
