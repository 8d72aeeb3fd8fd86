package account

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const longestName = 128 // bytes

// CheckName says what is wrong with a user name, or nil. A name is anything
// that can be printed on one line and stands in a path as one segment: up to
// 128 bytes, no slash (tasks are called user/name), no space at its ends, not
// "." or "..". The words that stand for groups of users are taken.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a user name can't be empty")
	case len(name) > longestName:
		return fmt.Errorf("the user name %.40q… has more than %d bytes: choose a shorter one", name, longestName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the user name %q is not UTF-8", name)
	case strings.Contains(name, "/"):
		return fmt.Errorf("the user name %q has a slash, which parts users from tasks: choose one without", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the user name %q begins or ends with a space: leave it out", name)
	case name == "." || name == "..":
		return fmt.Errorf("the user name %q means a folder: choose another one", name)
	case name == "everyone" || name == "class":
		return fmt.Errorf("the user name %q stands for a group of users: choose another one", name)
	}
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return fmt.Errorf("the user name %q has a character that can't be printed (%U): leave it out", name, c)
		}
	}
	return nil
}
