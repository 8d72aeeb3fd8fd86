package cells

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/easeml/easeml/api"
)

var answersTable = [][]string{
	{"code", "n", "x", "ok", "day", "at", "zoned", "vector", "big", "mixed", "empty"},
	{"01", "7", "1.5", "true", "2026-11-29", "2026-11-29T20:16:04", "2026-11-29T20:16:04+01:00", "[1,2.5]", "12345678901234567890", "1", ""},
	{"", "", "", "", "", "", "", "", "", "", ""},
	{"7", "-3", "2", "false", "1969-12-31", "2026-11-29", "2026-11-29T20:16:04.5Z", "[]", "1", "one", ""},
}

func answersKind(column string) string {
	return map[string]string{"x": api.ColumnNumber, "ok": api.ColumnTruth, "day": api.ColumnDay, "at": api.ColumnTime, "zoned": api.ColumnInstant,
		"vector": api.ColumnNumbers, "big": api.ColumnWhole, "mixed": api.ColumnWhole}[column]
}

func fillWith(rows [][]string) func(records) error {
	return func(w records) error {
		for _, r := range rows {
			if err := w.Write(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// What is text stays text (01), what isn't known is what all cells are, and what does not fit its kind is text.
func TestTypedTables(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.parquet", "a.arrow", "a.feather"} {
		if err := writeTable(filepath.Join(folder, name), answersKind, fillWith(answersTable)); err != nil {
			t.Fatal(name, err)
		}
	}
	const types = "code string, n int64, x double, ok boolean, day date, at time, zoned instant, vector numbers, big string, mixed string, empty string"
	if got := parquetTypes(t, filepath.Join(folder, "a.parquet")); got != types {
		t.Errorf("Parquet has\n%s\nnot\n%s", got, types)
	}
	for _, name := range []string{"a.arrow", "a.feather"} {
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewFileReader(file)
		if err != nil {
			t.Fatal(err)
		}
		const schema = "utf8 int64 float64 bool date32 timestamp[us] timestamp[us, tz=UTC] list<item: float64, nullable> utf8 utf8 utf8"
		var got []string
		for _, f := range r.Schema().Fields() {
			got = append(got, f.Type.String())
		}
		if s := strings.Join(got, " "); s != schema {
			t.Errorf("%s has %s, not %s", name, s, schema)
		}
		batch, err := r.RecordBatch(0)
		if err != nil || batch.NumRows() != 3 {
			t.Fatal(err, batch)
		}
		if s := fmt.Sprint(batch.Column(1), batch.Column(4), batch.Column(7)); s != "[7 (null) -3] [2026-11-29 (null) 1969-12-31] [[1 2.5] (null) []]" {
			t.Errorf("%s holds %s", name, s)
		}
		file.Close()
	}
}

// parquetTypes are the columns of a Parquet file in words, in their order.
func parquetTypes(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range p.Root().Columns() {
		word := "numbers"
		if f.Leaf() {
			word = map[string]string{"STRING": "string", "INT(64,true)": "int64", "DOUBLE": "double", "BOOLEAN": "boolean", "DATE": "date",
				"TIMESTAMP(isAdjustedToUTC=false,unit=MICROS)": "time", "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)": "instant"}[f.Type().String()]
			if word == "" {
				word = f.Type().String()
			}
		}
		out = append(out, f.Name()+" "+word)
	}
	return strings.Join(out, ", ")
}

// TestParquetKeepsRows: whatever the rows, they come back in their order, more than fit one batch too.
func TestParquetKeepsRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 7, rowsAtOnce + 3}).Draw(t, "rows")
		some := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"", "1", "-2", "007", "1.5", "é😀", " a ", "NA", "true", "2026-01-02"}), 2, 2), 1, 9).Draw(t, "cells")
		rows := [][]string{{"b", "a"}}
		for i := range n {
			rows = append(rows, some[i%len(some)])
		}
		if err := writeTable(path, func(c string) string { return map[string]string{"b": api.ColumnText}[c] }, fillWith(rows)); err != nil {
			t.Fatal(err)
		}
		if got := readColumns(path); !reflect.DeepEqual(got, []string{"b", "a"}) {
			t.Fatalf("columns %q", got)
		}
		back, err := parquet.ReadFile[struct {
			B *string `parquet:"b,optional"`
		}](path)
		if err != nil || len(back) != n {
			t.Fatal(err, len(back), n)
		}
		for i, r := range back {
			if want := rows[i+1][0]; r.B == nil && want != "" || r.B != nil && *r.B != want {
				t.Fatalf("row %d is %v, not %q", i, r.B, want)
			}
		}
	})
}
