package lang

import (
	"slices"
	"strings"
)

// HelpText is the text about a word: a statement, an option, an attribute, a word that
// means something in its place; for "" it is the overview, the six statements to
// begin with first. ok is false where the word is unknown, and text then says
// which one may be meant.
func HelpText(word string) (text string, ok bool) {
	if word == "" {
		return overview(), true
	}
	var parts []string
	if doc := statementDoc(word); doc != nil {
		parts = append(parts, doc.text())
	}
	if doc := words[word]; doc != "" {
		parts = append(parts, word+"\n    "+doc)
	}
	for _, s := range statements {
		if doc := optionDoc(s.Word, word); doc != nil {
			parts = append(parts, "Option of "+s.Word+":\n    "+doc.line())
		}
	}
	if doc := attributeDoc(word); doc != nil {
		parts = append(parts, "Attribute of a task:\n    TASK."+doc.Name+"  "+doc.Doc)
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n\n"), true
	}
	text = "There is no word `" + word + "`."
	if near := Nearest(word, topics()); near != "" {
		text += " Did you mean `help " + near + "`?"
	} else {
		text += " `help` lists the statements."
	}
	return text, false
}

// topics are the words that HelpText knows, sorted.
func topics() []string {
	var names []string
	for _, s := range statements {
		names = append(append(names, s.Word), optionNames(s.Word)...)
	}
	names = append(names, attributeNames()...)
	for word := range words {
		names = append(names, word)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// topicsInOrder are the topics as they are proposed: the statements first, those
// to begin with at the top.
func topicsInOrder() []string {
	var names []string
	for _, s := range statements {
		names = append(names, s.Word)
	}
	for _, topic := range topics() {
		if !slices.Contains(names, topic) {
			names = append(names, topic)
		}
	}
	return names
}

func overview() string {
	var b strings.Builder
	for _, first := range []bool{true, false} {
		if first {
			b.WriteString("To begin with:\n")
		} else {
			b.WriteString("\nAll others:\n")
		}
		for _, s := range statements {
			if s.First == first {
				b.WriteString("    " + s.Word + strings.Repeat(" ", 10-len(s.Word)) + firstSentence(s.Meaning) + "\n")
			}
		}
	}
	b.WriteString("\nhelp feed explains one of them. Tab completes what you type; Shift+Tab explains the word under the cursor.\n" +
		"digits.quality shows a figure of a task:\n    ")
	width := 4
	for i, a := range attributes {
		if i > 0 && width+len(a.Name)+1 > 100 {
			b.WriteString("\n    ")
			width = 4
		} else if i > 0 {
			b.WriteByte(' ')
			width++
		}
		b.WriteString(a.Name)
		width += len(a.Name)
	}
	return b.String()
}

func (d *StatementDoc) text() string {
	var b strings.Builder
	b.WriteString(strings.Join(d.Forms, "\n") + "\n\n" + d.Meaning + "\n\nFor example:\n    " +
		strings.ReplaceAll(d.Example, "\n", "\n    "))
	if list := options[d.Word]; len(list) > 0 {
		b.WriteString("\n\nOptions:")
		for i := range list {
			b.WriteString("\n    " + list[i].line())
		}
	}
	return b.String()
}

// wordDoc is one line about a word.
func wordDoc(word string) string {
	if doc := statementDoc(word); doc != nil && words[word] == "" {
		return firstSentence(doc.Meaning)
	}
	return words[word]
}

// firstSentence goes to the first stop that ends a sentence.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
