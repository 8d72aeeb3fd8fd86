package cells

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
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

// A packed table is read as far as it goes: its end may be missing from what is looked at.
func TestColumnsOfPackedFiles(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("a,b\n1,2\n"))
	z.Close()
	for name, text := range map[string][]byte{"a.csv.gz": packed.Bytes(), "cut.csv.gz": packed.Bytes()[:packed.Len()-4]} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(readColumns(file), "|"); got != "a|b" {
			t.Errorf("%s has %s", name, got)
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
