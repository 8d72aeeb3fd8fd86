package lang

import (
	"slices"
	"strings"

	"github.com/easeml/easeml/schema"
)

// Complete proposes what can stand at the cursor, a code-point offset. It parses
// the text before the word under the cursor; what the parser would have taken
// there, filtered by the part that is typed already, is the answer. names (may be
// nil) supplies tasks, files, columns and the like.
func Complete(src string, cursor int, names Names) Completion {
	runes := []rune(src)
	cursor = max(0, min(cursor, len(runes)))
	typed := typedAt(runes, cursor)
	none := Completion{Start: cursor, End: cursor}
	if HostCell(src) || typed.comment {
		return none
	}
	p := newParser(runes[:typed.cut], true)
	p.cell()
	c := completer{parser: p, names: names, typed: typed, prefix: typed.text}
	c.context = p.context
	items := p.expected
	if p.onStart {
		items = startItems()
	}
	if !typed.quoted {
		c.splitAttribute(items)
	}
	for _, item := range items {
		c.add(item)
	}
	out := Completion{Start: typed.start + c.skipped, End: cursor, Items: c.found}
	if len(c.found) == 0 {
		out.Items = c.other
	}
	return out
}

// typed is the word before the cursor.
type typed struct {
	text    string // without its quote
	start   int    // where it begins, behind a quote
	cut     int    // where it begins, with the quote: the text before is parsed
	quoted  bool   // the cursor is inside a string
	mark    rune   // its quote
	closed  bool   // and the string ends behind the cursor
	comment bool
}

// typedAt finds what was typed of the word under the cursor.
func typedAt(src []rune, cursor int) typed {
	i := 0
	for i < cursor {
		switch r := src[i]; {
		case r == '#':
			for i < cursor && src[i] != '\n' && src[i] != '\r' {
				i++
			}
			if i == cursor {
				return typed{start: cursor, cut: cursor, comment: true}
			}
		case r == '"' || r == '\'':
			start := i
			end, closed := stringEnd(src, i, cursor)
			if !closed {
				return inString(src, start, cursor)
			}
			i = end
			if i < cursor && src[i] == '/' {
				for i < cursor && schema.IsAtom(src[i]) {
					i++
				}
				if i == cursor {
					return typed{text: string(src[start:cursor]), start: start, cut: start}
				}
			}
		case schema.IsAtom(r):
			start := i
			for i < cursor && schema.IsAtom(src[i]) {
				i++
			}
			if i == cursor {
				return typed{text: string(src[start:cursor]), start: start, cut: start}
			}
		default:
			i++
		}
	}
	return typed{start: cursor, cut: cursor}
}

// stringEnd is the offset after the string at src[i]; closed is false where it
// goes on to limit. A line end ends it too.
func stringEnd(src []rune, i, limit int) (end int, closed bool) {
	mark := src[i]
	for i++; i < limit; i++ {
		switch {
		case src[i] == mark:
			return i + 1, true
		case src[i] == '\n' || src[i] == '\r':
			return i, true
		case src[i] == '\\' && mark == '"':
			i++
		}
	}
	return limit, false
}

func inString(src []rune, start, cursor int) typed {
	t := typed{text: string(src[start+1 : cursor]), start: start + 1, cut: start, quoted: true, mark: src[start]}
	if value, _, err := schema.ScanString([]rune(string(t.mark)+t.text+string(t.mark)), 0); err == nil {
		t.text = value
	}
	for _, r := range src[cursor:] {
		if r == '\n' || r == '\r' {
			break
		}
		t.closed = t.closed || r == t.mark
	}
	return t
}

// completer turns expected items into proposals.
type completer struct {
	*parser
	names   Names
	typed   typed
	prefix  string
	skipped int // code points of the typed word that stay: TASK.
	context Context
	found   []CompletionItem
	other   []CompletionItem // those that fit the prefix but for upper and lower case
}

// splitAttribute takes TASK. off the prefix where an attribute is expected.
func (c *completer) splitAttribute(items []Item) {
	dot := strings.LastIndexByte(c.prefix, '.')
	if dot < 0 || dot < strings.LastIndexByte(c.prefix, '/') ||
		!slices.ContainsFunc(items, func(i Item) bool { return i.Kind == KindAttribute }) {
		return
	}
	c.context.Task = c.prefix[:dot]
	c.skipped = len([]rune(c.prefix[:dot+1]))
	c.prefix = c.prefix[dot+1:]
}

func (c *completer) add(item Item) {
	if c.skipped > 0 && item.Kind != KindAttribute {
		return
	}
	switch item.Kind {
	case KindWord:
		words := []string{item.Text}
		if item.Text == "" { // help takes any
			words = topicsInOrder()
		}
		for _, word := range words {
			if !c.typed.quoted {
				c.propose(word, word, KindWord, wordDoc(word))
			}
		}
	case KindOption:
		for _, o := range options[c.context.Statement] {
			c.propose(o.Name, o.Name, KindOption, o.line())
		}
	case KindAttribute:
		c.addAttributes()
	case KindValue:
		c.addValues()
	case KindTask:
		if !c.typed.quoted {
			for _, name := range c.tasks() {
				c.propose(name, name, KindTask, "")
			}
		}
	case KindField:
		for _, name := range c.fields() {
			c.propose(name, name, KindField, "")
		}
	case KindFile, KindServer, KindText:
		for _, name := range c.list(item.Kind) {
			c.proposeText(name, item.Kind, func(string) bool { return false })
		}
	case KindColumn:
		for _, name := range c.list(KindColumn) {
			c.proposeText(name, KindColumn, func(s string) bool { return isVariable(s) && !IsReserved(s) })
		}
	case KindLabel:
		for _, name := range c.list(KindLabel) {
			c.proposeText(name, KindLabel, func(s string) bool { return isAtom(s) && c.word != "schema" && c.word != "program" })
		}
	case KindUser:
		for _, name := range c.list(KindUser) {
			c.proposeText(name, KindUser, isUser)
		}
	case KindCandidate, KindTrial, KindClass, KindDevice, KindVariable, KindToken, KindExample:
		if !c.typed.quoted {
			for _, name := range c.list(item.Kind) {
				c.propose(name, name, item.Kind, "")
			}
		}
	}
}

// list asks the caller for names.
func (c *completer) list(kind ItemKind) []string {
	if c.names == nil {
		return nil
	}
	context := c.context
	context.Prefix = c.prefix
	return c.names.List(kind, context)
}

// tasks are those the caller knows and those that the cell itself declares above.
func (c *completer) tasks() []string {
	names := c.list(KindTask)
	for _, s := range c.out {
		if s, ok := s.(*Schema); ok && !slices.Contains(names, s.Name) {
			names = append(slices.Clip(names), s.Name)
		}
	}
	return names
}

func (c *completer) fields() []string {
	p, ok := c.programs[c.context.Task]
	if !ok {
		return c.list(KindField)
	}
	return append(p.Names(schema.Input), p.Names(schema.Output)...)
}

func (c *completer) addAttributes() {
	if c.typed.quoted || c.onStart && c.prefix == "" && c.skipped == 0 {
		return // on an empty line the statements are enough
	}
	for _, a := range attributes {
		c.propose(a.Name, a.Name, KindAttribute, a.Doc)
	}
	if c.skipped > 0 || c.word == "wait" {
		return
	}
	for _, name := range c.tasks() {
		c.propose(name+".", name+".", KindTask, "")
	}
}

func (c *completer) addValues() {
	doc := optionDoc(c.context.Statement, c.context.Option)
	if doc == nil {
		return
	}
	values := slices.Clone(doc.Values)
	if doc.Type == OptionSwitch {
		values = append(values, "on", "off")
	}
	for _, name := range c.list(KindValue) {
		if !slices.Contains(values, name) {
			values = append(values, name)
		}
	}
	for _, v := range values {
		c.proposeText(v, KindValue, isAtom)
	}
}

// proposeText proposes a name that needs quotes unless plain holds.
func (c *completer) proposeText(name string, kind ItemKind, plain func(string) bool) {
	text := name
	switch {
	case c.typed.quoted && c.typed.mark == '\'':
		if strings.ContainsAny(name, "'\n\r") {
			return
		}
	case c.typed.quoted:
		text = strings.TrimSuffix(strings.TrimPrefix(quote(name), `"`), `"`)
	case !plain(name):
		text = quote(name)
		if kind == KindFile && strings.HasSuffix(name, "/") {
			text = strings.TrimSuffix(text, `"`)
		}
	}
	if c.typed.quoted && !c.typed.closed && !(kind == KindFile && strings.HasSuffix(name, "/")) {
		text += string(c.typed.mark)
	}
	c.propose(name, text, kind, "")
}

// propose adds a proposal if name begins with what was typed.
func (c *completer) propose(name, text string, kind ItemKind, doc string) {
	item := CompletionItem{text, kind, doc}
	switch {
	case strings.HasPrefix(name, c.prefix):
		if !slices.Contains(c.found, item) {
			c.found = append(c.found, item)
		}
	case len(name) >= len(c.prefix) && strings.EqualFold(name[:len(c.prefix)], c.prefix):
		if !slices.Contains(c.other, item) {
			c.other = append(c.other, item)
		}
	}
}
