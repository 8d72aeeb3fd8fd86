package cells

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

func TestArrowColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "Sepal Length", Type: arrow.PrimitiveTypes.Float64}, {Name: "species", Type: arrow.BinaryTypes.String},
	}, nil)
	file := filepath.Join(t.TempDir(), "a.feather")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	s := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Much may follow; only the beginning is read.
	long := append(bytes.Clone(whole), make([]byte, 1<<20)...)
	for name, x := range map[string]struct {
		text []byte
		want string
	}{
		"whole.feather": {whole, "Sepal Length|species"}, "long.arrow": {long, "Sepal Length|species"}, "stream.ipc": {stream.Bytes(), "Sepal Length|species"},
		"cut.arrow": {whole[:20], ""}, "none.arrow": {nil, ""}, "first.feather": {[]byte("FEA1 and more"), ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, x.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(readColumns(path), "|"); got != x.want {
			t.Errorf("%s has %q, not %q", name, got, x.want)
		}
	}
}

func FuzzArrowColumns(f *testing.F) {
	var stream bytes.Buffer
	s := ipc.NewWriter(&stream, ipc.WithSchema(arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, nil)))
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(stream.Bytes())
	f.Add(append([]byte("ARROW1\x00\x00"), stream.Bytes()...))
	f.Fuzz(func(t *testing.T, start []byte) {
		if names := strings.Join(arrowNames(bytes.NewReader(start)), ""); len(names) > len(start) {
			t.Errorf("columns %q are longer than what they were read from", names)
		}
	})
}
