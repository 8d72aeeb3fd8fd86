package cells

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"

	"github.com/easeml/easeml/api"
)

// typedTables are the endings of files whose columns have types.
var typedTables = []string{".parquet", ".arrow", ".feather", ".xlsx"}

// rowsAtOnce is how many rows of such a file are in memory.
const rowsAtOnce = 10_000

// writeTyped writes a Parquet, Arrow, Feather or Excel file, which appears whole or not at all.
func writeTyped(target string, kinds func(column string) string, fill func(records) error) error {
	look := &survey{kinds: kinds}
	if err := fill(look); err != nil {
		return err
	}
	return replace(target, func(file *os.File) error {
		w, err := newTyped(file, strings.ToLower(filepath.Ext(target)), look.columns)
		if err != nil {
			return err
		}
		if err := fill(&body{records: w}); err != nil {
			_ = w.Close() // the file is thrown away
			return err
		}
		return w.Close()
	})
}

// typedRecords takes the rows below the head, which it has from its columns.
type typedRecords interface {
	records
	io.Closer
}

func newTyped(out io.Writer, ending string, columns []typed) (typedRecords, error) {
	switch ending {
	case ".parquet":
		return newParquet(out, columns), nil
	case ".xlsx":
		return newSheet(out, columns)
	}
	return newArrow(out, columns), nil
}

// body passes on what follows the head.
type body struct {
	records
	begun bool
}

func (b *body) Write(record []string) error {
	if !b.begun {
		b.begun = true
		return nil
	}
	return b.records.Write(record)
}

// survey looks at a table to find out its columns. A kind that some cell does not fit is text.
type survey struct {
	kinds   func(column string) string
	columns []typed
	known   []bool
}

func (s *survey) Write(record []string) error {
	if s.columns == nil {
		for _, name := range record {
			c := typed{name: name}
			if s.kinds != nil {
				c.kind = s.kinds(name)
			}
			s.columns, s.known = append(s.columns, c), append(s.known, c.kind != "")
		}
		return nil
	}
	for i, text := range record {
		c := &s.columns[i]
		switch {
		case text == "" || c.kind == api.ColumnText:
		case !s.known[i]:
			c.kind = wider(c.kind, kindOf(text))
		case c.cell(text) == nil:
			c.kind = api.ColumnText
		}
	}
	return nil
}

// inOrder is a group of fields in the order in which they were named; a Group by itself sorts them.
type inOrder struct {
	parquet.Group
	names []string
}

func (o inOrder) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range o.Group.Fields() {
		byName[f.Name()] = f
	}
	out := make([]parquet.Field, len(o.names))
	for i, name := range o.names {
		out[i] = byName[name]
	}
	return out
}

type parquetRecords struct {
	w       *parquet.Writer
	columns []typed
	rows    []parquet.Row
}

func newParquet(out io.Writer, columns []typed) *parquetRecords {
	root := inOrder{Group: parquet.Group{}}
	for _, c := range columns {
		node := map[string]func() parquet.Node{
			api.ColumnWhole:   func() parquet.Node { return parquet.Int(64) },
			api.ColumnNumber:  func() parquet.Node { return parquet.Leaf(parquet.DoubleType) },
			api.ColumnTruth:   func() parquet.Node { return parquet.Leaf(parquet.BooleanType) },
			api.ColumnDay:     parquet.Date,
			api.ColumnTime:    func() parquet.Node { return parquet.TimestampAdjusted(parquet.Microsecond, false) },
			api.ColumnInstant: func() parquet.Node { return parquet.Timestamp(parquet.Microsecond) },
			api.ColumnNumbers: func() parquet.Node { return parquet.List(parquet.Leaf(parquet.DoubleType)) },
		}[c.kind]
		if node == nil {
			node = parquet.String
		}
		root.Group[c.name] = parquet.Optional(node())
		root.names = append(root.names, c.name)
	}
	schema := parquet.NewSchema("answers", root)
	return &parquetRecords{columns: columns,
		w: parquet.NewWriter(out, schema, parquet.Compression(&snappy.Codec{}), parquet.MaxRowsPerRowGroup(10*rowsAtOnce))}
}

func (p *parquetRecords) Write(record []string) error {
	row := make(parquet.Row, 0, len(record))
	for i, text := range record {
		switch x := p.columns[i].cell(text).(type) {
		case nil:
			row = append(row, parquet.NullValue().Level(0, 0, i))
		case []float64: // of its levels 1 is that there is a list, 2 that something is in it
			if len(x) == 0 {
				row = append(row, parquet.NullValue().Level(0, 1, i))
			}
			for k, v := range x {
				row = append(row, parquet.DoubleValue(v).Level(min(k, 1), 2, i))
			}
		case int64:
			if p.columns[i].kind == api.ColumnDay {
				row = append(row, parquet.Int32Value(int32(x)).Level(0, 1, i))
			} else {
				row = append(row, parquet.Int64Value(x).Level(0, 1, i))
			}
		default:
			row = append(row, parquet.ValueOf(x).Level(0, 1, i))
		}
	}
	if p.rows = append(p.rows, row); len(p.rows) >= rowsAtOnce {
		return p.flush()
	}
	return nil
}

func (p *parquetRecords) flush() error {
	_, err := p.w.WriteRows(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetRecords) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.w.Close()
}

type arrowRecords struct {
	out     io.Writer
	w       *ipc.FileWriter
	schema  *arrow.Schema
	columns []typed
	rows    *array.RecordBuilder
	n       int
}

func newArrow(out io.Writer, columns []typed) *arrowRecords {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Nullable: true, Type: arrow.BinaryTypes.String}
		switch c.kind {
		case api.ColumnWhole:
			fields[i].Type = arrow.PrimitiveTypes.Int64
		case api.ColumnNumber:
			fields[i].Type = arrow.PrimitiveTypes.Float64
		case api.ColumnTruth:
			fields[i].Type = arrow.FixedWidthTypes.Boolean
		case api.ColumnDay:
			fields[i].Type = arrow.FixedWidthTypes.Date32
		case api.ColumnTime:
			fields[i].Type = &arrow.TimestampType{Unit: arrow.Microsecond}
		case api.ColumnInstant:
			fields[i].Type = arrow.FixedWidthTypes.Timestamp_us
		case api.ColumnNumbers:
			fields[i].Type = arrow.ListOf(arrow.PrimitiveTypes.Float64)
		}
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowRecords{out: out, schema: schema, columns: columns, rows: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
}

func (a *arrowRecords) Write(record []string) error {
	for i, text := range record {
		x := a.columns[i].cell(text)
		if x == nil {
			a.rows.Field(i).AppendNull()
			continue
		}
		switch b := a.rows.Field(i).(type) {
		case *array.Int64Builder:
			b.Append(x.(int64))
		case *array.Float64Builder:
			b.Append(x.(float64))
		case *array.BooleanBuilder:
			b.Append(x.(bool))
		case *array.Date32Builder:
			b.Append(arrow.Date32(x.(int64)))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(x.(int64)))
		case *array.ListBuilder:
			b.Append(true)
			b.ValueBuilder().(*array.Float64Builder).AppendValues(x.([]float64), nil)
		case *array.StringBuilder:
			b.Append(x.(string))
		}
	}
	if a.n++; a.n >= rowsAtOnce {
		return a.flush()
	}
	return nil
}

func (a *arrowRecords) flush() (err error) {
	if a.w == nil {
		if a.w, err = ipc.NewFileWriter(a.out, ipc.WithSchema(a.schema)); err != nil {
			return err
		}
	}
	batch := a.rows.NewRecordBatch()
	defer batch.Release()
	a.n = 0
	return a.w.Write(batch)
}

func (a *arrowRecords) Close() error {
	defer a.rows.Release()
	if err := a.flush(); err != nil {
		return err
	}
	return a.w.Close()
}
