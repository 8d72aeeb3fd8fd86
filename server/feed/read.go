package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
)

// Runner runs one folder to its end on a service slot, outside the pool that
// the allocator shares out. Nudge is called whenever the folder may have new
// events.
type Runner interface {
	RunService(ctx context.Context, job engine.Job, nudge func()) (engine.Notice, error)
}

// Source is a file of a feed: the name that its owner knows it by, and its blob.
type Source struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Path   string `json:"-"`
}

// Job is one feed to be read.
type Job struct {
	Folder      string          // made by Read
	Program     json.RawMessage // as package schema prints it
	Template    string
	Target      *trial.Target // nil: the first feed settles it
	Sources     []Source
	Output      []string
	Using       map[string]string
	Options     map[string][]string
	Known       Examples // everything accepted before; nil: nothing was
	FirstNumber int
	Folds       *int
	Test        *float64
	Metric      string // the one that was asked for; empty: the ingest proposes one
}

// Progress of a running feed.
type Progress struct {
	Phase string
	Rows  int64
	Of    int64
}

// Batch is what a feed brought.
type Batch struct {
	Index    string // path of index.arrow, empty when nothing was accepted
	Rejects  []trial.Reject
	Profile  trial.Profile
	Raw      json.RawMessage // profile.json as it stands
	Examples string          // path of examples.arrow, empty when nothing was accepted
	Seconds  float64
}

// Refusal is a feed that could not be read at all: nothing was accepted.
type Refusal struct {
	Message string
	Hint    string
	Where   *trial.Where
}

func (r *Refusal) Error() string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + " " + r.Hint
}

// ingestMemory bounds the private bytes of one ingest: readers stream, so a
// process that needs more is going wrong and must not take the server along.
const ingestMemory = 8 << 30

// Read runs the trainer's ingest in job.Folder and waits for its end. It
// returns a *Refusal when the files as a whole can't be taken.
func Read(ctx context.Context, run Runner, job Job, progress func(Progress)) (*Batch, error) {
	begun := time.Now()
	if err := os.RemoveAll(job.Folder); err != nil { // a former server died while it read this feed
		return nil, fmt.Errorf("clear a feed's folder: %w", err)
	}
	if err := os.MkdirAll(job.Folder, 0o755); err != nil {
		return nil, fmt.Errorf("make a feed's folder: %w", err)
	}
	spec, err := specOf(job)
	if err != nil {
		return nil, err
	}
	if err := trial.CreateIngest(job.Folder, spec); err != nil {
		return nil, err
	}
	phase := ""
	err = RunFolder(ctx, run, engine.Job{Folder: job.Folder, Command: "ingest", MemoryBytes: ingestMemory, Threads: 1}, func(e trial.Event) {
		switch e.Type {
		case trial.EventPhase:
			phase = e.Name
			progress(Progress{Phase: phase})
		case trial.EventProgress:
			progress(Progress{Phase: phase, Rows: int64(e.Step), Of: int64(e.Of)})
		}
	})
	if broken, ok := errors.AsType[*Broken](err); ok {
		return nil, &Refusal{Message: "The files could not be read: " + broken.Message}
	}
	if err != nil {
		return nil, err
	}
	return collect(job, time.Since(begun).Seconds())
}

func specOf(job Job) (trial.Ingest, error) {
	in := trial.Ingest{
		Program: job.Program, Template: job.Template, Target: job.Target, Output: job.Output,
		Using: map[string]json.RawMessage{}, Options: map[string]json.RawMessage{},
		FirstNumber: int64(job.FirstNumber), Folds: job.Folds, Test: job.Test, Metric: job.Metric,
	}
	for _, s := range job.Sources {
		in.Sources = append(in.Sources, trial.Source{Name: s.Name, Path: s.Path, SHA256: s.SHA256})
	}
	for field, column := range job.Using {
		in.Using[field], _ = json.Marshal(column)
	}
	for name, values := range job.Options {
		if len(values) == 1 {
			in.Options[name], _ = json.Marshal(values[0])
		} else {
			in.Options[name], _ = json.Marshal(values)
		}
	}
	if job.Known == nil {
		return in, nil
	}
	known := filepath.Join(job.Folder, "known.arrow")
	if err := trial.WriteKnown(known, func(yield func(trial.KnownRow, error) bool) {
		for e, err := range job.Known {
			if !yield(trial.KnownRow{Number: int64(e.Number), ExampleHash: e.ExampleHash, InputHash: e.InputHash, Group: e.Group, Label: e.Label,
				Part: e.Part, On: e.On, Source: e.Source, Corrected: e.Fed != ""}, err) {
				return
			}
		}
	}); err != nil {
		return in, err
	}
	in.Known = &known
	return in, nil
}

func collect(job Job, seconds float64) (*Batch, error) {
	b := &Batch{Seconds: seconds}
	var err error
	if b.Profile, err = trial.ReadProfile(job.Folder); err != nil {
		return nil, err
	}
	if b.Raw, err = os.ReadFile(filepath.Join(job.Folder, trial.ProfileFile)); err != nil {
		return nil, err
	}
	if b.Rejects, err = trial.ReadRejects(filepath.Join(job.Folder, trial.RejectsFile)); err != nil {
		return nil, err
	}
	if b.Profile.Examples.Accepted == 0 {
		return b, nil
	}
	b.Examples = filepath.Join(job.Folder, trial.ExamplesFile)
	b.Index = filepath.Join(job.Folder, trial.IndexFile)
	return b, nil
}
