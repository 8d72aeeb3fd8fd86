package lang

import (
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/schema"
	"pgregory.net/rapid"
)

// What is printed is read as the same statement, and its text is complete.
func TestFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw{t}.statement()
		text := Format(s)
		cell, err := Parse(text)
		if err != nil {
			t.Fatalf("%#v\n%s", s, err.(*Error).Show(text))
		}
		if len(cell.Statements) != 1 || !same(s, cell.Statements[0]) {
			t.Fatalf("%s\n%#v\n%#v", text, s, cell.Statements)
		}
		if Format(cell.Statements[0]) != text {
			t.Fatalf("%s is printed as %s", text, Format(cell.Statements[0]))
		}
		if status, _ := IsComplete(text); status != StatusComplete {
			t.Fatalf("%s is called %s", text, status)
		}
	})
}

func TestParts(t *testing.T) {
	cell, err := Parse("# a cell\nfeed alice/digits \"a.csv\", [ 1, # one\n 2 ], from df output y using x = 'X' with decimal = \",\", ignore = a, ignore = b\n" +
		"wait until test > 0.5 or 1d2h; budget for class c 10h per week, storage 5GB; refine 1, 3..5\n\"a b\"/d.best; pool token w:d 2 on gpu0 for 90m")
	if err != nil {
		t.Fatal(err)
	}
	feed := cell.Statements[0].(*Feed)
	if feed.Task.String() != "alice/digits" || feed.Task.Span != (Span{14, 26, 2, 6}) || feed.Span() != (Span{9, 126, 2, 1}) {
		t.Errorf("%+v at %+v", feed, feed.Span())
	}
	if s := feed.Sources; len(s) != 3 || s[0].Text != "a.csv" || string(s[1].JSON) != "[1,2]" || s[2].Kind != SourceVariable {
		t.Errorf("%+v", s)
	}
	if o := feed.Options; len(o) != 3 || o[0].Value != "," || !o[0].Quoted || o[1].Name != "ignore" || o[2].Value != "b" || o[2].Quoted {
		t.Errorf("%+v", o)
	}
	if u := cell.Statements[1].(*Wait).Until; u[0].Attribute != "test" || u[0].Number.Float() != 0.5 || u[1].Duration != 26*time.Hour {
		t.Errorf("%+v", u)
	}
	if b := cell.Statements[2].(*Budget); b.For.Principal() != "class:c" || b.Limits[0].Per != "week" || b.Limits[1].Bytes != 5e9 {
		t.Errorf("%+v", b)
	}
	if r := cell.Statements[3].(*Refine); r.Action != RefineShow || r.IDs[1].To != 5 {
		t.Errorf("%+v", r)
	}
	if a := cell.Statements[4].(*Value).Operand.(Attribute); a.Task.User != "a b" || a.Task.Name != "d" || a.Name != "best" {
		t.Errorf("%+v", a)
	}
	if p := cell.Statements[5].(*Pool).Token; p.Name != "w" || p.Label != "d" || *p.Count != 2 || p.On != "gpu0" || p.For != 90*time.Minute {
		t.Errorf("%+v", p)
	}
}

func TestAtoms(t *testing.T) {
	for s, want := range map[string]time.Duration{"10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour,
		"m": 0, "10": 0, "30m1h": 0, "0s": 0, "99999999999d": 0, "4000d": 0, "1.5h": 0} {
		if got, ok := readDuration(s); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %v %v", s, got, ok)
		}
	}
	for s, want := range map[string]int64{"5GB": 5e9, "1KB": 1000, "5": 0, "GB": 0, "0MB": 0, "2147483647TB": 0} {
		if got, ok := readSize(s); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %v %v", s, got, ok)
		}
	}
	for s, want := range map[string]bool{"0": true, "-1.5e3": true, "01": false, "1.": false, ".5": false, "1e999": false, "+1": false, "": false} {
		if isNumber(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"digits": true, "alice/digits": true, "alice.smith@uni.example/digits": true,
		"10m": false, "/d": false, "a/b/c": false, "A": false, "a/": false} {
		if _, _, ok := splitTask(s); ok != want {
			t.Errorf("%s: %v", s, ok)
		}
	}
}

func TestBareName(t *testing.T) {
	p, err := schema.Parse("{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}")
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := BareName(p, ""), BareName(p, "x.ipynb"), BareName(p, "y.ipynb")
	if a == b || b == c || a != BareName(p, "") || len(a) != len("image_0000") || !strings.HasPrefix(a, "image_") || !IsName(a) || IsReserved(a) {
		t.Error(a, b, c)
	}
}

// The table of the statements is whole: every example parses, every statement has help.
func TestStatements(t *testing.T) {
	first := 0
	for _, s := range Statements() {
		cell, err := Parse(s.Example)
		if err != nil {
			t.Errorf("%s: %v", s.Example, err)
			continue
		}
		for _, example := range cell.Statements {
			if example.Word() != s.Word {
				t.Errorf("the example of %s is a %s", s.Word, example.Word())
			}
		}
		text, ok := HelpText(s.Word)
		if !ok || !strings.Contains(text, s.Forms[0]) || !strings.Contains(text, s.Meaning) {
			t.Errorf("help %s: %s", s.Word, text)
		}
		if s.First {
			first++
		}
		for _, line := range append([]string{firstSentence(s.Meaning)}, strings.Split(s.Example, "\n")...) {
			if len(line) > 98 {
				t.Errorf("%s: too long: %s", s.Word, line)
			}
		}
	}
	if first != 6 {
		t.Errorf("%d statements to begin with", first)
	}
	overview, _ := HelpText("")
	for _, line := range strings.Split(overview, "\n") {
		if len(line) > 110 {
			t.Errorf("too wide: %s", line)
		}
	}
	for _, word := range topics() {
		if _, ok := HelpText(word); !ok {
			t.Errorf("no help on %s", word)
		}
	}
	if text, ok := HelpText("fede"); ok || !strings.Contains(text, "help feed") {
		t.Error(text)
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range examples {
		f.Add(src, 5)
	}
	f.Add("feed [{\"a\": [1, ", 3)
	f.Add("schema x {input: {[a :: Class['", 9)
	f.Fuzz(func(t *testing.T, src string, cursor int) {
		n := len([]rune(src))
		inside := func(s Span) bool { return 0 <= s.Start && s.Start <= s.End && s.End <= n && s.Line > 0 && s.Column > 0 }
		cell, err := Parse(src)
		if err != nil {
			if e := err.(*Error); !inside(e.Span) && !HostCell(src) || e.Show(src) == "" || e.Message == "" {
				t.Fatalf("%q: %v at %+v", src, e, e.Span)
			}
		}
		for _, s := range cell.Statements {
			if !inside(s.Span()) {
				t.Fatalf("%q: statement at %+v", src, s.Span())
			}
			again, err := Parse(Format(s))
			if err != nil || len(again.Statements) != 1 || !same(s, again.Statements[0]) {
				t.Fatalf("%q is printed as %q: %v", src, Format(s), err)
			}
		}
		if c := Complete(src, cursor, &known{}); c.Start < 0 || c.Start > c.End || c.End > n {
			t.Fatalf("%q: completion of %d to %d", src, c.Start, c.End)
		}
		if token, ok := At(src, cursor); ok && !inside(token.Span) {
			t.Fatalf("%q: token at %+v", src, token.Span)
		}
		if status, _ := IsComplete(src); (status == StatusComplete) && err != nil && !err.(*Error).missing && !HostCell(src) {
			t.Fatalf("%q is called complete: %v", src, err)
		}
	})
}
