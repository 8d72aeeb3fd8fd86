package lang

// StatementDoc is what there is to say about a statement. Help, inspection and
// completion read this one table.
type StatementDoc struct {
	Word    string
	Forms   []string // grammar lines
	Meaning string   // its first sentence fits on one line
	Example string   // one statement a line
	First   bool     // one of the six to begin with
}

// Statements gives the table of the statements, the six to begin with first.
func Statements() []StatementDoc { return append([]StatementDoc(nil), statements...) }

func statementDoc(word string) *StatementDoc {
	for i := range statements {
		if statements[i].Word == word {
			return &statements[i]
		}
	}
	return nil
}

var statements = []StatementDoc{
	{
		Word:  "schema",
		First: true,
		Forms: []string{
			"schema NAME { input: TYPE, output: TYPE } [with OPTION = VALUE, …]",
			"schema NAME from FILE [output COLUMN, …]",
		},
		Meaning: "Declare a task: what goes in and what comes out. The same program again changes nothing; " +
			"from a file or folder, it proposes a program and declares nothing.",
		Example: "schema digits { input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []} }\n" +
			"schema iris from \"iris.csv\" output species",
	},
	{
		Word:  "feed",
		First: true,
		Forms: []string{
			"feed [TASK] [as hidden] FILE | JSON | from VARIABLE, … [output COLUMN, …] [using FIELD = COLUMN, …] [with OPTION = VALUE, …]",
			"feed [TASK] as is",
		},
		Meaning: "Give examples to a task. The search starts by itself; feeding the same file again changes nothing. " +
			"as is: what was warned of is fine, so figures are marked no longer.",
		Example: "feed digits \"digits.npz\"\n" +
			"feed iris \"a.csv\", \"b.csv\" output species with delimiter = \";\"",
	},
	{
		Word:    "watch",
		First:   true,
		Forms:   []string{"watch [all | TASK, …]"},
		Meaning: "Show a live chart of the search. Other cells go on; interrupting it stops the chart, not the search.",
		Example: "watch digits",
	},
	{
		Word:    "best",
		First:   true,
		Forms:   []string{"best [TASK]"},
		Meaning: "Report on the best model: how good it is on examples it never saw, and where it errs.",
		Example: "best digits",
	},
	{
		Word:    "infer",
		First:   true,
		Forms:   []string{"infer [TASK] FILE | JSON | from VARIABLE, … [using FIELD = COLUMN, …] [into FILE | NAME] [with OPTION = VALUE, …]"},
		Meaning: "Ask the best model for answers. They are shown, and written into a file or variable where one is named.",
		Example: "infer digits \"new.npz\" into \"answers.csv\" with probabilities = on",
	},
	{
		Word:    "help",
		First:   true,
		Forms:   []string{"help [WORD]"},
		Meaning: "Explain a word of the language, or list the statements.",
		Example: "help feed",
	},
	{
		Word:  "wait",
		Forms: []string{"wait [TASK] [until CONDITION or …]"},
		Meaning: "Wait until a condition holds, and say which. Without conditions: until the task has settled; " +
			"running out of time is no error.",
		Example: "wait digits until quality >= 0.97 or final or 10m",
	},
	{
		Word: "refine",
		Forms: []string{
			"refine [TASK] [EXAMPLES | suspects]",
			"refine [TASK] show EXAMPLES | suspects | all",
			"refine [TASK] on | off EXAMPLES | suspects | all",
			"refine [TASK] off gone",
			"refine [TASK] off all yes",
			"refine [TASK] EXAMPLES as LABEL",
		},
		Meaning: "Look at examples, switch them on or off, or correct their label. Suspects are those whose label looks wrong; gone " +
			"are those that their file, fed again, no longer has. " +
			"show shows what is in them, which is then saved with the notebook; no other output does. " +
			"Switching all of them off asks first, unless you say yes.",
		Example: "refine digits\nrefine digits suspects\nrefine digits 17 as 8\nrefine digits off 17, 90..95",
	},
	{
		Word:    "models",
		Forms:   []string{"models [TASK] [into FILE | NAME]"},
		Meaning: "Show the leaderboard: every candidate, how good it is and what it took.",
		Example: "models digits into \"board.csv\"",
	},
	{
		Word:    "explain",
		Forms:   []string{"explain [TASK] [EXAMPLE | FILE | JSON | from VARIABLE]"},
		Meaning: "Say what the model uses or, for one example, why it answers so.",
		Example: "explain digits\nexplain digits 17",
	},
	{
		Word:    "why",
		Forms:   []string{"why [TASK] [trial NUMBER]", "why TASK CANDIDATE"},
		Meaning: "Say why a device went to this candidate, or why a candidate was or wasn't tried.",
		Example: "why digits\nwhy digits trial 4\nwhy alice/digits resnet18+f0.4",
	},
	{
		Word:    "tasks",
		Forms:   []string{"tasks [all | of USER | of class NAME | of everyone] [into FILE | NAME]"},
		Meaning: "List your tasks and those that are shared with you.",
		Example: "tasks",
	},
	{
		Word:    "stop",
		Forms:   []string{"stop TASK [trial NUMBER]"},
		Meaning: "End a task's search for now, or one of its trials. What was found stays; a trial's best so far counts.",
		Example: "stop digits",
	},
	{
		Word:    "resume",
		Forms:   []string{"resume TASK"},
		Meaning: "Let a stopped task search on.",
		Example: "resume digits",
	},
	{
		Word:    "export",
		Forms:   []string{"export [TASK] FILE [trial NUMBER]"},
		Meaning: "Write the best model, or the one of a trial, into a file.",
		Example: "export digits \"digits.onnx\"",
	},
	{
		Word:    "client",
		Forms:   []string{"client [TASK] python | go [into FILE | NAME]"},
		Meaning: "Write a program that asks the task's model for answers.",
		Example: "client digits python into \"digits.py\"",
	},
	{
		Word:    "drop",
		Forms:   []string{"drop TASK [yes]"},
		Meaning: "Delete a task with its examples and models. It asks first; `yes` answers beforehand.",
		Example: "drop digits",
	},
	{
		Word:    "share",
		Forms:   []string{"share TASK with USER | class NAME | everyone [as reader | editor | template]"},
		Meaning: "Let others see a task (reader), change it (editor), or start from a copy (template).",
		Example: "share digits with class ml101 as template",
	},
	{
		Word:    "unshare",
		Forms:   []string{"unshare TASK with USER | class NAME | everyone"},
		Meaning: "Take a share back.",
		Example: "unshare digits with bob",
	},
	{
		Word:    "class",
		Forms:   []string{"class NAME [into FILE | NAME]"},
		Meaning: "Show a class: its members, limits and leaderboard.",
		Example: "class ml101",
	},
	{
		Word:  "budget",
		Forms: []string{"budget [TASK | for USER | for class NAME | for everyone] [off | LIMIT, …]"},
		Meaning: "Show or set limits of device time, devices, weight and storage. " +
			"A limit is 10h [per day | week | course], devices 2, weight 1.5 or storage 5GB.",
		Example: "budget\nbudget for class ml101 10h per week, devices 1, weight 2",
	},
	{
		Word: "pool",
		Forms: []string{
			"pool [drain DEVICE | reclaim DEVICE [now] | return DEVICE]",
			"pool token NAME[:LABEL] [COUNT | off] [on DEVICE] [for DURATION]",
		},
		Meaning: "Show the devices and who uses them, or take one out of service and bring it back. " +
			"Served now: pool alone; the others come later.",
		Example: "pool",
	},
	{
		Word:    "server",
		Forms:   []string{"server [ADDRESS]"},
		Meaning: "Show which server this notebook talks to, or take another one.",
		Example: "server \"http://lab.example.org:8080\"",
	},
	{
		Word:    "assert",
		Forms:   []string{"assert VALUE >= VALUE"},
		Meaning: "Fail the cell unless the comparison holds (>= <= == != > <).",
		Example: "assert digits.test >= 0.95",
	},
	{
		Word:    "print",
		Forms:   []string{"print VALUE, …"},
		Meaning: "Write values to the cell's output.",
		Example: "print digits.quality, digits.state",
	},
	{
		Word:    "warn",
		Forms:   []string{"warn TEXT"},
		Meaning: "Write a sentence to the cell's error output.",
		Example: "warn \"few examples\"",
	},
	{
		Word:    "clear",
		Forms:   []string{"clear"},
		Meaning: "Clear the cell's output.",
		Example: "clear",
	},
}

// words are the words that mean something only in their place, and what.
var words = map[string]string{
	"input":    "The part of a program that says what goes in.",
	"output":   "In a program: what comes out. After a file: the columns that are to be predicted.",
	"Tensor":   "Tensor[8, 8, 1]: an array of numbers with these sizes; Tensor[1] is a single number.",
	"Class":    "Class[10] or Class[\"no\", \"yes\"]: one of several classes, by their count or their labels.",
	"from":     "from VARIABLE: examples from a variable of the host, such as a DataFrame. schema NAME from FILE: look at a file.",
	"using":    "using FIELD = COLUMN: which column fills which field.",
	"with":     "with OPTION = VALUE: options. share TASK with WHO: to whom.",
	"into":     "into \"FILE\" or into NAME: where the result goes.",
	"as":       "as reader, editor, template: what a share allows. as LABEL: the right label. as hidden: for a class's hidden part. as is: fine, whatever was warned of.",
	"is":       "as is: the examples are fine as they are.",
	"hidden":   "Examples of the hidden part, by which a class is judged; its members never see them.",
	"on":       "Switch examples on. After a token: on which device.",
	"off":      "Switch examples off: they stay, but no model learns from them. Of a budget or token: take it away.",
	"all":      "All tasks, or all examples.",
	"show":     "With what is in the examples: small pictures, or their values. They are saved with the notebook.",
	"suspects": "Examples whose label looks wrong to models that had not seen them.",
	"gone":     "Examples that are no longer in the file they came from, as it was fed last.",
	"trial":    "trial NUMBER: one trial of the task, by the number that watch and models show.",
	"until":    "until CONDITION or …: what to wait for: quality >= 0.97, 10m, final.",
	"or":       "Joins the conditions of a wait; the first that holds ends it.",
	"final":    "The task has settled: likely final, exhausted, out of budget, stopped, or without data.",
	"for":      "for WHO: whose limits. for DURATION: how long.",
	"of":       "tasks of WHO: somebody else's tasks.",
	"per":      "per day, week or course: when used device time is counted anew.",
	"day":      "Used device time is counted anew every day.",
	"week":     "Used device time is counted anew every Monday.",
	"course":   "Used device time is counted once, for as long as the class lasts.",
	"devices":  "devices 2: so many devices at once.",
	"weight":   "weight 2: twice the usual share of the pool.",
	"storage":  "storage 5GB: so much may be kept.",
	"everyone": "Everybody who has an account on the server.",
	"reader":   "May look, and may ask the model.",
	"editor":   "May do what the owner may, but drop the task.",
	"template": "May start from a copy of their own.",
	"python":   "A client in Python.",
	"go":       "A client in Go.",
	"yes":      "Answers the question that drop asks.",
	"now":      "Without waiting for the next checkpoint.",
	"drain":    "Let the device finish its trial, then give it no other.",
	"reclaim":  "Take the device back: its trial is paused and goes on elsewhere.",
	"return":   "Put the device back into service.",
	"token":    "A counted permission such as a licence: trials that need it run only while one is free.",
}
