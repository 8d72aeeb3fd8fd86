package lang

import (
	"encoding/json"
	"time"

	"github.com/easeml/easeml/schema"
	"pgregory.net/rapid"
)

// draw makes statements of every kind, as the parser could make them.
type draw struct{ *rapid.T }

var (
	genText = rapid.OneOf(rapid.StringN(0, 12, -1), rapid.SampledFrom([]string{"", "a.csv", `C:\data`, "it's", `"`, "ä😀", "\n", "# no"}))
	genName = rapid.StringMatching(`[a-z][a-z0-9_]{0,6}`).Filter(func(s string) bool { return !IsReserved(s) })
	genAtom = rapid.StringMatching(`[A-Za-z0-9_.@+-]{1,8}`)
	genUser = rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_.@+-]{1,8}`), rapid.SampledFrom([]string{"a b", "ä", "class", "everyone", `q"q`}))
)

func (d draw) text() string { return genText.Draw(d.T, "text") }
func (d draw) name() string { return genName.Draw(d.T, "name") }
func (d draw) atom() string { return genAtom.Draw(d.T, "atom") }
func (d draw) coin() bool   { return rapid.Bool().Draw(d.T, "coin") }
func (d draw) below(n int) int {
	return rapid.IntRange(0, n-1).Draw(d.T, "number")
}
func (d draw) one(words ...string) string { return rapid.SampledFrom(words).Draw(d.T, "word") }

func several[T any](d draw, least int, item func() T) []T {
	var items []T
	for range least + d.below(3) {
		items = append(items, item())
	}
	return items
}

func maybe[T any](d draw, item func() T) *T {
	if d.coin() {
		return nil
	}
	v := item()
	return &v
}

func (d draw) task() Task {
	t := Task{Name: d.name()}
	if d.coin() {
		t.User = genUser.Draw(d.T, "user")
	}
	return t
}

func (d draw) who() Who {
	switch d.below(3) {
	case 0:
		return Who{Kind: WhoEveryone}
	case 1:
		return Who{Kind: WhoClass, Name: d.name()}
	}
	return Who{Kind: WhoUser, Name: genUser.Draw(d.T, "user")}
}

func (d draw) column() string {
	if d.coin() {
		return d.name()
	}
	return d.text()
}

func (d draw) source() Source {
	switch d.below(3) {
	case 0:
		return Source{Kind: SourceVariable, Text: d.name()}
	case 1:
		value := map[string]any{d.text(): []any{d.below(9), 1.5, nil, d.coin(), d.text(), map[string]any{}, []any{}}}
		data, _ := json.Marshal(value)
		// As the parser writes it: only what JSON must escape.
		compact, _, err := scanJSON([]rune(string(data)), newLines(nil), 0)
		if err != nil {
			d.Fatal(err)
		}
		return Source{Kind: SourceJSON, JSON: compact}
	}
	return Source{Kind: SourceFile, Text: "f" + d.text()}
}

func (d draw) into() *Into {
	return maybe(d, func() Into {
		if d.coin() {
			return Into{Variable: d.name()}
		}
		return Into{File: d.text()}
	})
}

func (d draw) using() []Binding {
	return several(d, 0, func() Binding { return Binding{Field: d.name(), Column: d.column()} })
}

// options gives each option that a coin picks a right value.
func (d draw) options(word string) []Option {
	var all []Option
	for _, doc := range options[word] {
		for n := 0; d.coin() && (n == 0 || doc.Repeat); n++ {
			o := Option{Name: doc.Name, Quoted: d.coin()}
			switch doc.Type {
			case OptionSwitch:
				o.Value = d.one("on", "off")
			case OptionWhole:
				o.Value = itoa(doc.Min + d.below(9))
			case OptionShare:
				o.Value = "0.25"
			case OptionDuration:
				o.Value = "1h30m"
			case OptionCharacter:
				o.Value, o.Quoted = ",", true
			case OptionWord:
				o.Value = d.atom()
			default:
				o.Value, o.Quoted = d.text()+"x y", true
			}
			all = append(all, o)
		}
	}
	return all
}

func (d draw) program() schema.Program {
	p, err := schema.Parse(d.one(
		"{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}",
		"{input: {[a :: Tensor[1], Class['x', 'y z', '\"']], [next]}, output: {[Class[10]], []}}"))
	if err != nil {
		d.Fatal(err)
	}
	return p
}

func (d draw) numberText() string { return d.one("0", "0.97", "-1.5e3", "12", "1E+6") }

func (d draw) operand() Operand {
	switch d.below(3) {
	case 0:
		return Number{d.numberText()}
	case 1:
		return String{d.text()}
	}
	return Attribute{Task: maybe(d, d.task), Name: rapid.SampledFrom(attributeNames()).Draw(d.T, "attribute")}
}

func (d draw) duration() time.Duration {
	return time.Duration(rapid.IntRange(1, 1e6).Draw(d.T, "seconds")) * time.Second
}

func (d draw) condition() Condition {
	switch d.below(3) {
	case 0:
		return Condition{Kind: ConditionFinal}
	case 1:
		return Condition{Kind: ConditionTime, Duration: d.duration()}
	}
	return Condition{Kind: ConditionCompare, Attribute: d.one("quality", "test", "trials"),
		Compare: d.one(">=", "<=", "==", "!=", ">", "<"), Number: Number{d.numberText()}}
}

func (d draw) limit() Limit {
	switch d.below(4) {
	case 0:
		return Limit{Kind: LimitDevices, Count: d.below(9)}
	case 1:
		return Limit{Kind: LimitWeight, Weight: Number{d.one("2", "0.5")}}
	case 2:
		return Limit{Kind: LimitStorage, Bytes: int64(1+d.below(5000)) * 1000}
	}
	return Limit{Kind: LimitTime, Duration: d.duration(), Per: d.one("", "day", "week", "course")}
}

func (d draw) ranges() []Range {
	return several(d, 1, func() Range {
		from := d.below(1000)
		return Range{From: from, To: from + d.below(3)}
	})
}

func (d draw) refine() *Refine {
	s := &Refine{Task: maybe(d, d.task)}
	switch d.below(6) {
	case 0:
		s.IDs = d.ranges()
	case 1:
		s.Suspects = true
	case 4:
		s.Content = true
		switch d.below(3) {
		case 0:
			s.IDs = d.ranges()
		case 1:
			s.All = true
		default:
			s.Suspects = true
		}
	case 2:
		s.Action, s.IDs, s.Label, s.Quoted = RefineLabel, d.ranges(), d.text(), true
	case 3:
		s.Action = RefineAction(d.one("on", "off"))
		switch d.below(4) {
		case 3:
			s.Action, s.Gone = RefineOff, true
		case 0:
			s.IDs = d.ranges()
		case 1:
			s.All, s.Yes = true, s.Action == RefineOff && d.coin()
		default:
			s.Suspects = true
		}
	}
	return s
}

func (d draw) explain() *Explain {
	s := &Explain{Task: maybe(d, d.task)}
	if d.coin() {
		s.Example = maybe(d, func() int { return d.below(99) })
	} else {
		s.Source = maybe(d, d.source)
	}
	return s
}

func (d draw) why() *Why {
	s := &Why{Task: maybe(d, d.task)}
	if d.coin() {
		s.Trial = d.below(9)
	} else if s.Task != nil {
		s.Candidate = "c" + d.atom()
	}
	return s
}

func (d draw) pool() *Pool {
	switch d.below(5) {
	case 0:
		return &Pool{Action: PoolDrain, Device: d.atom()}
	case 1:
		return &Pool{Action: PoolReclaim, Device: d.atom(), Now: d.coin()}
	case 2:
		return &Pool{Action: PoolReturn, Device: d.atom()}
	case 3:
		t := &TokenSetting{Name: d.atom()}
		if d.coin() {
			t.Label = d.atom()
		}
		if t.Count = maybe(d, func() int { return d.below(9) }); t.Count == nil {
			t.Off = d.coin()
		}
		if d.coin() {
			t.On, t.For = d.atom(), d.duration()
		}
		return &Pool{Action: PoolToken, Token: t}
	}
	return &Pool{}
}

func (d draw) budget() *Budget {
	s := &Budget{}
	if d.coin() {
		s.Task = maybe(d, d.task)
	} else {
		s.For = maybe(d, d.who)
	}
	if s.Task == nil && s.For == nil {
		return s
	}
	if d.coin() {
		s.Limits = several(d, 0, d.limit)
	} else {
		s.Off = d.coin()
	}
	return s
}

func (d draw) watch() *Watch {
	if d.coin() {
		return &Watch{All: d.coin()}
	}
	return &Watch{Tasks: several(d, 0, d.task)}
}

func (d draw) tasks() *Tasks {
	s := &Tasks{All: d.coin(), Into: d.into()}
	if !s.All {
		s.Of = maybe(d, d.who)
	}
	return s
}

func (d draw) statement() Statement {
	makers := []func() Statement{
		func() Statement { return &Schema{Name: d.name(), Program: d.program(), Options: d.options("schema")} },
		func() Statement {
			return &SchemaFrom{Name: d.name(), From: d.text(), Output: several(d, 0, d.column)}
		},
		func() Statement { return &Bare{Program: d.program()} },
		func() Statement { return &Feed{Task: maybe(d, d.task), AsIs: true} },
		func() Statement {
			return &Feed{Task: maybe(d, d.task), Hidden: d.coin(), Sources: several(d, 1, d.source),
				Output: several(d, 0, d.column), Using: d.using(), Options: d.options("feed")}
		},
		func() Statement { return d.refine() },
		func() Statement {
			return &Infer{Task: maybe(d, d.task), Sources: several(d, 1, d.source), Using: d.using(), Into: d.into(), Options: d.options("infer")}
		},
		func() Statement { return d.watch() },
		func() Statement { return &Wait{Task: maybe(d, d.task), Until: several(d, 0, d.condition)} },
		func() Statement { return &Best{Task: maybe(d, d.task)} },
		func() Statement { return d.explain() },
		func() Statement { return &Models{Task: maybe(d, d.task), Into: d.into()} },
		func() Statement { return d.why() },
		func() Statement { return d.tasks() },
		func() Statement { return d.pool() },
		func() Statement { return d.budget() },
		func() Statement { return &Stop{Task: d.task(), Trial: d.below(5)} },
		func() Statement { return &Resume{Task: d.task()} },
		func() Statement {
			return &Share{Task: d.task(), With: d.who(), As: d.one("", "reader", "editor", "template")}
		},
		func() Statement { return &Unshare{Task: d.task(), With: d.who()} },
		func() Statement { return &Class{Name: d.name(), Into: d.into()} },
		func() Statement { return &Export{Task: maybe(d, d.task), File: d.text(), Trial: d.below(5)} },
		func() Statement {
			return &Client{Task: maybe(d, d.task), Language: d.one("python", "go"), Into: d.into()}
		},
		func() Statement { return &Drop{Task: d.task(), Yes: d.coin()} },
		func() Statement {
			return &Assert{Left: d.operand(), Compare: d.one(">=", "<=", "==", "!=", ">", "<"), Right: d.operand()}
		},
		func() Statement { return &Print{Values: several(d, 1, d.operand)} },
		func() Statement { return &Warn{Text: d.text()} },
		func() Statement { return &Clear{} },
		func() Statement { return &Server{Address: d.text()} },
		func() Statement { return &Help{Topic: d.one("", "feed", "quality")} },
		func() Statement { return d.value() },
	}
	return makers[d.below(len(makers))]()
}

// value is an expression; at the start of a statement a word wins over an attribute.
func (d draw) value() *Value {
	o := d.operand()
	if a, ok := o.(Attribute); ok && a.Task == nil && statementDoc(a.Name) != nil {
		a.Name = "quality"
		o = a
	}
	return &Value{Operand: o}
}
