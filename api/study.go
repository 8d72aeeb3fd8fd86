package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// NewStudy is the body of POST …/studies: a question about a task's examples or
// its model that takes some fits to answer. The answer is a stream of NDJSON:
// lines with progress, then one with what was found.
type NewStudy struct {
	Kind string `json:"kind"` // suspects
}

// StudySuspects asks which labels look wrong.
const StudySuspects = "suspects"

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

	Says     string          `json:"says,omitempty"`     // a proposal: what was seen
	Predicts string          `json:"predicts,omitempty"` // what is to be predicted: "species, 3 classes"
	Guess    string          `json:"guess,omitempty"`
	Fields   []ProposedField `json:"fields,omitempty"`
	LeftOut  []LeftOut       `json:"left_out,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	Clauses  []string        `json:"clauses,omitempty"` // to be said at feed: "with group = patient_id"
}

// ProposedField is a field of a proposed program.
type ProposedField struct {
	Side    string `json:"side"` // input | output
	Name    string `json:"name"` // "": a field without a name
	Type    string `json:"type"` // as the language writes it
	Comment string `json:"comment"`
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

func (c *Client) study(ctx context.Context, path string, body any, progress func(StudyProgress)) (Findings, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.send(ctx, request{method: http.MethodPost, path: path, body: body, accept: NDJSONType})
	if err != nil {
		return Findings{}, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		text := lines.Bytes()
		if len(text) == 0 {
			continue // the server shows that it is there
		}
		var line StudyLine
		if err := json.Unmarshal(text, &line); err != nil {
			return Findings{}, &Problem{Status: answer.StatusCode, Detail: fmt.Sprintf("%s sent an answer that can't be read (%s).", c.base, err)}
		}
		switch {
		case line.Progress != nil:
			progress(*line.Progress)
		case line.Problem != nil:
			return Findings{}, line.Problem
		case line.Done != nil:
			return *line.Done, nil
		}
	}
	if err = lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return Findings{}, c.lost(ctx, err)
}
