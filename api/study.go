package api

import "context"

// NewStudy is the body of POST …/studies: a question about a task's examples or
// its model that takes some fits to answer. The answer is a stream of NDJSON:
// lines with progress, then one with what was found.
type NewStudy struct {
	Kind    string              `json:"kind"`              // suspects | explain | growth
	Example int                 `json:"example,omitempty"` // explain: why the answer for this example
	Uploads []string            `json:"uploads,omitempty"` // explain: for the one example that this upload holds
	Options map[string][]string `json:"options,omitempty"` // how to read the upload
}

// The kinds of NewStudy.
const (
	StudySuspects = "suspects" // which labels look wrong
	StudyExplain  = "explain"  // what the model uses, or why it answers so for one example
	StudyGrowth   = "growth"   // what more examples would bring
)

// StudyProgress is how far a study is.
type StudyProgress struct {
	Step float64 `json:"step"`
	Of   float64 `json:"of"`
	Unit string  `json:"unit"`
}

// StudyLine is what a line of the stream decodes into: exactly one field is set.
type StudyLine struct {
	Progress *StudyProgress `json:"progress,omitempty"`
	Done     *Findings      `json:"done,omitempty"`
	Problem  *Problem       `json:"problem,omitempty"`
}

// Findings is what a study found; which fields are set depends on its kind.
type Findings struct {
	Kind    string  `json:"kind"`
	Seconds float64 `json:"seconds"`

	Of       int       `json:"of,omitempty"`       // suspects: examples that were looked at
	Found    int       `json:"found,omitempty"`    // suspects, those beyond the list's end too
	By       []string  `json:"by,omitempty"`       // ids of the candidates that judged
	Suspects []Suspect `json:"suspects,omitempty"` // the likeliest first

	Part    string   `json:"part,omitempty"`    // explain: measured on these Of rows: test | held_out | all; train: compared with them
	Measure string   `json:"measure,omitempty"` // what is lost: right (answers) | right_by_class | probability (of the right class) | off (the error, in its own unit); growth: right, off, or the metric's name
	Uses    []Use    `json:"uses,omitempty"`    // the most important first
	Example int      `json:"example,omitempty"`
	Truth   *string  `json:"truth,omitempty"` // the example's label; nil where it has none
	Answer  string   `json:"answer,omitempty"`
	Sure    *float64 `json:"sure,omitempty"`
	Seen    bool     `json:"seen,omitempty"` // the model has learned from the example
	Nearest []Near   `json:"nearest,omitempty"`

	Half        float64  `json:"half,omitempty"`    // growth: the mean loss with half of what it learned from: the share of wrong answers, how far off, or what a score lacks to 1
	Whole       float64  `json:"whole,omitempty"`   // and with all of it
	Doubled     *float64 `json:"doubled,omitempty"` // and likely with twice as much; nil where Of rows can't tell
	GainLow     float64  `json:"gain_low,omitempty"`
	GainHigh    float64  `json:"gain_high,omitempty"`
	LearnedFrom int      `json:"learned_from,omitempty"`

	Says     string          `json:"says,omitempty"`     // a proposal: what was seen
	Predicts string          `json:"predicts,omitempty"` // what is to be predicted: "species, 3 classes"
	Guess    string          `json:"guess,omitempty"`
	Fields   []ProposedField `json:"fields,omitempty"`
	LeftOut  []LeftOut       `json:"left_out,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	Clauses  []string        `json:"clauses,omitempty"` // to be said at feed: "with group = patient_id"

	Pointers *ProposedPointers `json:"pointers,omitempty"` // by which the steps of a proposed series lead to the next one
}

// Use is a part of an example, such as a field, and how much is lost without it.
type Use struct {
	Name   string  `json:"name"`
	Lost   float64 `json:"lost"`
	Noise  float64 `json:"noise"`  // how far Lost would move by chance alone
	Beyond bool    `json:"beyond"` // Lost is beyond that
}

// Near is an example that the model learned from and that is like another one.
type Near struct {
	Number   int     `json:"number"`
	Label    string  `json:"label"`
	Distance float64 `json:"distance"`
}

// ProposedField is a field of a proposed program.
type ProposedField struct {
	Side    string `json:"side"` // input | output
	Name    string `json:"name"` // "": a field without a name
	Type    string `json:"type"` // as the language writes it
	Comment string `json:"comment"`
}

// ProposedPointers are the pointers of a proposed program's sides: none where a
// side holds plain values, one where it is a series.
type ProposedPointers struct {
	Input  []string `json:"input"`
	Output []string `json:"output"`
}

// LeftOut is a column that a proposed program has no field for.
type LeftOut struct {
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// NewProposal is the body of POST /proposals: one complete upload that a program
// is to be proposed for. The answer is a stream as of POST …/studies.
type NewProposal struct {
	Uploads []string            `json:"uploads"`
	Output  []string            `json:"output,omitempty"`  // columns that are to be predicted
	Options map[string][]string `json:"options,omitempty"` // how to read the file, as of a feed
}

// Suspect is an example whose label looks wrong to models that had not seen it.
type Suspect struct {
	Number    int      `json:"number"`
	Says      string   `json:"says"`
	LooksLike string   `json:"looks_like"`
	Sure      *float64 `json:"sure"` // the probability of LooksLike; nil for numbers
}

// Study asks a question and waits for what is found; progress is told meanwhile.
// A stream that broke off is a *Lost.
func (c *Client) Study(ctx context.Context, user, name string, n NewStudy, progress func(StudyProgress)) (Findings, error) {
	return c.study(ctx, taskPath(user, name, "studies"), n, progress)
}

// Propose has a program proposed for an upload; see Study.
func (c *Client) Propose(ctx context.Context, n NewProposal, progress func(StudyProgress)) (Findings, error) {
	return c.study(ctx, prefix+"/proposals", n, progress)
}

func (c *Client) study(ctx context.Context, path string, body any, progress func(StudyProgress)) (found Findings, err error) {
	err = eachLine(ctx, c, path, body, func(line StudyLine) (bool, error) {
		switch {
		case line.Progress != nil:
			progress(*line.Progress)
		case line.Problem != nil:
			return true, line.Problem
		case line.Done != nil:
			found = *line.Done
			return true, nil
		}
		return false, nil
	})
	return found, err
}
