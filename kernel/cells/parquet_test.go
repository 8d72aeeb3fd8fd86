package cells

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
)

// footer writes a Parquet file's footer with a schema, and fields before, in and behind it that nobody reads.
func footer(t testing.TB, elements ...element) []byte {
	t.Helper()
	ctx := context.Background()
	out := thrift.NewTMemoryBuffer()
	p := thrift.NewTCompactProtocolConf(out, nil)
	field := func(kind thrift.TType, id int16, write func() error) {
		if err := p.WriteFieldBegin(ctx, "", kind, id); err != nil {
			t.Fatal(err)
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	number := func(x int32) func() error { return func() error { return p.WriteI32(ctx, x) } }
	text := func(x string) func() error { return func() error { return p.WriteString(ctx, x) } }
	field(thrift.I32, 1, number(2))
	field(thrift.LIST, footerSchema, func() error { return p.WriteListBegin(ctx, thrift.STRUCT, len(elements)) })
	for _, e := range elements {
		if err := p.WriteStructBegin(ctx, ""); err != nil {
			t.Fatal(err)
		}
		field(thrift.I32, 1, number(5))
		field(thrift.STRING, elementName, text(e.name))
		if e.children != 0 {
			field(thrift.I32, elementChildren, number(int32(e.children)))
		}
		field(thrift.STRUCT, 10, func() error { return p.WriteStructBegin(ctx, "") })
		field(thrift.STRUCT, 1, func() error { return p.WriteStructBegin(ctx, "") })
		for range 3 { // of both structs, and of the element
			if err := p.WriteFieldStop(ctx); err != nil {
				t.Fatal(err)
			}
			if err := p.WriteStructEnd(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	field(thrift.STRING, 6, text("by nobody"))
	if err := p.WriteFieldStop(ctx); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParquetColumns(t *testing.T) {
	nested := footer(t, element{"root", 4}, element{"Sepal Length", 0}, element{"box", 2}, element{"a", 0},
		element{"b", 1}, element{"c", 0}, element{"steps", 1}, element{"list", 1}, element{"element", 0}, element{"species", 0})
	file := func(length int, of []byte) string {
		return "PAR1 and rows" + string(of) + string(binary.LittleEndian.AppendUint32(nil, uint32(length))) + "PAR1"
	}
	for name, x := range map[string]struct{ text, want string }{
		"nested.parquet":   {file(len(nested), nested), "Sepal Length|box|steps|species"},
		"cut.parquet":      {file(len(nested), nested)[:60], ""},
		"short.parquet":    {file(len(nested)/2, nested), ""},
		"long.parquet":     {file(1<<30, nested), ""},
		"empty.parquet":    {"", ""},
		"many.parquet":     {file(0, nil), ""},
		"children.parquet": {file(len(nested), footer(t, element{"root", 1 << 30}, element{"a", 0})), ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(readColumns(path), "|"); got != x.want {
			t.Errorf("%s has %q, not %q", name, got, x.want)
		}
	}
}

func FuzzParquetColumns(f *testing.F) {
	f.Add(footer(f, element{"root", 2}, element{"a", 0}, element{"b", 0}))
	f.Add(footer(f))
	f.Fuzz(func(t *testing.T, footer []byte) {
		for _, c := range parquetNames(footer) {
			if len(c) > len(footer) {
				t.Errorf("column %q is longer than what it was read from", c)
			}
		}
	})
}
