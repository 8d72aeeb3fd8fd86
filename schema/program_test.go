package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram().Draw(t, "program")
		if err := Check(p); err != nil {
			t.Skip(err) // an anonymous field may meet a name
		}
		for _, text := range []string{Format(p), Print(p), PrintWithNotes(p, func(Side, int) string { return "a # note\nof two lines" })} {
			if again, err := Parse(text); err != nil || !reflect.DeepEqual(p, again) {
				t.Fatalf("%s\nis read as %#v, %v", text, again, err)
			}
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again Program
		if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%s is read as %#v, %v", data, again, err)
		}
		if Hash(p) != Hash(again) || len(Hash(p)) != 64 {
			t.Fatal(Hash(p))
		}
		if strings.ContainsAny(Format(p), "\n\r") {
			t.Fatal("the canonical text is no single line")
		}
	})
}

func program(t *testing.T, text string) Program {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func TestNames(t *testing.T) {
	p := program(t, "{input: {[Tensor[1], x :: Tensor[2], Class[2]], []}, output: {[y :: Tensor[1], Tensor[2]], []}}")
	if got := p.Names(Input); !reflect.DeepEqual(got, []string{"input1", "x", "input2"}) {
		t.Error(got)
	}
	if got := p.FieldName(Output, 1); got != "output" {
		t.Error(got)
	}
}

func TestJSON(t *testing.T) {
	p := program(t, `{input: {[Tensor[8,8,1]], []}, output: {[digit :: Class["0", "1"], Class[10]], [next]}}`)
	data, _ := json.Marshal(p)
	want := `{"input":{"fields":[{"name":"input","anonymous":true,"tensor":[8,8,1]}],"pointers":[]},` +
		`"output":{"fields":[{"name":"digit","classes":["0","1"]},{"name":"output","anonymous":true,"class_count":10}],"pointers":["next"]}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	for text, want := range map[string]string{
		`[]`: "not a program",
		`{}`: "the input has no field",
		`{"input":{"fields":[{"name":"a"}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`:                                     "it wants one of",
		`{"input":{"fields":[{"tensor":[1]}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`:                                   "it has no name",
		`{"input":{"fields":[{"name":"A","tensor":[1]}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`:                        "can't be a name",
		`{"input":{"fields":[{"name":"a","tensor":[0]}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`:                        "a size is at least 1",
		`{"input":{"fields":[{"name":"a","tensor":[1]}]},"output":{"fields":[{"name":"a","tensor":[1]}]}}`:                        "of the input and of the output",
		`{"input":{"fields":[{"name":"a","classes":["x","x"]}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`:                 "stands twice",
		`{"input":{"fields":[{"name":"a","classes":["x","y"],"class_count":2}]},"output":{"fields":[{"name":"b","tensor":[1]}]}}`: "it wants one of",
	} {
		var p Program
		if err := json.Unmarshal([]byte(text), &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestPrint(t *testing.T) {
	p := program(t, `{input: {[island :: Class["Biscoe", "Dream"], year :: Tensor[1], mass_g :: Tensor[1]], []}, output: {[species :: Class[3]], []}}`)
	want := `{
    input:  {[island :: Class["Biscoe", "Dream"],
              year   :: Tensor[1],                  # 2007–2009
              mass_g :: Tensor[1]], []},
    output: {[species :: Class[3]], []}
}`
	got := PrintWithNotes(p, func(s Side, i int) string {
		if s == Input && i == 1 {
			return "2007–2009"
		}
		return ""
	})
	if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") || !strings.Contains(got, "    input:  {[island :: Class") {
		t.Errorf("got\n%s", got)
	}
	long := Program{Input: Type{Fields: []Field{{Name: "state", Classes: &Classes{}}}}, Output: p.Output}
	for i := range 60 {
		long.Input.Fields[0].Classes.Labels = append(long.Input.Fields[0].Classes.Labels, "label "+strings.Repeat("x", i%7)+string(rune('A'+i)))
	}
	long.Input.Fields[0].Classes.Count = 60
	for _, line := range strings.Split(Print(long), "\n") {
		if n := len([]rune(line)); n > 110 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if again, err := Parse(Print(long)); err != nil || !Equal(again, long) {
		t.Error(err)
	}
}
