package cells

import (
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	for text, want := range map[string]string{
		"a,b c,d\n1,2,3\n":                 "a|b c|d",
		"\xef\xbb\xbfa;\"b;c\";d\n":        "a|b;c|d",
		"a\tb\r\n1\t2\r\n":                 "a|b",
		`[{"b": 1, "a": [2, 3]}, {"c":1}]`: "a|b",
		"{\"x\": 1}\n{\"y\": 2}\n":         "x",
		"":                                 "",
		"\x00\x01":                         "",
		"{broken":                          "",
	} {
		if got := strings.Join(columnsIn([]byte(text)), "|"); got != want {
			t.Errorf("%q has %s, not %s", text, got, want)
		}
	}
}

func FuzzColumns(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n"))
	f.Add([]byte(`[{"a": 1}]`))
	f.Add([]byte("\"a\nb\",c"))
	f.Fuzz(func(t *testing.T, start []byte) {
		for _, c := range columnsIn(start) {
			if len(c) > len(start) {
				t.Errorf("column %q is longer than %q", c, start)
			}
		}
	})
}
