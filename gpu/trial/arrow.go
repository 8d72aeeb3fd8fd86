package trial

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// eachBatch reads an Arrow file, or stream, batch by batch. The library panics on some broken files; such a panic is
// returned as an error, for a torn file is a fact of life.
func eachBatch(path string, do func(batch) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, err)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 6)
	if _, err := io.ReadFull(f, head); err != nil {
		return fmt.Errorf("too short for an Arrow file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !bytes.Equal(head, []byte("ARROW1")) {
		r, err := ipc.NewReader(bufio.NewReader(f))
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
			if err := do(batch{r.RecordBatch()}); err != nil {
				return err
			}
		}
		return r.Err()
	}
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return err
	}
	defer r.Close()
	for i := range r.NumRecords() {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			return err
		}
		err = do(batch{rec})
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// batch finds columns by name, for their order is the trainer's business.
type batch struct{ arrow.RecordBatch }

func (b batch) column(name string) (arrow.Array, error) {
	if found := b.Schema().FieldIndices(name); len(found) > 0 {
		return b.Column(found[0]), nil
	}
	return nil, fmt.Errorf("the column %s is missing", name)
}

// ints reads a column of whole numbers; an empty cell is the value none.
func (b batch) ints(name string, none int64) ([]int64, error) {
	col, err := b.column(name)
	if err != nil {
		return nil, err
	}
	out := make([]int64, col.Len())
	for i := range out {
		if out[i] = none; col.IsNull(i) {
			continue
		}
		f, ok := number(col, i)
		if !ok {
			return nil, fmt.Errorf("the column %s holds %s, not whole numbers", name, col.DataType())
		}
		if out[i] = int64(f); col.DataType().ID() == arrow.INT64 {
			out[i] = col.(*array.Int64).Value(i)
		}
	}
	return out, nil
}

// texts reads a column as text, whatever it holds; an empty cell is "".
func (b batch) texts(name string) ([]string, error) {
	col, err := b.column(name)
	if err != nil {
		return nil, err
	}
	out := make([]string, col.Len())
	for i := range out {
		out[i] = text(col, i)
	}
	return out, nil
}

func number(col arrow.Array, i int) (float64, bool) {
	switch c := col.(type) {
	case *array.Int64:
		return float64(c.Value(i)), true
	case *array.Int32:
		return float64(c.Value(i)), true
	case *array.Int16:
		return float64(c.Value(i)), true
	case *array.Int8:
		return float64(c.Value(i)), true
	case *array.Uint64:
		return float64(c.Value(i)), true
	case *array.Uint32:
		return float64(c.Value(i)), true
	case *array.Uint16:
		return float64(c.Value(i)), true
	case *array.Uint8:
		return float64(c.Value(i)), true
	case *array.Float64:
		return c.Value(i), true
	case *array.Float32:
		return float64(c.Value(i)), true
	case *array.Dictionary:
		return number(c.Dictionary(), c.GetValueIndex(i))
	}
	return 0, false
}

// text is a cell as people write it: text as it is, a whole number without a point, bytes in hex.
func text(col arrow.Array, i int) string {
	if col.IsNull(i) {
		return ""
	}
	switch c := col.(type) {
	case *array.String:
		return c.Value(i)
	case *array.LargeString:
		return c.Value(i)
	case *array.Binary:
		return hex.EncodeToString(c.Value(i))
	case *array.FixedSizeBinary:
		return hex.EncodeToString(c.Value(i))
	case *array.Dictionary:
		return text(c.Dictionary(), c.GetValueIndex(i))
	case *array.Null:
		return ""
	}
	if f, ok := number(col, i); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return col.ValueStr(i)
}

// numbers is a cell as a vector: a list's elements, nested ones flattened in order, or the one number it is.
func numbers(col arrow.Array, i int) ([]float64, bool) {
	if col.IsNull(i) {
		return nil, true
	}
	if list, ok := col.(array.ListLike); ok {
		from, to := list.ValueOffsets(i)
		var all []float64
		for k := from; k < to; k++ {
			some, ok := numbers(list.ListValues(), int(k))
			if !ok {
				return nil, false
			}
			all = append(all, some...)
		}
		return all, true
	}
	f, ok := number(col, i)
	return []float64{f}, ok
}

// batchRows is how many rows of a file that is written are in memory at a time.
const batchRows = 20_000

// writeTable writes one Arrow file by rename, batch by batch; put adds a row to the builder of the next batch.
func writeTable[Row any](path string, schema *arrow.Schema, rows iter.Seq2[Row, error], put func(*array.RecordBuilder, Row)) error {
	return replaceBy(path, func(f *os.File) error {
		w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
		if err != nil {
			return err
		}
		return errors.Join(writeBatches(w, schema, rows, put), w.Close())
	})
}

func writeBatches[Row any](w *ipc.FileWriter, schema *arrow.Schema, rows iter.Seq2[Row, error], put func(*array.RecordBuilder, Row)) error {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	held, written := 0, false
	flush := func() error {
		rec := b.NewRecordBatch()
		defer rec.Release()
		held, written = 0, true
		return w.Write(rec)
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		put(b, row)
		if held++; held == batchRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if held > 0 || !written {
		return flush()
	}
	return nil
}
