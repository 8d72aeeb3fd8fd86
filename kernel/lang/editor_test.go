package lang

import (
	"slices"
	"strings"
	"testing"
)

// known is a caller that knows some names, and notes what it was asked for.
type known struct{ asked []Context }

func (k *known) List(kind ItemKind, c Context) []string {
	k.asked = append(k.asked, c)
	switch kind {
	case KindTask:
		return []string{"digits", "iris", "alice/digits"}
	case KindFile:
		return []string{"digits.npz", "data/", "it's.csv"}
	case KindColumn:
		return []string{"species", "Sepal Length", "with"}
	case KindField:
		return []string{"image", "digit"}
	case KindLabel:
		return []string{"setosa", "a b"}
	case KindCandidate:
		return []string{"resnet18", "svm-rbf.c10"}
	case KindTrial:
		return []string{"1", "12"}
	case KindUser:
		return []string{"bob", "Bob B."}
	case KindClass:
		return []string{"ml101"}
	case KindDevice:
		return []string{"gpu0", "gpu1"}
	case KindVariable:
		return []string{"df"}
	}
	return nil
}

// In these texts | is the cursor.
func TestComplete(t *testing.T) {
	all := "schema feed watch best infer help wait refine models explain why tasks stop resume export client drop share unshare class budget pool server assert print warn clear"
	for _, c := range []struct {
		text  string
		typed string // what is replaced
		want  string // separated by blanks, or by | where it holds one
	}{
		{"|", "", all},
		{"sch|", "sch", "schema"},
		{"watch\n|", "", all},
		{"watch; in|", "in", "infer"},
		{"wa|tch digits", "wa", "watch wait warn"},
		{"😀é # x\n watch \"😀\"; sc|", "sc", "schema"},
		{"q|", "q", "quality"},
		{"watch |", "", "all digits iris alice/digits"},
		{"watch d|", "d", "digits"},
		{"watch digits, |", "", "digits iris alice/digits"},
		{"watch alice/|", "alice/", "alice/digits"},
		{"schema mine {input: {[x :: Tensor[1]], []}, output: {[y :: Class[2]], []}}\nwatch m|", "m", "mine"},
		{"schema mine {input: {[x :: Tensor[1]], []}, output: {[y :: Class[2]], []}}\nfeed mine 'a' using |", "", "x y"},
		{"feed digits |", "", `as|"digits.npz"|"data/|"it's.csv"|from`},
		{"feed digits dig|", "dig", `"digits.npz"`},
		{`feed digits "dig|`, "dig", `digits.npz"`},
		{`feed digits "dig|"`, "dig", `digits.npz`},
		{`feed digits "|`, "", `digits.npz"|data/|it's.csv"`},
		{`feed digits '|'`, "", `digits.npz|data/`},
		{`feed digits "a😀", "da|`, "da", `data/`},
		{`feed digits "a" |`, "", "output using with"},
		{`feed digits "a" output |`, "", `species|"Sepal Length"|"with"`},
		{`feed digits "a" output "S|`, "S", `Sepal Length"`},
		{`feed digits "a" using im|`, "im", "image"},
		{`feed digits "a" using image = s|`, "s", "species"},
		{`feed digits "a" with |`, "", "delimiter decimal encoding header sheet missing series group order ignore"},
		{`feed digits "a" with group = sp|`, "sp", "species"},
		{`feed digits "a" with header = |`, "", "on off"},
		{`infer "a" with probabilities = |`, "", "on off"},
		{`schema digits |`, "", "from"},
		{`schema x {|`, "", "input"},
		{"schema x {\n  input: {[image :: |", "", "Tensor Class"},
		{"schema x {input: {[image :: t|", "t", "Tensor"},
		{"schema x {input: {[image :: Tensor[8]], []}, |", "", "output"},
		{"{input: {[image :: Tensor[8]], []}, output: {[Cl|", "Cl", "Class"},
		{"{input: {[Tensor[8]], []}, output: {[Class[2]], []}} |", "", ""},
		{"schema x {input: {[Tensor[8]], []}, output: {[Class[2]], []}} with met|", "met", "metric"},
		{"schema x {input: {[Tensor[8]], []}, output: {[Class[2]], []}} with metric = bal|", "bal", "balanced_accuracy"},
		{"wait digits |", "", "until"},
		{"wait digits until |", "", "final quality test low high metric seconds charge trials running failed candidates examples rejected version state best family share rho eta"},
		{"wait digits until fi|", "fi", "final"},
		{"wait digits until quality >= 0.9 |", "", "or"},
		{"why digits |", "", "trial resnet18 svm-rbf.c10"},
		{"why digits svm|", "svm", "svm-rbf.c10"},
		{"why digits trial |", "", "1 12"},
		{"share digits |", "", "with"},
		{"share digits with |", "", `everyone|class|bob|"Bob B."`},
		{"share digits with class |", "", "ml101"},
		{"share digits with bob as |", "", "reader editor template"},
		{"refine iris 17 as |", "", `setosa|"a b"`},
		{"refine iris |", "", "suspects show on off"},
		{"refine iris off |", "", "suspects gone all"},
		{"refine iris on |", "", "suspects all"},
		{"refine iris show |", "", "suspects all"},
		{"pool |", "", "drain reclaim return token"},
		{"pool drain g|", "g", "gpu0 gpu1"},
		{"client digits |", "", "python go"},
		{"digits.qu|", "qu", "quality"},
		{"assert alice.smith@x.org/digits.te|", "te", "test"},
		{"print di|", "di", "digits."},
		{"help fee|", "fee", "feed"},
		{"feed digits from |", "", "df"},
		{"# wa|", "", ""},
		{"%%python\nwa|", "", ""},
		{"shema x\nwatch d|", "d", "digits"},
		{"watch digits digits |", "", ""},
	} {
		before, _, _ := strings.Cut(c.text, "|")
		src, cursor := strings.Replace(c.text, "|", "", 1), len([]rune(before))
		got := Complete(src, cursor, &known{})
		var texts []string
		for _, item := range got.Items {
			texts = append(texts, item.Text)
		}
		want := strings.Fields(c.want)
		if strings.ContainsAny(c.want, `|"`) {
			want = strings.Split(c.want, "|")
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%s: got %q, want %q", c.text, texts, want)
		}
		if typed := string([]rune(src)[got.Start:got.End]); len(want) > 0 && (typed != c.typed || got.End != cursor) {
			t.Errorf("%s: %q is replaced, not %q", c.text, typed, c.typed)
		}
		Complete(src, cursor, nil)
	}
}

func TestCompleteContext(t *testing.T) {
	k := &known{}
	Complete(`feed alice/digits "a.csv", 'b.csv' output sp`, 44, k)
	want := Context{Statement: "feed", Task: "alice/digits", Files: []string{"a.csv", "b.csv"}, Prefix: "sp"}
	got := k.asked[len(k.asked)-1]
	if got.Statement != want.Statement || got.Task != want.Task || !slices.Equal(got.Files, want.Files) || got.Prefix != want.Prefix {
		t.Errorf("got %+v, want %+v", got, want)
	}
	Complete("print digits.qu", 15, k)
	for _, item := range Complete(`infer digits "a" with `, 22, k).Items {
		if item.Doc == "" || item.Kind != KindOption {
			t.Errorf("%+v", item)
		}
	}
}

func TestAt(t *testing.T) {
	cell := "schema digits {input: {[image :: Tensor[8, 8, 1]], [next]}, output: {[digit :: Class['a', 'b']], []}} with metric = accuracy\n" +
		"feed digits \"😀.npz\" with group = patient, ignore = x; why digits resnet18 # best\nassert digits.test >= 0.9\nshema x\nrefine digits show 17; best digits "
	for _, c := range []struct {
		at   string // the cursor is before it
		kind ItemKind
		text string
		doc  string
	}{
		{"schema", KindWord, "schema", "schema NAME { input: TYPE, output: TYPE }"},
		{"digits {", KindTask, "digits", ""},
		{"input:", KindWord, "input", "what goes in"},
		{"image ::", KindField, "image", "Field of the input: image :: Tensor[8, 8, 1], 64 numbers"},
		{"Tensor", KindWord, "Tensor", "an array of numbers"},
		{"next]", KindPointer, "next", "A pointer"},
		{"'b'", KindLabel, "'b'", ""},
		{"metric", KindOption, "metric", "metric = word"},
		{"accuracy", KindValue, "accuracy", "metric = word"},
		{"\"😀", KindFile, "😀.npz", ""},
		{"group", KindOption, "group", "rows of one value never straddle the split"},
		{"patient", KindColumn, "patient", "group = column"},
		{"resnet18", KindCandidate, "resnet18", ""},
		{"show 17", KindWord, "show", "what is in the examples"},
		{"17", KindExample, "17", ""},
		{"digits.test", KindAttribute, "digits.test", "test: quality of the best model on the test part"},
		{"0.9", KindNumber, "0.9", ""},
		{":: Tensor", KindWord, "schema", "Declare a task"}, // between tokens: the statement
		{"shema", "", "", ""},
		{"best digits", KindWord, "best", "best [TASK]"},
	} {
		cursor := len([]rune(cell[:strings.Index(cell, c.at)]))
		got, ok := At(cell, cursor)
		if ok != (c.kind != "") || got.Kind != c.kind || got.Text != c.text || !strings.Contains(got.Doc, c.doc) {
			t.Errorf("at %s: got %v %+v", c.at, ok, got)
		}
		if c.kind == KindCandidate && (got.Task != "digits" || got.Statement != "why") {
			t.Errorf("at %s: got %+v", c.at, got)
		}
	}
}

func TestIsComplete(t *testing.T) {
	for _, c := range []struct {
		src    string
		status Status
		indent string
	}{
		{"", StatusComplete, ""},
		{"watch", StatusComplete, ""},
		{"watch digits,", StatusIncomplete, ""},
		{"watch digits,  # more\n", StatusIncomplete, ""},
		{"feed digits 'a' with group =", StatusIncomplete, ""},
		{"schema digits {", StatusIncomplete, "    "},
		{"schema digits {\n  input: {[image :: Tensor[8, 8]],", StatusIncomplete, "        "},
		{"watch {", StatusInvalid, ""},
		{"schema digits {input: {[Tensor[8]], []}, output: {[Class[2]], []}", StatusIncomplete, "    "},
		{"schema digits {input: {[Tensor[8]], []}, output: {[Class[2]], []}}", StatusComplete, ""},
		{"schema digits {input: {[Class['a', \"b{", StatusInvalid, ""},
		{"schema digits {inptu", StatusInvalid, ""},
		{"{", StatusIncomplete, "    "},
		{"feed digits [", StatusIncomplete, "    "},
		{"feed digits [{\"a\": [1, 2],", StatusIncomplete, "        "},
		{"feed digits [{\"a\": 1}", StatusIncomplete, "    "},
		{"feed digits [{\"a\": oops", StatusInvalid, ""},
		{"feed digits", StatusComplete, ""},
		{"feed\nwatch digits", StatusComplete, ""},
		{"schema", StatusComplete, ""},
		{"wait digits until quality >=", StatusComplete, ""},
		{"feed \"a.csv", StatusInvalid, ""},
		{"refine digits show", StatusComplete, ""},
		{"refine digits show 1,", StatusIncomplete, ""},
		{"refine digits show on", StatusInvalid, ""},
		{"shema", StatusInvalid, ""},
		{"watch digits digits", StatusInvalid, ""},
		{"%%python", StatusIncomplete, ""},
		{"%%python\nx = 1\n", StatusComplete, ""},
	} {
		status, indent := IsComplete(c.src)
		if status != c.status || indent != c.indent {
			t.Errorf("%q: got %s %q, want %s %q", c.src, status, indent, c.status, c.indent)
		}
	}
}
