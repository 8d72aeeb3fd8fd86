package lang

import (
	"strconv"
	"time"
)

// Task names a task; User is "" for one's own.
type Task struct {
	User, Name string
	Span       Span
}

// String is the task as it is typed: digits, alice/digits, "a b"/digits.
func (t Task) String() string {
	switch {
	case t.User == "":
		return t.Name
	case isUser(t.User):
		return t.User + "/" + t.Name
	}
	return quote(t.User) + "/" + t.Name
}

// WhoKind says what a Who means.
type WhoKind string

// The kinds of Who.
const (
	WhoUser     WhoKind = "user"
	WhoClass    WhoKind = "class"
	WhoEveryone WhoKind = "everyone"
)

// Who is a user, a class or everyone; Name is "" for everyone.
type Who struct {
	Kind WhoKind
	Name string
	Span Span
}

// Principal is the wire form: user:alice, class:ml101, everyone.
func (w Who) Principal() string {
	if w.Kind == WhoEveryone {
		return string(w.Kind)
	}
	return string(w.Kind) + ":" + w.Name
}

// SourceKind says where examples come from.
type SourceKind string

// The kinds of Source.
const (
	SourceFile     SourceKind = "file"     // a file, folder, pattern or address
	SourceJSON     SourceKind = "json"     // written into the cell
	SourceVariable SourceKind = "variable" // a variable of the host: from df
)

// Source is one place where examples come from.
type Source struct {
	Kind SourceKind
	Text string // the file's or the variable's name
	JSON []byte // one JSON array or object, compact, without comments
	Span Span   // with the quotes or brackets
}

// Binding says which column fills a field: using FIELD = COLUMN.
type Binding struct {
	Field, Column string
	Span          Span
}

// Option is one NAME = VALUE of a with clause; options keep order and repetition.
type Option struct {
	Name      string
	Value     string
	Quoted    bool // written as a string
	Span      Span // NAME to VALUE
	ValueSpan Span
}

// On tells whether the option's value is on (or yes, true).
func (o Option) On() bool { on, _ := readSwitch(o.Value); return on }

// Into is where a table or file goes: a file, or a variable of the host.
type Into struct {
	File     string
	Variable string
	Span     Span
}

// Range is a run of example numbers, both ends included.
type Range struct {
	From, To int
	Span     Span
}

// String is the range as it is typed: 17 or 90..95.
func (r Range) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return strconv.Itoa(r.From) + ".." + strconv.Itoa(r.To)
}

// ConditionKind says what a wait waits for.
type ConditionKind string

// The kinds of Condition.
const (
	ConditionCompare ConditionKind = "compare" // Attribute Compare Number
	ConditionTime    ConditionKind = "time"    // Duration is over
	ConditionFinal   ConditionKind = "final"   // the task has settled
)

// Condition is one condition of a wait.
type Condition struct {
	Kind      ConditionKind
	Attribute string
	Compare   string
	Number    Number
	Duration  time.Duration
	Span      Span
}

// LimitKind says what a limit limits.
type LimitKind string

// The kinds of Limit.
const (
	LimitTime    LimitKind = "time"    // device time Duration, Per "", "day", "week" or "course"
	LimitDevices LimitKind = "devices" // Count devices at once
	LimitWeight  LimitKind = "weight"  // the share of the pool, Weight
	LimitStorage LimitKind = "storage" // Bytes kept
)

// Limit is one limit of a budget.
type Limit struct {
	Kind     LimitKind
	Duration time.Duration
	Per      string
	Count    int
	Weight   Number
	Bytes    int64
	Span     Span
}

// TokenSetting is pool token NAME[:LABEL] [COUNT | off] [on DEVICE] [for DURATION].
type TokenSetting struct {
	Name, Label string
	Count       *int // nil where it was left out
	Off         bool
	On          string        // "" where it was left out
	For         time.Duration // 0 where it was left out
}

// Operand is a value that can be printed, compared or shown: Number, String or Attribute.
type Operand interface{ operand() }

// Number keeps the text of a number so that it is shown as it was typed.
type Number struct{ Text string }

// Float is the number's value; texts that the parser made are always in range.
func (n Number) Float() float64 { f, _ := strconv.ParseFloat(n.Text, 64); return f }

// String is a text value.
type String struct{ Text string }

// Attribute is a figure of a task such as digits.quality; Task is nil for the current one.
type Attribute struct {
	Task *Task
	Name string
	Span Span
}

func (Number) operand()    {}
func (String) operand()    {}
func (Attribute) operand() {}
