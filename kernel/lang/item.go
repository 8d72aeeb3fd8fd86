package lang

// ItemKind says what kind of thing can stand at a place of the source.
type ItemKind string

// The kinds of items. Those of the first group are names that the caller knows (Names).
const (
	KindTask      ItemKind = "task"
	KindFile      ItemKind = "file"
	KindColumn    ItemKind = "column" // of the files just named
	KindField     ItemKind = "field"  // of the task's program
	KindLabel     ItemKind = "label"  // a class of the task's output
	KindCandidate ItemKind = "candidate"
	KindTrial     ItemKind = "trial"
	KindUser      ItemKind = "user"
	KindClass     ItemKind = "class" // a class of students
	KindDevice    ItemKind = "device"
	KindVariable  ItemKind = "variable" // of the host
	KindToken     ItemKind = "token"    // of the pool
	KindServer    ItemKind = "server"

	KindWord        ItemKind = "word"
	KindOption      ItemKind = "option"
	KindValue       ItemKind = "option value"
	KindAttribute   ItemKind = "attribute"
	KindName        ItemKind = "name" // a new name
	KindExample     ItemKind = "example"
	KindNumber      ItemKind = "number"
	KindWhole       ItemKind = "whole number"
	KindDuration    ItemKind = "duration"
	KindSize        ItemKind = "size"
	KindText        ItemKind = "text"
	KindJSON        ItemKind = "JSON"
	KindProgram     ItemKind = "program"
	KindPointer     ItemKind = "pointer"
	KindPunctuation ItemKind = "punctuation"
	KindComment     ItemKind = "comment"
	KindEnd         ItemKind = "end"
)

// Item is one thing that could stand at a place: a kind and, for words,
// punctuation, options and their values, the very text.
type Item struct {
	Kind ItemKind
	Text string
}

// Names knows the names that only the caller can know. It answers from what it
// has at hand and never waits for the network. The parser filters by prefix.
type Names interface {
	// List gives the names of a kind that fit the context; nil where none are known.
	List(kind ItemKind, context Context) []string
}

// Context says what is known at the place that is completed.
type Context struct {
	Statement string   // the statement's word
	Task      string   // the task named in it, as typed; "" = the current one
	Files     []string // the files named in it so far
	Option    string   // the option whose value is wanted
	Prefix    string   // what was typed of the name
}

// CompletionItem is one proposal.
type CompletionItem struct {
	Text string
	Kind ItemKind
	Doc  string // one line, or ""
}

// Completion says what to put in place of the code points [Start, End).
type Completion struct {
	Start, End int
	Items      []CompletionItem
}

// Token is what lies under a cursor.
type Token struct {
	Kind      ItemKind
	Text      string // as typed, without quotes
	Span      Span
	Statement string // word of the statement around it
	Task      string // the task named in the statement; "" = the current one
	Option    string // for KindValue: whose value
	// Doc is the text about the word, option, attribute or program part: grammar
	// line, meaning and example, or type and default. "" for names.
	Doc string
}
