package cells

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/easeml/easeml/api"
)

// plainWhole and plainNumber are numbers as programs write them: 01 and +1 are
// text, so that codes stay what they are.
var (
	plainWhole  = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)
	plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// kindOf is the narrowest kind of column that takes a text.
func kindOf(text string) string {
	switch {
	case plainWhole.MatchString(text):
		return api.ColumnWhole
	case text == "true", text == "false":
		return api.ColumnTruth
	case plainNumber.MatchString(text):
		return api.ColumnNumber
	}
	return api.ColumnText
}

// wider is the kind that takes the values of two; "" is that of no value at all.
func wider(a, b string) string {
	number := func(k string) bool { return k == api.ColumnWhole || k == api.ColumnNumber }
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	case number(a) && number(b):
		return api.ColumnNumber
	}
	return api.ColumnText
}

// typed is a column of a file that knows types.
type typed struct {
	name string
	kind string // one of api's kinds
}

// cell is a value of such a column: int64 (a whole number; a day since 1970; a time
// in microseconds since then), float64, []float64, bool, string, or nil where there is
// none, or where the text is none of that kind.
func (c typed) cell(text string) any {
	if text == "" {
		return nil
	}
	switch c.kind {
	case api.ColumnWhole:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return nil
	case api.ColumnNumber:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(x, 0) {
			return nil
		}
		return x
	case api.ColumnNumbers:
		var list []float64
		if json.Unmarshal([]byte(text), &list) != nil {
			return nil
		}
		return list
	case api.ColumnTruth:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
		return nil
	case api.ColumnDay:
		if t, err := time.Parse(time.DateOnly, text); err == nil {
			return t.Unix() / 86400
		}
		return nil
	case api.ColumnTime, api.ColumnInstant:
		for _, form := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z07:00", time.DateOnly} {
			if t, err := time.Parse(form, text); err == nil {
				return t.UnixMicro()
			}
		}
		return nil
	}
	return text
}
