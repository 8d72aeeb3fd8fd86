package lang

// At tells what lies under the cursor, a code-point offset: the token that holds
// it or ends at it, else the word of the statement around it. ok is false
// outside of statements, and on a token that has no meaning there.
func At(src string, cursor int) (t Token, ok bool) {
	if HostCell(src) {
		return Token{}, false
	}
	p := newParser([]rune(src), true)
	p.cell()
	best := -1
	for i, t := range p.tokens {
		if t.Span.Start <= cursor && cursor <= t.Span.End {
			best = i // the later one wins: it starts where the other ends
		}
	}
	if best < 0 {
		for _, place := range p.places {
			if place.start <= cursor && cursor <= place.end && place.token < len(p.tokens) &&
				p.tokens[place.token].Span.Start == place.start {
				best = place.token
			}
		}
	}
	if best < 0 {
		return Token{}, false
	}
	t = p.tokens[best]
	if t.Doc == "" {
		t.Doc = tokenDoc(t)
	}
	return t, true
}

func tokenDoc(t Token) string {
	switch t.Kind {
	case KindWord:
		if doc := statementDoc(t.Text); doc != nil && (t.Text == t.Statement || t.Statement == "help" || words[t.Text] == "") {
			return doc.text()
		}
		return words[t.Text]
	case KindOption, KindValue, KindColumn:
		if doc := optionDoc(t.Statement, t.Option); doc != nil {
			return doc.line()
		}
	case KindAttribute:
		_, name, _ := splitAttribute(t.Text)
		if doc := attributeDoc(name); doc != nil {
			return doc.Name + ": " + doc.Doc
		}
	}
	return ""
}
