package trial

import (
	"errors"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Names of the parts, as the Arrow files have them.
const (
	Train      = "train"
	Validation = "validation"
	Test       = "test"
)

// IndexRow is one accepted example of an ingest (index.arrow).
type IndexRow struct {
	Number      int64  // the task's number of the example, for ever
	ExampleHash string // SHA-256 in hex over all fields
	InputHash   string // the same without outputs
	Label       string // the answer as text; empty when it is not a label or number
	Part        string
	Source      string // the source's name
	Row         int64  // as the source's own program shows it; -1 = none
	Group       string // hash of what keeps rows in one part; empty when nothing does
}

// Index reads an ingest's index.arrow row by row, in the file's order; one batch
// of it is in memory at a time. An error is the last thing that it yields.
func Index(path string) iter.Seq2[IndexRow, error] {
	return func(yield func(IndexRow, error) bool) {
		err := eachBatch(path, func(b batch) error {
			var c columns
			number, row := c.ints(b, "number"), c.ints(b, "row")
			example, input, label := c.texts(b, "example_hash"), c.texts(b, "input_hash"), c.texts(b, "label")
			part, source := c.texts(b, "part"), c.texts(b, "source")
			group := make([]string, len(number))
			if _, err := b.column("group"); err == nil {
				group = c.texts(b, "group")
			}
			if c.err != nil {
				return c.err
			}
			for i := range number {
				if !yield(IndexRow{Number: number[i], ExampleHash: example[i], InputHash: input[i], Label: label[i],
					Part: part[i], Source: source[i], Row: row[i], Group: group[i]}, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(IndexRow{}, err)
		}
	}
}

// errEnough ends a reading whose reader has what it wants.
var errEnough = errors.New("enough")

// Reject is one row of a source that was not taken (rejects.arrow).
type Reject struct {
	Source string
	Row    int64 // -1 = none
	Line   int64 // of a text file; -1 = none
	Column string
	Value  string
	Reason string
	Remedy string

	CountedFrom int64 // 0 or 1: what the first row's number is in the program that people see the source with
}

// ReadRejects reads an ingest's rejects.arrow.
func ReadRejects(path string) ([]Reject, error) {
	var rows []Reject
	err := eachBatch(path, func(b batch) error {
		var c columns
		row, line := c.ints(b, "row"), c.ints(b, "line")
		source, column, value := c.texts(b, "source"), c.texts(b, "column"), c.texts(b, "value")
		reason, remedy := c.texts(b, "reason"), c.texts(b, "remedy")
		from := slices.Repeat([]int64{1}, len(row))
		if _, err := b.column("counted_from"); err == nil {
			from = c.ints(b, "counted_from")
		}
		if c.err != nil {
			return c.err
		}
		for i := range row {
			rows = append(rows, Reject{Source: source[i], Row: row[i], Line: line[i], Column: column[i], Value: value[i],
				Reason: reason[i], Remedy: remedy[i], CountedFrom: from[i]})
		}
		return nil
	})
	return rows, err
}

// KnownRow is an example that the task has already; an ingest finds repeated ones by it and keeps parts together.
type KnownRow struct {
	Number      int64
	ExampleHash string
	InputHash   string
	Label       string // empty = none
	Part        string
	On          bool
	Group       string // as Index gave it; empty = none
	Source      string // the source's name
	Corrected   bool   // Label is not as it was fed; ExampleHash is
}

// WriteKnown writes the file that ingest.json's known names: number, example_hash, input_hash, label, part, on,
// group, source, corrected. An error among the rows is returned.
func WriteKnown(path string, rows iter.Seq2[KnownRow, error]) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64},
		{Name: "example_hash", Type: arrow.BinaryTypes.String},
		{Name: "input_hash", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "part", Type: arrow.BinaryTypes.String},
		{Name: "on", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "group", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "source", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "corrected", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)
	return writeTable(path, schema, rows, func(b *array.RecordBuilder, r KnownRow) {
		b.Field(0).(*array.Int64Builder).Append(r.Number)
		b.Field(1).(*array.StringBuilder).Append(r.ExampleHash)
		b.Field(2).(*array.StringBuilder).Append(r.InputHash)
		appendText(b.Field(3).(*array.StringBuilder), r.Label)
		b.Field(4).(*array.StringBuilder).Append(r.Part)
		b.Field(5).(*array.BooleanBuilder).Append(r.On)
		appendText(b.Field(6).(*array.StringBuilder), r.Group)
		appendText(b.Field(7).(*array.StringBuilder), r.Source)
		b.Field(8).(*array.BooleanBuilder).Append(r.Corrected)
	})
}

// appendText writes an empty text as none.
func appendText(b *array.StringBuilder, s string) {
	if s == "" {
		b.AppendNull()
	} else {
		b.Append(s)
	}
}

// DataRow is one example of a dataset version.
type DataRow struct {
	Number int64
	Part   string
	On     bool
	Group  string // as Index gave it; empty = none
	Label  string // what its label was corrected to since it was fed; empty = it is as it was fed
}

// WriteDataIndex writes the index.arrow of a data folder: number, part, on, group, label. An error among the rows is returned.
func WriteDataIndex(path string, rows iter.Seq2[DataRow, error]) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64},
		{Name: "part", Type: arrow.BinaryTypes.String},
		{Name: "on", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "group", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "label", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	return writeTable(path, schema, rows, func(b *array.RecordBuilder, r DataRow) {
		b.Field(0).(*array.Int64Builder).Append(r.Number)
		b.Field(1).(*array.StringBuilder).Append(r.Part)
		b.Field(2).(*array.BooleanBuilder).Append(r.On)
		appendText(b.Field(3).(*array.StringBuilder), r.Group)
		appendText(b.Field(4).(*array.StringBuilder), r.Label)
	})
}

// columns collects the first error of several reads.
type columns struct{ err error }

func (c *columns) ints(b batch, name string) []int64 {
	out, err := b.ints(name, -1)
	if c.err == nil {
		c.err = err
	}
	return out
}

func (c *columns) texts(b batch, name string) []string {
	out, err := b.texts(name)
	if c.err == nil {
		c.err = err
	}
	return out
}
