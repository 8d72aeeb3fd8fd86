package trial

import (
	"encoding/json"
	"path/filepath"
)

// Names of a study's files.
const (
	StudyFile    = "study.json"
	FindingsFile = "findings.json"
)

// Kinds of a Study.
const (
	Suspects = "suspects" // labels that look wrong to models that had not seen the example
	Explain  = "explain"  // what a model uses, or why it answers so for one example
	Growth   = "growth"   // what more examples would bring
	Propose  = "propose"  // a program for a file
)

// Study is study.json: a question about a version's examples and its model that takes a job to answer. No search
// uses what it finds. Of Propose only the sources and how to read them are set.
type Study struct {
	Format     int                        `json:"format"`
	Kind       string                     `json:"kind"`
	Program    json.RawMessage            `json:"program,omitempty"`
	Template   string                     `json:"template,omitempty"`
	Target     *Target                    `json:"target,omitempty"`
	Data       *Data                      `json:"data,omitempty"`
	Metric     string                     `json:"metric,omitempty"`
	Seed       int64                      `json:"seed"`
	Threads    int                        `json:"threads,omitempty"`
	Candidates []Choice                   `json:"candidates"` // to be fitted, the best first
	Model      string                     `json:"model,omitempty"`
	Example    int64                      `json:"example,omitempty"` // of Explain: the number of the example that is asked about
	Sources    []Source                   `json:"sources,omitempty"` // of Propose; of Explain: one example that is none of the task's
	Output     []string                   `json:"output,omitempty"`  // of Propose
	Options    map[string]json.RawMessage `json:"options,omitempty"` // how to read the sources
}

// CreateStudy makes the folder of one study; see Create.
func CreateStudy(folder string, s Study) error {
	s.Format = Format
	if s.Candidates == nil {
		s.Candidates = []Choice{}
	}
	return create(folder, StudyFile, s)
}

// ReadFindings reads findings.json as it stands; its keys depend on the study's kind.
func ReadFindings(folder string) (json.RawMessage, error) {
	var any struct{}
	return read(filepath.Join(folder, FindingsFile), &any)
}
