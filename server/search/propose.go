package search

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/feed"
)

// Propose looks at a file, on a service slot, and proposes a program for it:
// findings.json in the trainer's form. Nothing is declared, and nothing kept.
func (s *Service) Propose(ctx context.Context, sources []feed.Source, output []string, options map[string][]string, progress func(StudyProgress)) (json.RawMessage, error) {
	if len(sources) != 1 {
		return nil, refuse(http.StatusUnprocessableEntity, "", "A program is proposed for one file or folder, not for %d.", len(sources))
	}
	spec := trial.Study{Kind: trial.Propose, Output: output, Options: map[string]json.RawMessage{}}
	for _, src := range sources {
		path, err := s.cfg.Blobs.Path(src.SHA256)
		if err != nil {
			return nil, err
		}
		spec.Sources = append(spec.Sources, trial.Source{Name: src.Name, Path: path, SHA256: src.SHA256})
	}
	for name, values := range options {
		spec.Options[name] = encode(values)
	}
	folder := filepath.Join(studiesOf(s.cfg.Root, "proposals"), uuid.NewString())
	defer removeFolders(folder)
	return s.runStudy(ctx, folder, spec, progress)
}
