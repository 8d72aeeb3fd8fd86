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
)

// Study is study.json: a question about a version's examples and its model that takes some fits to answer. No search
// uses what it finds.
type Study struct {
	Format     int             `json:"format"`
	Kind       string          `json:"kind"`
	Program    json.RawMessage `json:"program"`
	Template   string          `json:"template"`
	Target     Target          `json:"target"`
	Data       Data            `json:"data"`
	Metric     string          `json:"metric"`
	Seed       int64           `json:"seed"`
	Threads    int             `json:"threads"`
	Candidates []Choice        `json:"candidates"` // to be fitted, the best first
	Model      string          `json:"model,omitempty"`
	Example    int64           `json:"example,omitempty"` // of Explain: the number of the example that is asked about
	Sources    []Source        `json:"sources,omitempty"` // of Explain: one example that is none of the task's
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
