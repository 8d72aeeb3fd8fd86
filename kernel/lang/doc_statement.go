package lang

// StatementDoc is what there is to say about a statement.
type StatementDoc struct {
	Word    string
	Forms   []string // grammar lines
	Meaning string   // one or two sentences
	Example string   // one statement a line
	First   bool     // one of the six to begin with
}

var statements = []StatementDoc{}

func statementDoc(word string) *StatementDoc {
	for i := range statements {
		if statements[i].Word == word {
			return &statements[i]
		}
	}
	return nil
}
