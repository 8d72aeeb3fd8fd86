package cells

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/easeml/easeml/api"
)

// Numbers are numbers, days days, and what a sheet can't hold exactly (codes, zones, long
// numbers, lists, days that Excel's calendar has not) is text, as are formulas.
func TestWorkbook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.xlsx")
	rows := append(append([][]string{}, answersTable...),
		[]string{"=1+1", "9007199254740993", "-1e-9", "", "1900-02-28", "1904-01-02T03:04:05", "", "[]", "<&>\"", "é😀", " a "})
	if err := writeTable(path, answersKind, fillWith(rows)); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	const number = excelize.CellTypeUnset // which is how numbers are written
	for cell, want := range map[string]struct {
		value string
		kind  excelize.CellType
	}{
		"A1": {"code", excelize.CellTypeInlineString}, "K1": {"empty", excelize.CellTypeInlineString},
		"A2": {"01", excelize.CellTypeInlineString}, "B2": {"7", number}, "C2": {"1.5", number}, "D2": {"TRUE", excelize.CellTypeBool},
		"E2": {"2026-11-29", number}, "F2": {"2026-11-29 20:16:04", number}, "G2": {"2026-11-29T20:16:04+01:00", excelize.CellTypeInlineString},
		"H2": {"[1,2.5]", excelize.CellTypeInlineString}, "I2": {"12345678901234567890", excelize.CellTypeInlineString},
		"A3": {"", number}, "B3": {"", number}, "E4": {"1969-12-31", number}, "B4": {"-3", number},
		"A5": {"=1+1", excelize.CellTypeInlineString}, "B5": {"9007199254740993", excelize.CellTypeInlineString},
		"C5": {"-0.000000001", number}, "E5": {"1900-02-28", excelize.CellTypeInlineString}, "F5": {"1904-01-02 03:04:05", number},
		"I5": {"<&>\"", excelize.CellTypeInlineString}, "J5": {"é😀", excelize.CellTypeInlineString}, "K5": {" a ", excelize.CellTypeInlineString},
	} {
		value, err := book.GetCellValue("Sheet1", cell)
		if err != nil {
			t.Fatal(err)
		}
		kind, err := book.GetCellType("Sheet1", cell)
		if err != nil || value != want.value || kind != want.kind {
			t.Errorf("%s holds %q of type %d, not %q of type %d (%v)", cell, value, kind, want.value, want.kind, err)
		}
		if formula, err := book.GetCellFormula("Sheet1", cell); formula != "" || err != nil {
			t.Errorf("%s has the formula %s (%v)", cell, formula, err)
		}
	}
	if got := readColumns(path); strings.Join(got, " ") != strings.Join(answersTable[0], " ") {
		t.Errorf("the names are read again as %q", got)
	}
}

// What is too much for a workbook is one sentence with its place, and leaves neither a file nor a part of one.
func TestTooMuchForAWorkbook(t *testing.T) {
	wide := make([]string, excelize.MaxColumns+1)
	for _, c := range []struct {
		want string
		fill func(records) error
	}{
		{"Row 3, column b has 32768 characters, and a cell of a workbook holds 32767. Write .parquet or .csv.",
			fillWith([][]string{{"a", "b"}, {"1", "x"}, {"2", strings.Repeat("y", excelize.TotalCellChars+1)}})},
		{"The table has 16385 columns, and a sheet of a workbook holds 16384. Write .parquet or .csv.", fillWith([][]string{wide})},
		{"The table has more than the 1048575 rows that a sheet of a workbook holds below its names. Write .parquet or .csv.", func(w records) error {
			if err := w.Write([]string{"a"}); err != nil {
				return err
			}
			for range excelize.TotalRows {
				if err := w.Write([]string{"1"}); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "a.xlsx")
		if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		var f *problem
		if err := writeTable(path, func(string) string { return api.ColumnText }, c.fill); !errors.As(err, &f) || f.Error() != c.want {
			t.Errorf("%v, not %s", err, c.want)
		}
		if b, err := os.ReadFile(path); string(b) != "before" || err != nil {
			t.Errorf("the file that was there holds %d bytes: %v", len(b), err)
		}
		if left, err := os.ReadDir(folder); len(left) != 1 || err != nil {
			t.Errorf("left: %v %v", left, err)
		}
	}
}
