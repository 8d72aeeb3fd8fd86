package lang

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// OptionType says what an option's value looks like.
type OptionType string

// The types of options.
const (
	OptionWord      OptionType = "word"
	OptionText      OptionType = "text"
	OptionCharacter OptionType = "one character"
	OptionSwitch    OptionType = "on or off"
	OptionWhole     OptionType = "whole number"
	OptionShare     OptionType = "number from 0 to 0.5"
	OptionDuration  OptionType = "duration such as 10m"
	OptionColumn    OptionType = "column"
)

// OptionDoc is what there is to say about an option of a statement.
type OptionDoc struct {
	Name    string
	Type    OptionType
	Default string
	Doc     string
	Repeat  bool     // given several times, it collects
	Min     int      // of a whole number
	Values  []string // proposals for the value; others may be right too unless Strict
	Strict  bool
}

// reading are the options that say how files are read, to be fed or answered.
var reading = []OptionDoc{
	{Name: "delimiter", Type: OptionText, Default: "found in the file", Doc: "character between two columns", Values: []string{",", ";", "|", "tab"}},
	{Name: "decimal", Type: OptionCharacter, Default: ".", Doc: "character before the decimals", Values: []string{".", ","}},
	{Name: "encoding", Type: OptionWord, Default: "utf-8", Doc: "encoding of the text", Values: []string{"utf-8", "latin-1", "cp1252", "utf-16"}},
	{Name: "header", Type: OptionWord, Default: "on where the first row is names", Doc: "whether the first row is names, or which row is", Values: []string{"on", "off"}},
	{Name: "sheet", Type: OptionText, Default: "the first one", Doc: "sheet of a workbook, table of a FITS file: its name, or its number"},
	{Name: "missing", Type: OptionText, Default: "empty, NA, nan", Doc: "what stands for a missing value", Repeat: true},
	{Name: "series", Type: OptionColumn, Default: "none", Doc: "column that says which rows make one series"},
}

var options = map[string][]OptionDoc{
	"schema": {
		{Name: "metric", Type: OptionWord, Default: "chosen from the data", Doc: "by which models are compared",
			Values: []string{"accuracy", "balanced_accuracy", "f1", "average_precision", "roc_auc", "log_loss", "r2", "mae", "rmse", "iou", "token_accuracy"}},
		{Name: "seed", Type: OptionWhole, Default: "0", Doc: "start of all chance: the same seed gives the same trials"},
		{Name: "test", Type: OptionShare, Default: "0.2, from 1,000 examples 0.15", Doc: "share of the examples that the search never uses"},
		{Name: "folds", Type: OptionWhole, Default: "5 below 1,000 examples, else none", Min: 2, Doc: "number of folds instead of a validation part"},
		{Name: "budget", Type: OptionDuration, Default: "none", Doc: "device time after which the task rests"},
		{Name: "share", Type: OptionSwitch, Default: "off", Doc: "search together with equal tasks of the class"},
	},
	"feed": slices.Concat(reading, []OptionDoc{
		{Name: "group", Type: OptionColumn, Default: "none", Doc: "rows of one value never straddle the split", Repeat: true},
		{Name: "order", Type: OptionColumn, Default: "none", Doc: "the test part is the latest rows by this column"},
		{Name: "ignore", Type: OptionColumn, Default: "none", Doc: "column that is left out", Repeat: true},
	}),
	"infer": slices.Concat(reading, []OptionDoc{
		{Name: "probabilities", Type: OptionSwitch, Default: "off", Doc: "add one column per class"},
		{Name: "top", Type: OptionWhole, Default: "1", Min: 1, Doc: "number of answers for each row"},
		{Name: "batch", Type: OptionWhole, Default: "chosen by size", Min: 1, Doc: "number of rows at once"},
		{Name: "trial", Type: OptionWhole, Default: "the best one", Min: 1, Doc: "trial whose model answers"},
	}),
}

func optionDoc(word, name string) *OptionDoc {
	for i := range options[word] {
		if options[word][i].Name == name {
			return &options[word][i]
		}
	}
	return nil
}

func optionNames(word string) []string {
	var names []string
	for _, o := range options[word] {
		names = append(names, o.Name)
	}
	return names
}

// check tells what is wrong with a value, "" where it is right.
func (o *OptionDoc) check(value string) string {
	ok := true
	switch o.Type {
	case OptionSwitch:
		_, ok = readSwitch(value)
	case OptionWhole:
		n, whole := readWhole(value)
		if ok = whole && n >= o.Min; whole && !ok {
			return "`" + o.Name + "` is at least " + itoa(o.Min) + ", not " + value
		}
	case OptionShare:
		f, err := strconv.ParseFloat(value, 64)
		ok = err == nil && f >= 0 && f <= 0.5
	case OptionDuration:
		_, ok = readDuration(value)
	case OptionCharacter:
		ok = utf8.RuneCountInString(value) == 1
	case OptionWord:
		ok = isAtom(value)
	case OptionText, OptionColumn:
		ok = value != ""
	}
	if ok && o.Strict {
		ok = slices.Contains(o.Values, value)
	}
	if ok {
		return ""
	}
	return "`" + o.Name + "` wants " + article(string(o.Type)) + ", not `" + value + "`"
}

// article puts a or an before what isn't a phrase of its own.
func article(what string) string {
	switch what {
	case string(OptionCharacter), string(OptionSwitch):
		return what
	}
	return "a " + what
}

// line is the option for people, in one line.
func (o *OptionDoc) line() string {
	s := o.Name + " = " + string(o.Type) + ": " + o.Doc + " (left out: " + o.Default + ")"
	if o.Repeat {
		s += ", may be repeated"
	}
	return s
}
