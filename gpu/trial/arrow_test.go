package trial

import (
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// python is the environment's interpreter, with pyarrow: the other side of every Arrow file here.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no Python environment in .venv (make env)")
	}
	return path
}

func runPython(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(python(t), append([]string{"-c", program}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

const writeFromPython = `
import sys, pyarrow as pa
folder = sys.argv[1]
def write(name, table, stream=False):
    with pa.OSFile(folder + "/" + name, "wb") as f, (pa.ipc.new_stream if stream else pa.ipc.new_file)(f, table.schema) as w:
        w.write_table(table, max_chunksize=2)
index = {"number": pa.array([1, 2, 3], pa.int64()), "source": pa.array(["a.csv"] * 3).dictionary_encode(),
         "example_hash": ["aa", "bb", "cc"], "input_hash": [b"\x01", b"\x02", b"\x03"], "label": ["x", None, "z"],
         "part": ["train", "test", "validation"], "row": pa.array([2, None, 4], pa.int32()), "group": ["g", None, "g"], "extra": [0, 0, 0]}
write("index.arrow", pa.table(index))
write("stream.arrow", pa.table(index), stream=True)
write("numbers.arrow", pa.table(index | {"label": pa.array([1.5, 2, None]), "part": pa.array(["train"] * 3, pa.large_string())}))
write("short.arrow", pa.table({"number": [1]}))
write("rejects.arrow", pa.table({"source": ["a.csv"], "row": [7], "line": pa.array([None], pa.int64()), "column": ["age"], "value": ["old"],
                                 "reason": ["no number"], "remedy": ["leave it empty"]}))
write("empty.arrow", pa.table({k: pa.array([], pa.int64() if k in ("row", "line") else pa.null())
                               for k in ("source", "row", "line", "column", "value", "reason", "remedy")}))
write("classes.arrow", pa.table({"number": [5, 6], "truth": pa.array(["a", "b"]).dictionary_encode(), "prediction": ["a", "a"],
                                 "probabilities": pa.array([[.75, .25], [.5, .5]], pa.list_(pa.float32(), 2))}))
write("values.arrow", pa.table({"number": [5, 6], "truth": [1.5, 2.0], "prediction": pa.array([[1.0, 2.0], None], pa.list_(pa.float64())),
                                "probabilities": pa.nulls(2)}))
`

func TestArrowFromPython(t *testing.T) {
	folder := t.TempDir()
	runPython(t, writeFromPython, folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	want := []IndexRow{
		{1, "aa", "01", "x", "train", "a.csv", 2, "g"},
		{2, "bb", "02", "", "test", "a.csv", -1, ""},
		{3, "cc", "03", "z", "validation", "a.csv", 4, "g"},
	}
	for _, name := range []string{"index.arrow", "stream.arrow"} {
		if rows, err := indexOf(at(name)); err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: %+v %v", name, rows, err)
		}
	}
	if rows, err := indexOf(at("numbers.arrow")); err != nil || rows[0].Label != "1.5" || rows[1].Label != "2" || rows[2].Label != "" || rows[0].Part != "train" {
		t.Errorf("numbers: %+v %v", rows, err)
	}
	if _, err := indexOf(at("short.arrow")); err == nil || !strings.Contains(err.Error(), "row is missing") {
		t.Errorf("short: %v", err)
	}
	if rows, err := ReadRejects(at("rejects.arrow")); err != nil || !reflect.DeepEqual(rows, []Reject{{"a.csv", 7, -1, "age", "old", "no number", "leave it empty", 1}}) {
		t.Errorf("rejects: %+v %v", rows, err)
	}
	if rows, err := ReadRejects(at("empty.arrow")); err != nil || len(rows) != 0 {
		t.Errorf("empty: %+v %v", rows, err)
	}
	classes := []Prediction{
		{5, Value{Label: "a"}, Value{Label: "a"}, []float64{.75, .25}},
		{6, Value{Label: "b"}, Value{Label: "a"}, []float64{.5, .5}},
	}
	if rows, err := ReadPredictions(at("classes.arrow")); err != nil || !reflect.DeepEqual(rows, classes) {
		t.Errorf("classes: %+v %v", rows, err)
	}
	values := []Prediction{{5, Value{Numbers: []float64{1.5}}, Value{Numbers: []float64{1, 2}}, nil}, {6, Value{Numbers: []float64{2}}, Value{}, nil}}
	if rows, err := ReadPredictions(at("values.arrow")); err != nil || !reflect.DeepEqual(rows, values) {
		t.Errorf("values: %+v %v", rows, err)
	}
	b, err := os.ReadFile(at("index.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(b); n += 37 { // torn anywhere: an error, never a panic
		if err := os.WriteFile(at("torn.arrow"), b[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if rows, err := indexOf(at("torn.arrow")); err == nil {
			t.Errorf("the first %d of %d bytes are read as %+v", n, len(b), rows)
		}
	}
}

func TestArrowToPython(t *testing.T) {
	folder := t.TempDir()
	known, index := filepath.Join(folder, "known.arrow"), filepath.Join(folder, "index.arrow")
	if err := WriteKnown(known, each(KnownRow{1, "aa", "bb", "cat", Train, true, "", "a.csv", true}, KnownRow{9, "cc", "dd", "", Test, false, "g", "", false})); err != nil {
		t.Fatal(err)
	}
	if err := WriteDataIndex(index, each(DataRow{1, Train, true, "", ""}, DataRow{9, Test, false, "g", "dog"})); err != nil {
		t.Fatal(err)
	}
	got := runPython(t, `
import sys, pyarrow as pa
for path in sys.argv[1:]:
    with pa.memory_map(path) as f:
        print(pa.ipc.open_file(f).read_all().to_pydict())`, known, index)
	want := `{'number': [1, 9], 'example_hash': ['aa', 'cc'], 'input_hash': ['bb', 'dd'], 'label': ['cat', None], 'part': ['train', 'test'], 'on': [True, False], 'group': [None, 'g'], 'source': ['a.csv', None], 'corrected': [True, False]}
{'number': [1, 9], 'part': ['train', 'test'], 'on': [True, False], 'group': [None, 'g'], 'label': [None, 'dog']}`
	if got != want {
		t.Errorf("Python reads\n%s", got)
	}
	if err := WriteDataIndex(index, each[DataRow]()); err != nil {
		t.Error(err)
	}
	broken := func(yield func(DataRow, error) bool) { yield(DataRow{}, os.ErrClosed) }
	if err := WriteDataIndex(filepath.Join(folder, "none.arrow"), broken); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an error among the rows: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "none.arrow")); err == nil {
		t.Error("half a file was left")
	}
}

// TestManyRows writes more rows than a batch has, and reads some of them.
func TestManyRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.arrow")
	if err := WriteKnown(path, func(yield func(KnownRow, error) bool) {
		for i := range 2*batchRows + 1 {
			if !yield(KnownRow{Number: int64(i + 1), Part: Train}, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	batches, last := 0, int64(0)
	if err := eachBatch(path, func(b batch) error {
		numbers, err := b.ints("number", -1)
		batches, last = batches+1, numbers[len(numbers)-1]
		return err
	}); err != nil || batches != 3 || last != 2*batchRows+1 {
		t.Errorf("%d batches, the last number is %d: %v", batches, last, err)
	}
}

// each yields rows without an error.
func each[Row any](rows ...Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// indexOf reads all of an index.
func indexOf(path string) (rows []IndexRow, err error) {
	for row, err := range Index(path) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
