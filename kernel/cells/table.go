package cells

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/easeml/easeml/api"
)

// tables are the endings of files that tables are written into.
var tables = append([]string{".csv", ".tsv", ".jsonl"}, typedTables...)

// records takes a table: its head first, then its rows.
type records interface {
	Write(record []string) error
}

// jsonLines writes an object a row. What is no text is a number, or whatever JSON
// it is; an empty cell is null.
type jsonLines struct {
	out    *bufio.Writer
	isText func(column string) bool
	head   []string
}

func (j *jsonLines) Write(record []string) error {
	if j.head == nil {
		j.head = record
		return nil
	}
	for i, name := range j.head {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		value := []byte("null")
		if cell := record[i]; cell != "" {
			if value = []byte(cell); j.isText(name) || !json.Valid(value) {
				if value, err = json.Marshal(cell); err != nil {
					return err
				}
			}
		}
		j.out.WriteString(separator)
		j.out.Write(key)
		j.out.WriteByte(':')
		j.out.Write(value)
	}
	_, err := j.out.WriteString("}\n") // the first error of a Writer stays
	return err
}

// writeTable writes a file that appears whole or not at all: CSV, with tabs for
// .tsv, JSON lines, or one of typedTables. kinds tells the kind of a column, "" where
// nobody knows it: then it is text in JSON lines, and what all of its cells are in
// those. Where kinds is nil, cells are what they look like. For the
// latter fill is called twice.
func writeTable(target string, kinds func(column string) string, fill func(records) error) error {
	ending := strings.ToLower(filepath.Ext(target))
	if slices.Contains(typedTables, ending) {
		return writeTyped(target, kinds, fill)
	}
	return replace(target, func(file *os.File) error {
		buffer := bufio.NewWriterSize(file, 1<<16)
		if ending == ".jsonl" {
			isText := func(column string) bool {
				if kinds == nil {
					return false
				}
				kind := kinds(column)
				return kind != api.ColumnWhole && kind != api.ColumnNumber && kind != api.ColumnNumbers && kind != api.ColumnTruth
			}
			if err := fill(&jsonLines{out: buffer, isText: isText}); err != nil {
				return err
			}
			return buffer.Flush()
		}
		w := csv.NewWriter(buffer)
		if ending == ".tsv" {
			w.Comma = '\t'
		}
		if err := fill(w); err != nil {
			return err
		}
		w.Flush()
		return errors.Join(w.Error(), buffer.Flush())
	})
}

// replace writes a file that appears whole or not at all, in the place of one that is there.
func replace(target string, fill func(*os.File) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(target), ".easeml-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := fill(file); err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}
