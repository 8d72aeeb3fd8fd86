package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Content is what one field of an example holds. Its values are there only while
// the function that got it runs.
type Content struct {
	Text    string // of a class, or of what is neither class nor numbers
	Missing bool   // there is no value
	Len     int    // how many numbers there are, of a tensor or of all steps of a series; 0 = Text is meant
	Bytes   bool   // they are bytes: a picture's file of 8 bits a channel

	values arrow.Array
	from   int
}

// At is number i of a tensor, in C order; NaN where it is missing.
func (c Content) At(i int) float64 {
	if c.values.IsNull(c.from + i) {
		return math.NaN()
	}
	f, ok := number(c.values, c.from+i)
	if !ok {
		return math.NaN()
	}
	return f
}

// longestText is how many characters of a cell that is neither class nor numbers
// are given.
const longestText = 200

// ReadContent calls do for those of the examples in a data folder that are
// named, with a Content for each of the columns (the zero Content where a file
// lacks one). Numbers that the folder doesn't hold are passed over. One batch of a
// file is in memory at a time.
func ReadContent(folder string, columns []string, numbers []int64, do func(number int64, contents []Content) error) error {
	paths, err := filepath.Glob(filepath.Join(folder, "examples*.arrow"))
	if err != nil {
		return err
	}
	wanted := append([]int64{}, numbers...)
	sort.Slice(wanted, func(i, j int) bool { return wanted[i] < wanted[j] })
	for _, path := range paths {
		if err := eachBatch(path, func(b batch) error { return contentOfBatch(b, columns, wanted, do) }); err != nil {
			return err
		}
	}
	return nil
}

func contentOfBatch(b batch, columns []string, wanted []int64, do func(int64, []Content) error) error {
	column, err := b.column("number")
	if err != nil {
		return err
	}
	numbers, ok := column.(*array.Int64)
	if !ok {
		return fmt.Errorf("the column number holds %s, not whole numbers", column.DataType())
	}
	for i, n := range numbers.Int64Values() {
		at := sort.Search(len(wanted), func(k int) bool { return wanted[k] >= n })
		if at == len(wanted) || wanted[at] != n {
			continue
		}
		contents := make([]Content, len(columns))
		for k, name := range columns {
			if values, err := b.column(name); err == nil {
				contents[k] = cell(values, i)
			}
		}
		if err := do(n, contents); err != nil {
			return err
		}
	}
	return nil
}

// cell is one value of a column; lists of numbers, also nested ones, are seen
// as one run of numbers.
func cell(col arrow.Array, i int) Content {
	if col.IsNull(i) {
		return Content{Missing: true}
	}
	if _, listed := col.(array.ListLike); !listed {
		if _, ok := number(col, i); ok && !isText(col) {
			return Content{Len: 1, values: col, from: i}
		}
		return Content{Text: cut(text(col, i))}
	}
	values, from, to := col, i, i+1
	for {
		list, listed := values.(array.ListLike)
		if !listed {
			break
		}
		if from < to {
			begin, _ := list.ValueOffsets(from)
			_, end := list.ValueOffsets(to - 1)
			from, to = int(begin), int(end)
		}
		values = list.ListValues()
	}
	if from < to {
		if _, ok := number(values, from); !ok && !values.IsNull(from) {
			raw, err := json.Marshal(col.GetOneForMarshal(i))
			if err != nil {
				return Content{Missing: true}
			}
			return Content{Text: cut(string(raw))}
		}
	}
	return Content{Missing: from == to, Len: to - from, values: values, from: from, Bytes: values.DataType().ID() == arrow.UINT8}
}

// isText tells dictionaries of labels from dictionaries of numbers.
func isText(col arrow.Array) bool {
	d, ok := col.(*array.Dictionary)
	if !ok {
		return false
	}
	id := d.Dictionary().DataType().ID()
	return id == arrow.STRING || id == arrow.LARGE_STRING
}

func cut(s string) string {
	if r := []rune(s); len(r) > longestText {
		return string(r[:longestText]) + " …"
	}
	return s
}
