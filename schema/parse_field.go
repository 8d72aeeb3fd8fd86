package schema

import (
	"strconv"
	"strings"
)

// oneField reads [ FIELD "::" ] ( Tensor […] | Class […] ).
func (p *parser) oneField() (f Field) {
	if p.may("FIELD", p.tok.kind == tokenAtom) && p.tok.text != "Tensor" && p.tok.text != "Class" {
		after := scan(p.text, p.tok.end)
		if word := typeWord(p.tok.text); word != "" && after.text == "[" && after.kind == tokenMark {
			panic(p.errorAt(p.tok, "`"+p.tok.text+"` is no type", "Did you mean "+word+"?"))
		}
		f.Name = p.name(MarkField)
		if p.is(":") {
			panic(p.errorAt(p.tok, "a field and its type are joined by `::`", "Did you mean "+f.Name+" :: Tensor[…]?"))
		}
		p.expected = p.expected[:0]
		p.expect("::")
		if word := typeWord(p.tok.text); word != "" && p.tok.kind == tokenAtom && word != p.tok.text {
			panic(p.errorAt(p.tok, "`"+p.tok.text+"` is no type", "Did you mean "+word+"?"))
		}
	}
	switch {
	case p.accept("Tensor"):
		f.Shape = p.sizes()
	case p.accept("Class"):
		f.Classes = p.classes()
	default:
		p.unexpected()
	}
	return f
}

// typeWord is the type that somebody meant who wrote text, or "".
func typeWord(text string) string {
	switch strings.ToLower(text) {
	case "tensor", "tensors", "array", "vector", "number", "float", "real":
		return "Tensor"
	case "class", "classes", "category", "enum", "label", "labels":
		return "Class"
	}
	return ""
}

func (p *parser) sizes() []int {
	var sizes []int
	p.expect("[")
	if p.is("]") {
		p.fail(p.tok, checkField(Field{}))
	}
	for {
		sizes = append(sizes, p.whole("Tensor[8, 8]"))
		if p.is("]") {
			break
		}
		if !p.is(",") && p.tok.kind == tokenAtom {
			p.missingComma("Tensor", strconv.Itoa(sizes[len(sizes)-1]))
		}
		p.expect(",")
	}
	p.expect("]")
	return sizes
}

func (p *parser) classes() *Classes {
	p.expect("[")
	if p.may("INT", p.tok.kind == tokenAtom) {
		c := &Classes{Count: p.whole(`Class[10] or Class["no", "yes"]`)}
		p.expect("]")
		return c
	}
	c, seen := &Classes{}, map[string]bool{}
	for {
		if !p.may("STRING", p.tok.kind == tokenString) {
			if p.tok.kind == tokenAtom {
				panic(p.errorAt(p.tok, "a label stands in quotes", "Did you mean "+Quote(p.tok.text)+"?"))
			}
			p.unexpected()
		}
		if bad := checkLabel(p.tok.text, seen); bad != nil {
			p.fail(p.tok, bad)
		}
		p.mark(MarkLabel, p.tok)
		c.Labels = append(c.Labels, p.take().text)
		if p.is("]") {
			break
		}
		if !p.is(",") && p.tok.kind == tokenString {
			p.missingComma("Class", Quote(p.last.text))
		}
		p.expect(",")
	}
	p.expect("]")
	c.Count = len(c.Labels)
	return c
}

// missingComma reports that a list's comma is missing before tok, and shows the
// list with its commas where the rest of it is plain.
func (p *parser) missingComma(word, before string) {
	here, after := p.tok, p.tok.text
	if here.kind == tokenString {
		after = Quote(after)
	}
	// Go back to the list's bracket and read its items, with or without commas.
	open := 0
	for _, m := range p.marks {
		if m.Kind == MarkWord {
			open = m.End
		}
	}
	var items []string
	hint := ""
	for t := scan(p.text, scan(p.text, open).end); ; t = scan(p.text, t.end) {
		if t.kind == here.kind {
			items = append(items, string(p.text[t.start:t.end]))
		} else if t.text == "]" {
			if len(items) <= 20 {
				hint = "Did you mean " + word + "[" + strings.Join(items, ", ") + "]?"
			}
			break
		} else if t.text != "," {
			break
		}
	}
	panic(p.errorAt(here, "a comma is missing between "+before+" and "+after, hint))
}

// whole takes a whole number; like is how it should look.
func (p *parser) whole(like string) int {
	if !p.may("INT", p.tok.kind == tokenAtom) {
		p.unexpected()
	}
	n, err := strconv.ParseUint(p.tok.text, 10, 64)
	switch {
	case err != nil && strings.Trim(p.tok.text, "0123456789") != "":
		panic(p.errorAt(p.tok, "`"+p.tok.text+"` is no whole number", "Whole numbers stand here, such as "+like+"."))
	case err != nil || n > MaxValues:
		panic(p.errorAt(p.tok, "`"+p.tok.text+"` is too large", "At most 2,147,483,648 can stand here."))
	}
	p.mark(MarkSize, p.tok)
	t := p.take()
	if n == 0 && strings.HasPrefix(like, "Tensor") {
		p.fail(t, faultf("", "a size is at least 1, not 0"))
	}
	return int(n)
}
