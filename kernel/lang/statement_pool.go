package lang

import "time"

// This file reads the statements about devices and limits.

func (p *parser) pool() Statement {
	s := &Pool{}
	switch {
	case p.accept("drain"):
		s.Action, s.Device = PoolDrain, p.device()
	case p.accept("reclaim"):
		s.Action, s.Device = PoolReclaim, p.device()
		s.Now = p.accept("now")
	case p.accept("return"):
		s.Action, s.Device = PoolReturn, p.device()
	case p.accept("token"):
		s.Action, s.Token = PoolToken, p.tokenSetting()
	}
	s.at = p.place()
	return s
}

func (p *parser) device() string {
	t, ok := p.atom(KindDevice, isAtom)
	if !ok {
		p.unexpected()
	}
	return t.text
}

func (p *parser) tokenSetting() *TokenSetting {
	s := &TokenSetting{}
	name, ok := p.atom(KindToken, isAtom)
	if !ok {
		p.unexpected()
	}
	s.Name = name.text
	if p.acceptMark(":") {
		label, ok := p.atom(KindToken, isAtom)
		if !ok {
			p.unexpected()
		}
		s.Label = label.text
	}
	if count, ok := p.atom(KindWhole, isWhole); ok {
		n, _ := readWhole(count.text)
		s.Count = &n
	} else if p.accept("off") {
		s.Off = true
	}
	if p.accept("on") {
		s.On = p.device()
	}
	if p.accept("for") {
		s.For = p.duration()
	}
	return s
}

func (p *parser) duration() time.Duration {
	t, ok := p.atom(KindDuration, isDuration)
	if !ok {
		p.unexpected()
	}
	d, _ := readDuration(t.text)
	return d
}

func (p *parser) budget() Statement {
	s := &Budget{}
	if p.is("for") {
		p.accept("for")
		who := p.who()
		s.For = &who
	} else if s.Task = p.maybeTask(); s.Task == nil {
		if p.tok.kind == tokenAtom {
			if isDuration(p.tok.text) || p.tok.text == "off" {
				p.fail(p.tok, "a limit comes after whose it is", "For example: budget for everyone "+p.tok.text+", or budget TASK "+p.tok.text+".")
			}
		}
		s.at = p.place()
		return s
	}
	switch {
	case p.accept("off"):
		s.Off = true
	case p.isLimit():
		p.list(func() { s.Limits = append(s.Limits, p.limit()) }, p.isLimit)
	}
	s.at = p.place()
	return s
}

func (p *parser) isLimit() bool {
	ok := p.may(KindDuration, "", p.tok.kind == tokenAtom && isDuration(p.tok.text))
	for _, word := range []string{"devices", "weight", "storage"} {
		ok = p.is(word) || ok
	}
	return ok
}

func (p *parser) limit() (l Limit) {
	start := p.tok
	switch {
	case p.accept("devices"):
		l.Kind = LimitDevices
		t, ok := p.atom(KindWhole, isWhole)
		if !ok {
			p.unexpected()
		}
		l.Count, _ = readWhole(t.text)
	case p.accept("weight"):
		l.Kind = LimitWeight
		t, ok := p.atom(KindNumber, isNumber)
		if !ok {
			p.unexpected()
		}
		if l.Weight = (Number{t.text}); l.Weight.Float() <= 0 {
			p.note(t, "a weight is above 0, not "+t.text, "")
		}
	case p.accept("storage"):
		l.Kind = LimitStorage
		t, ok := p.atom(KindSize, func(s string) bool { _, ok := readSize(s); return ok })
		if !ok {
			p.unexpected()
		}
		l.Bytes, _ = readSize(t.text)
	default:
		if !p.isLimit() {
			p.unexpected()
		}
		l.Kind, l.Duration = LimitTime, p.duration()
		if p.accept("per") {
			l.Per = p.oneOf("day", "week", "course")
		}
	}
	l.Span = p.lines.span(start.start, p.last.end)
	return l
}
