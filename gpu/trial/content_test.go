package trial

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const writeContent = `
import sys, pyarrow as pa
folder = sys.argv[1]
def write(name, table):
    with pa.OSFile(folder + "/" + name, "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table, max_chunksize=2)
numbers = lambda *v: pa.array(v, pa.int64())
write("examples-000000.arrow", pa.table({
    "number": numbers(1, 2, 3),
    "image": pa.FixedSizeListArray.from_arrays(pa.array(list(range(12)), pa.uint8()), 4),
    "age": pa.FixedSizeListArray.from_arrays(pa.array([1.5, float("nan"), 3.0]), 1),
    "sex": pa.array(["f", None, "m"]).dictionary_encode(),
    "steps": pa.array([[[1.0, 2.0], [3.0, 4.0]], [], None], pa.list_(pa.list_(pa.float64(), 2))),
    "tree": pa.array([{"value": 1}, {"value": 2}, {"value": 3}])}))
write("examples-000001.arrow", pa.table({
    "number": numbers(7, 9), "image": pa.FixedSizeListArray.from_arrays(pa.array([0.5] * 8), 4), "age": numbers(4, 5)}))
`

func TestReadContent(t *testing.T) {
	folder := t.TempDir()
	runPython(t, writeContent, folder)
	columns := []string{"image", "age", "sex", "steps", "tree"}
	got := map[int64]string{}
	order := []int64{}
	err := ReadContent(folder, columns, []int64{9, 3, 2, 1, 8, 400}, func(n int64, contents []Content) error {
		order = append(order, n)
		var parts []string
		for i, c := range contents {
			s := c.Text
			if c.Len > 0 {
				var values []string
				for k := range c.Len {
					values = append(values, fmt.Sprint(c.At(k)))
				}
				s = strings.Join(values, " ")
			}
			if c.Missing {
				s = "missing"
			}
			if c.Bytes != (columns[i] == "image" && n < 9) {
				t.Errorf("example %d, %s: bytes is %v", n, columns[i], c.Bytes)
			}
			parts = append(parts, s)
		}
		got[n] = strings.Join(parts, "|")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []int64{1, 2, 3, 9}) {
		t.Errorf("read %v", order)
	}
	for n, want := range map[int64]string{
		1: `0 1 2 3|1.5|f|1 2 3 4|{"value":1}`,
		2: `4 5 6 7|NaN|missing|missing|{"value":2}`,
		3: `8 9 10 11|3|m|missing|{"value":3}`,
		9: `0.5 0.5 0.5 0.5|5|||`,
	} {
		if got[n] != want {
			t.Errorf("example %d: %s, not %s", n, got[n], want)
		}
	}
}

// Torn files are errors that name the file, never a crash.
func TestReadContentOfTornFiles(t *testing.T) {
	whole := t.TempDir()
	runPython(t, writeContent, whole)
	text, err := os.ReadFile(filepath.Join(whole, "examples-000000.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(text); size += 97 {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "examples-000000.arrow"), text[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		err := ReadContent(folder, []string{"image", "age"}, []int64{1, 2, 3}, func(_ int64, contents []Content) error {
			for i := range contents[0].Len {
				sum += contents[0].At(i)
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "examples-000000.arrow") || math.IsNaN(sum) {
			t.Errorf("%d of %d bytes: %v", size, len(text), err)
		}
	}
}
