package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/store"
)

// studyMemory bounds the private bytes of one study.
const studyMemory = 8 << 30

// judges is by how many candidates, each of another family, suspects are judged:
// what one family finds odd is often only odd to it.
const judges = 4

// Question asks for a study of a task's examples and its model.
type Question struct {
	Kind    string        // of trial.Study
	Example int           // of Explain: the number of an example, 0: none
	Sources []feed.Source // of Explain: one example that is none of the task's
	Options map[string][]string
}

// StudyProgress is how far a study is.
type StudyProgress struct {
	Step, Of float64
	Unit     string
}

// Study answers a question that takes some fits, on a service slot outside the
// pool. The same question about the same version and models is answered from
// what was found before. When ctx ends, the work does.
func (s *Service) Study(ctx context.Context, task store.Task, q Question, progress func(StudyProgress)) (findings json.RawMessage, err error) {
	var spec trial.Study
	if err := s.cfg.Store.Read(ctx, func(r *store.Reader) error {
		spec, err = study(r, task.ID, q)
		return err
	}); err != nil {
		return nil, err
	}
	for _, src := range q.Sources {
		path, err := s.cfg.Blobs.Path(src.SHA256)
		if err != nil {
			return nil, err
		}
		spec.Sources = append(spec.Sources, trial.Source{Name: src.Name, Path: path, SHA256: src.SHA256})
	}
	key := sha256.Sum256(encode(spec))
	return s.runStudy(ctx, filepath.Join(studiesOf(s.cfg.Root, task.ID), hex.EncodeToString(key[:12])), spec, progress)
}

func studiesOf(root, taskID string) string { return filepath.Join(root, "studies", taskID) }

// runStudy has the trainer answer a study, unless its folder is there already.
func (s *Service) runStudy(ctx context.Context, folder string, spec trial.Study, progress func(StudyProgress)) (findings json.RawMessage, err error) {
	if findings, err := trial.ReadFindings(folder); err == nil {
		return findings, nil
	}
	fresh := folder + "." + uuid.NewString()
	defer os.RemoveAll(fresh) // nothing is left of it after the rename
	if err := trial.CreateStudy(fresh, spec); err != nil {
		return nil, err
	}
	err = feed.RunFolder(ctx, s, engine.Job{Folder: fresh, Command: engine.Study, MemoryBytes: studyMemory, Threads: 1}, func(e trial.Event) {
		if e.Type == trial.EventProgress {
			progress(StudyProgress{Step: e.Step, Of: e.Of, Unit: e.Unit})
		}
	})
	if refusal, ok := errors.AsType[*feed.Refusal](err); ok {
		return nil, fromFeed(refusal)
	}
	if broken, ok := errors.AsType[*feed.Broken](err); ok {
		return nil, refuse(http.StatusInternalServerError, "", "It could not be found out: %s", broken.Message)
	}
	if err != nil {
		return nil, err
	}
	if findings, err = trial.ReadFindings(fresh); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, folder); err != nil && !errors.Is(err, os.ErrExist) {
		s.cfg.Log.Warn("what a study found could not be kept", "folder", folder, "error", err)
	}
	return findings, nil
}

// study is what the trainer is asked.
func study(r *store.Reader, taskID string, q Question) (spec trial.Study, err error) {
	task, err := r.TaskByID(taskID)
	if err != nil {
		return spec, err
	}
	if task.Version == 0 {
		return spec, refuse(http.StatusConflict, "Feed some first.", "%s has no examples yet.", task.Name)
	}
	row, err := r.SearchByID(task.SearchID)
	if err != nil {
		return spec, err
	}
	if row.Rows == 0 {
		return spec, refuse(http.StatusConflict, fmt.Sprintf("Switch some on: refine %s on all", task.Name), "No example of %s is on.", task.Name)
	}
	data := dataOf(row)
	spec = trial.Study{
		Kind: q.Kind, Program: programJSON(task.Program), Template: task.Template, Target: &trial.Target{}, Data: &data, Metric: row.Metric, Seed: int64(row.Seed), Threads: 1,
	}
	if err := json.Unmarshal(row.Target, spec.Target); err != nil {
		return spec, err
	}
	for name, values := range q.Options {
		if spec.Options == nil {
			spec.Options = map[string]json.RawMessage{}
		}
		spec.Options[name] = encode(values)
	}
	switch q.Kind {
	case trial.Explain, trial.Growth:
		if q.Example < 0 || q.Example >= task.NextExample {
			return spec, refuse(http.StatusUnprocessableEntity, fmt.Sprintf("There are 1 to %d.", task.NextExample-1), "%s has no example %d.", task.Name, q.Example)
		}
		spec.Example = int64(q.Example)
		return spec, ofServed(r, task, &spec)
	case trial.Suspects:
	default:
		return spec, refuse(http.StatusUnprocessableEntity, "", "There is no study %s.", q.Kind)
	}
	if spec.Candidates, err = judgesOf(r, task); err == nil && len(spec.Candidates) == 0 {
		err = refuse(http.StatusConflict, fmt.Sprintf("Wait for one: wait %s until final or 1m", task.Name), "%s has no model yet that could judge its labels.", task.Name)
	}
	return spec, err
}

// ofServed adds the model that answers, and its candidate.
func ofServed(r *store.Reader, task store.Task, spec *trial.Study) error {
	best, has := Served(task)
	if !has || best.Baseline {
		return refuse(http.StatusConflict, fmt.Sprintf("Wait for one: wait %s until final or 1m", task.Name), "%s has no real model yet.", task.Name)
	}
	tr, err := r.TrialByID(best.TrialID)
	if err != nil {
		return err
	}
	if tr.Model == "" {
		return refuse(http.StatusConflict, "", "The best model's files are gone; the next one that is as good will answer.")
	}
	c, err := candidateOf(r, tr)
	spec.Model, spec.Candidates = tr.Model, []trial.Choice{c.Choice()}
	return err
}

// judgesOf are the best light candidates of the newest version that has any,
// each of another family.
func judgesOf(r *store.Reader, task store.Task) ([]trial.Choice, error) {
	versions, err := r.Versions(task.ID)
	if err != nil {
		return nil, err
	}
	var list []trial.Choice
	for i := len(versions) - 1; i >= 0 && len(list) == 0; i-- {
		trials, err := r.FinishedTrials(versions[i].SearchID)
		if err != nil {
			return nil, err
		}
		rows, err := r.Candidates(versions[i].SearchID)
		if err != nil {
			return nil, err
		}
		objects := map[string]trial.Candidate{}
		for _, row := range rows {
			var c trial.Candidate
			if err := json.Unmarshal(row.Object, &c); err != nil {
				return nil, err
			}
			objects[row.ID] = c
		}
		families := map[string]bool{}
		for _, tr := range rank(trials) {
			c, known := objects[tr.Candidate]
			if !known || c.Baseline || deep(c) || families[c.Family] || len(list) == judges {
				continue
			}
			families[c.Family] = true
			list = append(list, c.Choice())
		}
	}
	return list, nil
}

// deep tells whether a candidate gains from a GPU.
func deep(c trial.Candidate) bool { return c.RunsOn("gpu") && len(c.Devices) > 0 }
