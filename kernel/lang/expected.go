package lang

import "strings"

// sayExpected puts a set of expected items into words: "a file, JSON or `from`".
func sayExpected(items []Item) string {
	var says []string
	seen := map[string]bool{}
	for _, item := range items {
		say := sayItem(item)
		if !seen[say] {
			seen[say] = true
			says = append(says, say)
		}
	}
	if len(says) < 2 {
		return strings.Join(says, "")
	}
	return strings.Join(says[:len(says)-1], ", ") + " or " + says[len(says)-1]
}

func sayItem(item Item) string {
	switch item.Kind {
	case KindWord, KindPunctuation:
		switch item.Text {
		case ">=", "<=", "==", "!=", ">", "<":
			return "a comparison such as `>=`"
		}
		return "`" + item.Text + "`"
	case KindTask, KindFile, KindColumn, KindField, KindLabel, KindCandidate, KindUser, KindDevice, KindServer,
		KindNumber, KindDuration, KindText, KindProgram, KindName, KindPointer, KindVariable:
		return "a " + map[ItemKind]string{KindServer: "server's address", KindVariable: "variable's name",
			KindUser: "user", KindDuration: "duration such as `10m`", KindProgram: "program `{ input: … }`",
			KindText: "text in quotes"}[item.Kind] + orKind(item.Kind)
	case KindJSON:
		return "JSON"
	case KindOption, KindAttribute, KindExample:
		return map[ItemKind]string{KindOption: "an option", KindAttribute: "an attribute", KindExample: "an example's number"}[item.Kind]
	case KindClass:
		return "a class's name"
	case KindTrial:
		return "a trial's number"
	case KindToken:
		return "a token's name"
	case KindWhole:
		return "a whole number"
	case KindValue:
		return "a value"
	case KindSize:
		return "a size such as `5GB`"
	case KindEnd:
		return "the end of the statement"
	}
	return string(item.Kind)
}

// orKind is the kind's own name for those whose phrase is just that.
func orKind(kind ItemKind) string {
	switch kind {
	case KindServer, KindVariable, KindUser, KindDuration, KindProgram, KindText:
		return ""
	}
	return string(kind)
}
