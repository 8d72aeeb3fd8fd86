package feed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/easeml/easeml/schema"
)

// write lays out an examples file with one tensor column; example n is values[n-1].
func write(t *testing.T, folder, column string, kind arrow.DataType, values [][]float64) {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64}, {Name: column, Type: arrow.FixedSizeListOf(int32(len(values[0])), kind)},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer b.Release()
	list := b.Field(1).(*array.FixedSizeListBuilder)
	for n, row := range values {
		b.Field(0).(*array.Int64Builder).Append(int64(n + 1))
		list.Append(true)
		for _, v := range row {
			switch inner := list.ValueBuilder().(type) {
			case *array.Uint8Builder:
				inner.Append(uint8(v))
			case *array.Float64Builder:
				inner.Append(v)
			}
		}
	}
	f, err := os.Create(filepath.Join(folder, "examples-000000.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(s))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, folder, field, profile string, side int) map[int][]Content {
	t.Helper()
	p, err := schema.Parse("{input: {[x :: " + field + "], []}, output: {[y :: Class[2]], []}}")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Contents(folder, p, json.RawMessage(profile), []int{1, 2, 99}, side)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPictures(t *testing.T) {
	bytesOf, floats := arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Float64
	for _, c := range []struct {
		field, profile string
		kind           arrow.DataType
		values         []float64
		side           int
		want           string // the size and the colours, row by row
	}{
		{"Tensor[2, 2]", "", bytesOf, []float64{0, 10, 200, 255}, 2, "2×2 000000 0a0a0a c8c8c8 ffffff"},
		{"Tensor[2, 2, 3]", "", bytesOf, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, "2×2 010203 040506 070809 0a0b0c"},
		{"Tensor[2, 2, 1]", "", bytesOf, []float64{0, 10, 200, 255}, 5, "4×4 000000 000000 0a0a0a 0a0a0a 000000 000000 0a0a0a 0a0a0a c8c8c8 c8c8c8 ffffff ffffff c8c8c8 c8c8c8 ffffff ffffff"},
		{"Tensor[2, 4, 1]", "", bytesOf, []float64{0, 10, 20, 30, 10, 20, 30, 40}, 2, "2×1 0a0a0a 1e1e1e"}, // means
		// What is no byte is drawn between the feed's least and largest value, else the picture's own.
		{"Tensor[2, 2, 1]", `{"fields":[{"name":"x","min":0,"max":20}]}`, floats, []float64{0, 4, 10, math.NaN()}, 2, "2×2 000000 333333 808080 000000"},
		{"Tensor[2, 2, 1]", "", floats, []float64{-1, 0, 1, 1}, 2, "2×2 000000 808080 ffffff ffffff"},
		{"Tensor[2, 2, 1]", "", floats, []float64{7, 7, 7, 7}, 2, "2×2 000000 000000 000000 000000"},
		// Where the brightest is very bright, the faint can still be seen.
		{"Tensor[2, 2, 1]", `{"fields":[{"name":"x","min":0,"max":1e8}],"dynamic_range":1e8}`, floats, []float64{0, 1, 100, 1e8}, 2, "2×2 000000 0c0c0c 474747 ffffff"},
	} {
		folder := t.TempDir()
		write(t, folder, "x", c.kind, [][]float64{c.values})
		all := contents(t, folder, c.field, c.profile, c.side)
		if len(all) != 1 || len(all[1]) != 1 || all[1][0].Kind != KindPicture {
			t.Errorf("%s: %+v", c.field, all)
			continue
		}
		img, err := png.Decode(bytes.NewReader(all[1][0].PNG))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d×%d", img.Bounds().Dx(), img.Bounds().Dy())
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				got += fmt.Sprintf(" %02x%02x%02x", r>>8, g>>8, b>>8)
			}
		}
		if got != c.want {
			t.Errorf("%s of %v\n got %s\nwant %s", c.field, c.values, got, c.want)
		}
	}
}

func TestALargePictureIsMadeSmall(t *testing.T) {
	values := make([]float64, 300*500*3)
	for i := range values {
		values[i] = float64(i % 251)
	}
	folder := t.TempDir()
	write(t, folder, "x", arrow.PrimitiveTypes.Uint8, [][]float64{values})
	c := contents(t, folder, "Tensor[300, 500, 3]", "", 64)[1][0]
	img, err := png.Decode(bytes.NewReader(c.PNG))
	if err != nil || img.Bounds().Dx() != 64 || img.Bounds().Dy() != 38 || len(c.PNG) > 64*38*4 {
		t.Errorf("%v, %d bytes, %v", img.Bounds(), len(c.PNG), err)
	}
}

func TestNumbersAreFew(t *testing.T) {
	values := make([]float64, 640)
	for i := range values {
		values[i] = float64(i)
	}
	values[0] = math.NaN()
	folder := t.TempDir()
	write(t, folder, "x", arrow.PrimitiveTypes.Float64, [][]float64{values, make([]float64, 640)})
	all := contents(t, folder, "Tensor[640]", "", 64)
	c := all[1][0]
	if len(all) != 2 || c.Kind != KindNumbers || len(c.Numbers) != MostNumbers || c.Numbers[0] != 5 || c.Numbers[63] != 634.5 || c.Shape[0] != 640 {
		t.Errorf("%+v", c)
	}
}
