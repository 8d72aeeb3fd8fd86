package cells

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// tables are the endings of files that tables are written into.
var tables = []string{".csv", ".tsv", ".jsonl"}

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
// .tsv, or JSON lines. isText tells of a column that what looks like a number in it
// is text all the same; nil: of none.
func writeTable(target string, isText func(column string) bool, fill func(records) error) (err error) {
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
	buffer := bufio.NewWriterSize(file, 1<<16)
	ending := strings.ToLower(filepath.Ext(target))
	if ending == ".jsonl" {
		if isText == nil {
			isText = func(string) bool { return false }
		}
		err = fill(&jsonLines{out: buffer, isText: isText})
	} else {
		w := csv.NewWriter(buffer)
		if ending == ".tsv" {
			w.Comma = '\t'
		}
		if err = fill(w); err == nil {
			w.Flush()
			err = w.Error()
		}
	}
	if err != nil {
		return err
	}
	if err := errors.Join(buffer.Flush(), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}
