package lang

import "github.com/easeml/easeml/schema"

// Cell is a parsed cell: its statements in the order in which they run.
type Cell struct {
	Statements []Statement
}

// Statement is one statement of a cell: one of the structs of this file.
type Statement interface {
	// Span is the statement's place in the source, from its word to its last token.
	Span() Span
	// Word is the statement's word such as "feed"; "program" for the bare form
	// and "value" for an expression.
	Word() string
}

// at gives every statement its place.
type at struct{ span Span }

func (a at) Span() Span { return a.span }

// Schema declares a task: schema NAME program [with …].
type Schema struct {
	at
	Name     string
	NameSpan Span
	Program  schema.Program
	Options  []Option
}

// SchemaFrom proposes a program for a file or folder: schema NAME from STRING
// [output COLUMN, …]. It declares nothing.
type SchemaFrom struct {
	at
	Name     string
	NameSpan Span
	From     string
	FromSpan Span
	Output   []string
}

// Bare is the paper's form, a program alone; its task's name is BareName.
type Bare struct {
	at
	Program schema.Program
}

// Feed gives examples to a task. Task is nil where the current one is meant.
type Feed struct {
	at
	Task    *Task
	AsIs    bool // "as is": what was fed is fine, whatever was warned of; nothing else is set
	Hidden  bool // "as hidden": for the hidden part of a class's task
	Sources []Source
	Output  []string
	Using   []Binding
	Options []Option
}

// RefineAction says what a refine does.
type RefineAction string

// The actions of Refine.
const (
	RefineShow  RefineAction = ""   // list the chosen examples, with Content also what is in them
	RefineOn    RefineAction = "on" // switch them on
	RefineOff   RefineAction = "off"
	RefineLabel RefineAction = "as" // correct their label to Label
)

// Refine looks at examples, switches them on or off, or corrects their label.
// At most one of IDs, Suspects, Gone and All is set; none of them means an overview.
type Refine struct {
	at
	Task     *Task
	Action   RefineAction
	IDs      []Range
	Suspects bool
	Gone     bool // for RefineOff: what is no longer in the file it came from
	All      bool
	Content  bool   // "show": with what is in the examples, their pictures or values
	Yes      bool   // answers the question that "off all" asks
	Label    string // for RefineLabel
	Quoted   bool   // the label was written as a string
}

// Infer asks the best model for answers.
type Infer struct {
	at
	Task    *Task
	Sources []Source
	Using   []Binding
	Into    *Into
	Options []Option
}

// Watch shows tasks live: the current one, those named, or all of the user's.
type Watch struct {
	at
	All   bool
	Tasks []Task
}

// Wait blocks until the first condition holds; without conditions until the task has settled.
type Wait struct {
	at
	Task  *Task
	Until []Condition
}

// Best reports on the best model.
type Best struct {
	at
	Task *Task
}

// Explain says what the model uses or, given an example's number or a source
// with one example, why it answers so for it. At most one of the two is set.
type Explain struct {
	at
	Task    *Task
	Example *int
	Source  *Source
}

// Models is the leaderboard of a task's candidates.
type Models struct {
	at
	Task *Task
	Into *Into
}

// Why gives the reason of the last decision, of the trial with number Trial (0:
// not given), or of a candidate's place in the queue.
type Why struct {
	at
	Task      *Task
	Trial     int
	Candidate string
}

// Tasks lists tasks: one's own and those shared, all of the server's, or those of somebody.
type Tasks struct {
	at
	All  bool
	Of   *Who
	Into *Into
}

// PoolAction says what a pool statement does.
type PoolAction string

// The actions of Pool.
const (
	PoolShow    PoolAction = ""
	PoolDrain   PoolAction = "drain"
	PoolReclaim PoolAction = "reclaim"
	PoolReturn  PoolAction = "return"
	PoolToken   PoolAction = "token"
)

// Pool shows the devices or acts on one of them.
type Pool struct {
	at
	Action PoolAction
	Device string // of drain, reclaim, return
	Now    bool   // reclaim … now: do not wait for a checkpoint
	Token  *TokenSetting
}

// Budget shows or sets limits. Task and For are both nil for "my own, show it";
// with neither Off nor Limits the statement only shows.
type Budget struct {
	at
	Task   *Task
	For    *Who
	Off    bool
	Limits []Limit
}

// Stop ends a task's search for now, or one trial of it (Trial > 0).
type Stop struct {
	at
	Task  Task
	Trial int
}

// Resume lets a stopped task search on.
type Resume struct {
	at
	Task Task
}

// Share lets somebody read, edit or copy a task. As is "" where it was left out
// (reader), else "reader", "editor" or "template".
type Share struct {
	at
	Task Task
	With Who
	As   string
}

// Unshare takes a share back.
type Unshare struct {
	at
	Task Task
	With Who
}

// Class shows a class: members, limits, leaderboard.
type Class struct {
	at
	Name     string
	NameSpan Span
	Into     *Into
}

// Export writes a model to a file: the best one, or that of trial Trial (> 0).
type Export struct {
	at
	Task  *Task
	File  string
	Trial int
}

// Client writes code that asks the task's model from "python" or "go".
type Client struct {
	at
	Task     *Task
	Language string
	Into     *Into
}

// Drop deletes a task; Yes answers the question that it asks.
type Drop struct {
	at
	Task Task
	Yes  bool
}

// Assert fails the cell unless Left Compare Right holds.
type Assert struct {
	at
	Left    Operand
	Compare string // one of >= <= == != > <
	Right   Operand
}

// Print writes values to stdout.
type Print struct {
	at
	Values []Operand
}

// Warn writes a sentence to stderr.
type Warn struct {
	at
	Text string
}

// Clear clears the cell's output.
type Clear struct{ at }

// Server shows the server, or goes to another one.
type Server struct {
	at
	Address string // "": show
}

// Help explains a word, or gives an overview where Topic is "".
type Help struct {
	at
	Topic string
}

// Value is an expression as a statement: its value is the cell's result.
type Value struct {
	at
	Operand Operand
}

func (*Schema) Word() string     { return "schema" }
func (*SchemaFrom) Word() string { return "schema" }
func (*Bare) Word() string       { return "program" }
func (*Feed) Word() string       { return "feed" }
func (*Refine) Word() string     { return "refine" }
func (*Infer) Word() string      { return "infer" }
func (*Watch) Word() string      { return "watch" }
func (*Wait) Word() string       { return "wait" }
func (*Best) Word() string       { return "best" }
func (*Explain) Word() string    { return "explain" }
func (*Models) Word() string     { return "models" }
func (*Why) Word() string        { return "why" }
func (*Tasks) Word() string      { return "tasks" }
func (*Pool) Word() string       { return "pool" }
func (*Budget) Word() string     { return "budget" }
func (*Stop) Word() string       { return "stop" }
func (*Resume) Word() string     { return "resume" }
func (*Share) Word() string      { return "share" }
func (*Unshare) Word() string    { return "unshare" }
func (*Class) Word() string      { return "class" }
func (*Export) Word() string     { return "export" }
func (*Client) Word() string     { return "client" }
func (*Drop) Word() string       { return "drop" }
func (*Assert) Word() string     { return "assert" }
func (*Print) Word() string      { return "print" }
func (*Warn) Word() string       { return "warn" }
func (*Clear) Word() string      { return "clear" }
func (*Server) Word() string     { return "server" }
func (*Help) Word() string       { return "help" }
func (*Value) Word() string      { return "value" }
