package lang

import (
	"errors"
	"strings"
	"testing"
)

// The errors as people see them: the line, the caret, the sentence.
func TestShow(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"schema digits {\n    input:  {[image :: Tensor[8, 8 1]], []},\n    output: {[digit :: Class[10]], []}\n}", `
schema digits {
    input:  {[image :: Tensor[8, 8 1]], []},
                                   ^
Line 2, column 36: a comma is missing between 8 and 1. Did you mean Tensor[8, 8, 1]? Nothing was declared.`},
		{"shema digits { }", `
shema digits { }
^^^^^
Unknown statement ` + "`shema`; did you mean `schema`?"},
		{"schema digits {\n  input: {[Tensor[2]], []},\n\n  output: {[Tensor[2], []}\n}", `
schema digits {
…
  output: {[Tensor[2], []}
                       ^
Line 4, column 24: expected ` + "`]`, a name, `Tensor` or `Class`, not `[`. Nothing was declared."},
		{"watch digits\nfeed digits.npz", `
feed digits.npz
     ^^^^^^^^^^
Line 2, column 6: expected a file, JSON or ` + "`from`, not `digits.npz`. A file's name stands in quotes: \"digits.npz\". Nothing was fed."},
		{"feed digits", `
feed digits
           ^
` + "`feed` wants a file, JSON or `from` here. For example: `feed digits \"digits.npz\"`."},
		{"infer digits \"x\" with probabilites = on", `
infer digits "x" with probabilites = on
                      ^^^^^^^^^^^^
` + "`infer` has no option `probabilites`. Did you mean `probabilities`?"},
		{"watch\nschema digits {input:  # unfinished\n\n", `
schema digits {input:  # unfinished
                     ^
Line 2, column 22: the program isn't finished: ` + "`{` is missing. Nothing was declared."},
		// Wide characters take two columns, combining marks and joiners none, tabs stay.
		{"print \"日本😀\", qualty", "\nprint \"日本😀\", qualty\n                ^^^^^^\nThere is no attribute `qualty`. Did you mean `quality`?"},
		{"print \"e\u0301👨\u200d👩\u200d👧🇩🇪\",\tqualty", "\nprint \"e\u0301👨\u200d👩\u200d👧🇩🇪\",\tqualty\n" +
			strings.Repeat(" ", 14) + "\t^^^^^^\nThere is no attribute `qualty`. Did you mean `quality`?"},
		{"\twatch 😀", "\n\twatch 😀\n\t      ^^\n`😀` has no meaning here."},
	} {
		_, err := Parse(c.src)
		if err == nil {
			t.Errorf("%s: no error", c.src)
			continue
		}
		if got := "\n" + err.(*Error).Show(c.src); got != c.want {
			t.Errorf("got %s\nwant%s", got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	for src, want := range map[string]string{
		`feed digits "a.csv" "b.csv"`:             "a comma is missing between \"a.csv\" and \"b.csv\"",
		`feed digits "a.csv`:                      "the string that starts here has no end",
		`feed digits “a.csv”`:                     "Strings have straight quotes",
		`feed digits "C:\data\new.csv"`:           "`\\d` is no escape in a \"…\" string. Write it in '…'",
		`feed "a" "b"`:                            "a comma is missing",
		`infer digits into "x"`:                   "expected a file, JSON or `from`, not `into`",
		`wait digits until quality = 0.97`:        "Did you mean `>=` or `==`?",
		`wait digits until qualty >= 0.97`:        "there is no attribute `qualty`. Did you mean `quality`?",
		`wait digits until state >= 1`:            "`state` is no number",
		`wait digits until quality >= 97%`:        "A share is written as a number: 0.97.",
		`wait digits until quality >= 0.9, final`: "conditions are joined by `or`",
		`wait 10m`:                                   "Did you mean `wait until 10m`?",
		`why svm-rbf.c10`:                            "A candidate comes after its task: why TASK svm-rbf.c10.",
		`why digits trial 0`:                         "trials are counted from 1",
		`schema Digits {}`:                           "Did you mean digits?",
		`schema watch {}`:                            "`watch` is a word of the language, so it can't be a task's name",
		`schema alice/digits {}`:                     "A schema always declares a task of your own: digits.",
		`feed iris "a" output sepal-length`:          `stands in quotes: "sepal-length".`,
		`feed iris "a" with delimiter = ,`:           "`,` stands in quotes here",
		`feed iris "a" with header = on, header = 2`: "the option `header` stands twice",
		`infer iris "a" with top = 0`:                "`top` is at least 1, not 0",
		`infer iris "a" with probabilities = maybe`:  "`probabilities` wants on or off, not `maybe`",
		`feed iris [{sepal: 1}]`:                     `a key stands in double quotes. Did you mean "sepal"?`,
		`feed iris [{"a": NaN}]`:                     "A missing value is null.",
		`feed iris [{"a": 1 "b": 2}]`:                "a comma is missing before `\"b\"`",
		`feed iris [{"a": 1, "a": 2}]`:               `the key "a" stands twice`,
		`feed iris [{'a': 1}]`:                       "JSON has its strings in double quotes",
		`refine 9..3`:                                "runs backwards. Did you mean 3..9?",
		`refine 1 2`:                                 "a comma is missing between 1 and 2",
		`refine iris show`:                           "`refine` wants",
		`refine iris show on`:                        "expected `suspects`, `all` or an example's number, not `on`",
		`watch show`:                                 "`show` is a word of the language, so no task has this name.",
		`client digits rust`:                         "expected `python` or `go`, not `rust`",
		`watch Digits`:                               "Names of tasks have small letters: digits.",
		`watch report`:                               "`report` is a word of the language, so no task has this name.",
		`digits.qualty`:                              "Did you mean `digits.quality`?",
		`"a b"/digits.qualty`:                        "Did you mean `\"a b\"/digits.quality`?",
		`digits`:                                     "For a task of this name: `watch digits` or `digits.quality`.",
		`watch digits penguins`:                      "a comma is missing between digits and penguins",
		`{input: {[Tensor[2]], []}, output: {[Tensor[2]], []}} with seed = 1`: "Only a named program takes options",
		`infer "a" into "b" using x = y`:                                      "The form is: infer [TASK] FILE",
		"feed digits  # a comment\n\n":                                        "`feed` wants a file, JSON or `from` here",
		`budget 10h`:                                                          "budget for everyone 10h",
		`pool drian gpu0`:                                                     "Did you mean `drain`?",
		`)`:                                                                   "`)` has no meaning here",
		`, watch`:                                                             "a statement can't start with `,`",
		`watch; shema`:                                                        "Did you mean",
		`%%python`:                                                            "belongs to the host",
		`share digits with "a/b"`:                                             "a user's name is not empty and has no `/`",
	} {
		_, err := Parse(src)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: no error", src)
		} else if !strings.Contains(strings.ToLower(e.Show(src)), strings.ToLower(want)) {
			t.Errorf("%s\n got %s\nwant %s", src, e.sentence(), want)
		}
	}
}

// The caller's errors are shown alike.
func TestOwnError(t *testing.T) {
	src := "watch digit"
	cell, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	own := &Error{Span: cell.Statements[0].(*Watch).Tasks[0].Span, Message: "there is no task digit", Hint: "Did you mean  watch digits ?"}
	if got, want := own.Show(src), "watch digit\n      ^^^^^\nThere is no task digit. Did you mean  watch digits ?"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLongLine(t *testing.T) {
	src := "feed digits " + strings.Repeat(`"a file with a long name.csv", `, 30) + `oops, ` + strings.Repeat(`"b", `, 100)
	_, err := Parse(src)
	lines := strings.Split(err.(*Error).Show(src), "\n")
	at := strings.IndexRune(lines[1], '^')
	if got := string([]rune(lines[0])[at : at+4]); got != "oops" || len([]rune(lines[0])) > 150 {
		t.Errorf("the caret is under %s of\n%s\n%s", got, lines[0], lines[1])
	}
}

func TestNearest(t *testing.T) {
	for _, c := range [][2]string{{"digit", "digits"}, {"shcema", "schema"}, {"DIGITS", "digits"}, {"zebra", ""}, {"x", ""}, {"", ""}} {
		if got := Nearest(c[0], []string{"schema", "digits", "penguins"}); got != c[1] {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
}
