package cells

import (
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/easeml/easeml/api"
)

// otherTable is what to do about a table that a workbook can't hold.
const otherTable = "Write .parquet or .csv."

// exactWhole is the largest whole number up to which a sheet, which knows floats only, has all of them.
const exactWhole = 1 << 53

// firstDay is the first day since which Excel's calendar is right: it has a 29th of February 1900.
var firstDay = time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC)

// sheetRecords writes an Excel workbook of one sheet; what it has no type for is text.
type sheetRecords struct {
	out       io.Writer
	book      *excelize.File
	sheet     *excelize.StreamWriter
	columns   []typed
	rows      int
	day, time int // styles
}

func newSheet(out io.Writer, columns []typed) (*sheetRecords, error) {
	if len(columns) > excelize.MaxColumns {
		return nil, fail(fileError, fmt.Sprintf("The table has %d columns, and a sheet of a workbook holds %d.",
			len(columns), excelize.MaxColumns), otherTable)
	}
	s := &sheetRecords{out: out, columns: columns, book: excelize.NewFile()}
	style := func(form string) (id int, err error) {
		return s.book.NewStyle(&excelize.Style{CustomNumFmt: &form})
	}
	var err error
	if s.day, err = style("yyyy-mm-dd"); err != nil {
		return nil, err
	}
	if s.time, err = style("yyyy-mm-dd hh:mm:ss"); err != nil {
		return nil, err
	}
	if s.sheet, err = s.book.NewStreamWriter(s.book.GetSheetName(0)); err != nil {
		return nil, err
	}
	head := make([]any, len(columns))
	for i, c := range columns {
		head[i] = c.name
	}
	return s, s.write(head)
}

func (s *sheetRecords) Write(record []string) error {
	row := make([]any, len(record))
	for i, text := range record {
		if row[i] = s.value(s.columns[i], text); row[i] != text {
			continue
		}
		if n := len(utf16.Encode([]rune(text))); n > excelize.TotalCellChars {
			return fail(fileError, fmt.Sprintf("Row %d, column %s has %d characters, and a cell of a workbook holds %d.",
				s.rows+1, s.columns[i].name, n, excelize.TotalCellChars), otherTable)
		}
	}
	return s.write(row)
}

// value is what a cell holds: nil, a number, a truth value, a day, a time, or the text.
func (s *sheetRecords) value(c typed, text string) any {
	switch x := c.cell(text).(type) {
	case int64:
		style, at := s.day, time.Unix(x*86400, 0)
		switch c.kind {
		case api.ColumnWhole:
			if x > exactWhole || x < -exactWhole {
				return text
			}
			return x
		case api.ColumnTime:
			style, at = s.time, time.UnixMicro(x)
		case api.ColumnInstant: // it knows no zones
			return text
		}
		if at.Before(firstDay) {
			return text
		}
		return excelize.Cell{StyleID: style, Value: at.UTC()}
	case []float64:
		return text
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return text
		}
		return x
	default:
		return x
	}
}

func (s *sheetRecords) write(row []any) error {
	if s.rows++; s.rows > excelize.TotalRows {
		return fail(fileError, fmt.Sprintf("The table has more than the %d rows that a sheet of a workbook holds below its names.",
			excelize.TotalRows-1), otherTable)
	}
	at, err := excelize.CoordinatesToCellName(1, s.rows)
	if err != nil {
		return err
	}
	return s.sheet.SetRow(at, row)
}

func (s *sheetRecords) Close() error {
	defer s.book.Close()
	if err := s.sheet.Flush(); err != nil {
		return err
	}
	return s.book.Write(s.out)
}
