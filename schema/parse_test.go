package schema

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, canonical string }{
		{"{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}", // as the paper has it
			"{input: {[Tensor[256, 256, 3]], []}, output: {[Tensor[3]], []}}"},
		{"{ input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []} }",
			"{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}"},
		{"{\n  input:  {[image::Tensor[8,8,1],], []},  # 8x8 {grey}\r\n  output: {[digit :: Class[\"0\", '1']], []},\n}\n# end",
			`{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class["0", "1"]], []}}`},
		{"{input: {[Tensor[10]], [next]}, output: {[Tensor[10]], [next]}}",
			"{input: {[Tensor[10]], [next]}, output: {[Tensor[10]], [next]}}"},
		{`{input: {[10 :: Tensor[1]], [left, right]}, output: {[Class["a\"b", "ä\u00e9", 'c\d']], []}}`,
			`{input: {[10 :: Tensor[1]], [left, right]}, output: {[Class["a\"b", "äé", "c\\d"]], []}}`},
	} {
		p, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := Format(p); got != c.canonical {
			t.Errorf("%s\nis printed as %s\nwant          %s", c.text, got, c.canonical)
		}
	}
}

func TestErrors(t *testing.T) {
	const ok = "{[Tensor[1]], []}"
	many := func(n int, part string) string { return strings.Repeat(part+", ", n-1) + part }
	for _, c := range []struct{ input, output, want string }{
		{"{[Tensor[8, 8 1]], []}", ok, "line 1, column 23: a comma is missing between 8 and 1. Did you mean Tensor[8, 8, 1]?"},
		{`{[Class["a" "b"]], []}`, ok, `a comma is missing between "a" and "b". Did you mean Class["a", "b"]?`},
		{"{[Tensor[8, 0]], []}", ok, "a size is at least 1, not 0"},
		{"{[Tensor[]], []}", ok, "a Tensor needs at least one size. Tensor[1] is a single number."},
		{"{[Tensor[65536, 65536]], []}", ok, "a Tensor has at most 2,147,483,648 values"},
		{"{[Tensor[99999999999999999999]], []}", ok, "is too large"},
		{"{[Tensor[1,1,1,1,1,1,1,1,1]], []}", ok, "a Tensor has at most 8 sizes, this one has 9"},
		{"{[Tensor[2147483648], Tensor[1]], []}", ok, "an example of the input has more than 2,147,483,648 values"},
		{"{[Class[1]], []}", ok, "a Class needs at least 2 classes"},
		{"{[Class[100001]], []}", ok, "a Class has at most 100,000 classes, not 100,001"},
		{`{[Class["a", "b", "a"]], []}`, ok, `the label "a" stands twice`},
		{`{[Class["a", ""]], []}`, ok, "a label can't be empty"},
		{"{[Class[yes, no]], []}", ok, "`yes` is no whole number"},
		{"{[a :: Tensor[1], a :: Tensor[2]], []}", ok, "the input has two fields a"},
		{"{[Tensor[1], input :: Tensor[2]], []}", ok, "a field without a name is called input here"},
		{"{[a :: Tensor[1]], [a]}", ok, "the input has the name a twice"},
		{"{[a :: Tensor[1]], [l, l]}", ok, "the input has the name l twice"},
		{"{[a :: Tensor[1]], [l r]}", ok, "a comma is missing between l and r"},
		{"{[output :: Tensor[1]], []}", ok, "`output` is a field of the input and of the output"},
		{"{[Tensor[1]]}", ok, "the list of pointers is missing"},
		{"{[], []}", ok, "expected a name, `Tensor` or `Class`, not `]`"},
		{"{[Image :: Tensor[1]], []}", ok, "`Image` can't be a name: names have small letters, digits and _. Did you mean image?"},
		{"{[a : Tensor[1]], []}", ok, "a field and its type are joined by `::`"},
		{"{[a :: tensor[1]], []}", ok, "`tensor` is no type. Did you mean Tensor?"},
		{"{[" + strings.Repeat("a", 101) + " :: Tensor[1]], []}", ok, "a name has at most 100 characters"},
		{"{[" + many(4097, "Tensor[1]") + "], []}", ok, "the input has more than 4096 fields"},
		{"{[Tensor[1]], [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]}", ok, "the input has more than 16 pointers"},
		{"{[Class['" + strings.Repeat("a", 1001) + "']], []}", ok, "a label has at most 1000 characters"},
		{`{[Class["a\x", "b"]], []}`, ok, "`\\x` is no escape"},
		{`{[Class["\ud800", "b"]], []}`, ok, "is no escape"},
		{"{[Class[\"a\n\", \"b\"]], []}", ok, "the string that starts here has no end"},
		{"{[Tensor[1]], []}", "{[Tensor[1]], []}} x", "the program has ended, but the text goes on"},
		{"{[Tensor[1]], []}", "{[Tensor(1)], []}", "expected `[`, not `(`"},
		{"{[Tensor[1]], []} " + strings.Repeat(" ", MaxText), ok, "a program has at most 1048576 characters"},
	} {
		_, err := Parse("{input: " + c.input + ", output: " + c.output + "}")
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s %s: got %v, want %s", c.input, c.output, err, c.want)
		} else if e.AtEnd {
			t.Errorf("%.80s: the error is said to be at the end", c.input)
		}
	}
}

// Every beginning of a program is unfinished rather than wrong, unless it ends
// inside a string.
func TestUnfinished(t *testing.T) {
	text := "{input: {[image :: Tensor[8, 8], k :: Class['a', 'b']], [next]}, output: {[Class[10]], []}}"
	for i := range len(text) {
		_, err := Parse(text[:i])
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: no error", text[:i])
		}
		inString := strings.Count(text[:i], "'")%2 == 1
		// A word that is cut off is another word: Tens, Cl, inp.
		cutWord := i > 0 && IsAtom(rune(text[i-1])) && IsAtom(rune(text[i]))
		halfJoint := strings.HasSuffix(text[:i], " :")
		if !e.AtEnd && !inString && !cutWord && !halfJoint {
			t.Errorf("%s: %v", text[:i], err)
		}
	}
}

func TestPositions(t *testing.T) {
	_, err := Parse("{input: {[Class[\"😀é\"]],\r\n []}, output:\r {[Tensor[x]], []}}")
	e := err.(*Error)
	if e.Line != 1 || e.Column != 11 { // one label only
		t.Errorf("got %v", e)
	}
	_, err = Parse("{input: {[Class[\"😀é\", 'b']],\r\n []}, output:\r {[Tensor[x]], []}}")
	if e = err.(*Error); e.Line != 3 || e.Column != 11 || e.End-e.Offset != 1 {
		t.Errorf("got %v", e)
	}
}

func genProgram() *rapid.Generator[Program] {
	label := rapid.OneOf(rapid.StringN(1, 20, 80), rapid.SampledFrom([]string{`"`, `\`, "\n", "é", "😀", "a'b", "\u2028", "#"}))
	return rapid.Custom(func(t *rapid.T) Program {
		names := rapid.Permutation([]string{"a", "b", "image", "0", "x_1", "tensor", "class", "next", "left", "right"}).Draw(t, "names")
		side := func(s string) Type {
			var out Type
			for range rapid.IntRange(1, 3).Draw(t, s+" fields") {
				var f Field
				if rapid.Bool().Draw(t, "named") {
					f.Name, names = names[0], names[1:]
				}
				switch rapid.IntRange(0, 2).Draw(t, "kind") {
				case 0:
					f.Shape = rapid.SliceOfN(rapid.IntRange(1, 20), 1, 4).Draw(t, "shape")
				case 1:
					f.Classes = &Classes{Count: rapid.IntRange(2, 1000).Draw(t, "classes")}
				default:
					labels := rapid.SliceOfNDistinct(label, 2, 5, func(s string) string { return s }).Draw(t, "labels")
					f.Classes = &Classes{Count: len(labels), Labels: labels}
				}
				out.Fields = append(out.Fields, f)
			}
			for range rapid.IntRange(0, 2).Draw(t, s+" pointers") {
				out.Pointers = append(out.Pointers, names[0])
				names = names[1:]
			}
			return out
		}
		return Program{Input: side("input"), Output: side("output")}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}")
	f.Add("{input: {[a :: Class['x', \"\\u00e9\"]], [l, r]}, # c\n output: {[Class[10]], []},}")
	f.Add("{input: {[a :: Tensor[8 8")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err == nil {
			again, err := Parse(Format(p))
			if err != nil || !Equal(p, again) {
				t.Fatalf("%q is printed as %q: %v", text, Format(p), err)
			}
			Match(p)
			Describe(p)
			return
		}
		e, n := err.(*Error), len([]rune(text))
		if e.Offset < 0 || e.Offset > e.End || e.End > n || e.Message == "" {
			t.Fatalf("%q: error at %d to %d of %d: %v", text, e.Offset, e.End, n, e)
		}
	})
}
