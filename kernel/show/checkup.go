package show

import "strings"

// Check is one thing that was looked at.
type Check struct {
	Level string `json:"level"` // ok, warn, FAIL
	What  string `json:"what"`  // a word to find it by: driver, trainer, disk …
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// Levels of checks.
const (
	CheckOK   = "ok"
	CheckWarn = "warn"
	CheckFail = "FAIL"
)

// CheckLine is a check in characters, at most Width columns, without a line end.
func CheckLine(c Check) string {
	const hang = "       "
	text := c.Text
	if c.Do != "" {
		text = strings.TrimRight(text, ".") + ". " + c.Do
	}
	lines := wrap(" "+c.Level+strings.Repeat(" ", 6-len(c.Level))+clean(text), Width, hang)
	return strings.Join(lines, "\n")
}
