package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/easeml/easeml/gpu/trial"
)

// Everything below runs the real trainer on scikit-learn's digits.

const digitsProgram = `{"input":{"fields":[{"name":"image","tensor":[8,8,1]}],"pointers":[]},"output":{"fields":[{"name":"digit","class_count":10}],"pointers":[]}}`

const makeDigits = `
import sys, numpy as np
from sklearn.datasets import load_digits
d = load_digits()
np.savez(sys.argv[1] + "/digits.npz", image=d.images[:600, :, :, None], digit=d.target[:600])
np.savez(sys.argv[1] + "/new.npz", image=d.images[600:640, :, :, None])
`

// checkSchema reads pairs of a schema and a file; a file of lines has one document a line.
const checkSchema = `
import sys, json, jsonschema
for schema, path in zip(sys.argv[1::2], sys.argv[2::2]):
    text = open(path).read()
    check = jsonschema.Draft202012Validator(json.load(open(schema)))
    for document in map(json.loads, text.splitlines() if path.endswith("l") else [text]):
        for error in check.iter_errors(document):
            sys.exit(f"{path}: {error.message} at {list(error.path)}")
`

func realPython(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no Python environment in .venv (make env), so the real trainer is not run")
	}
	if out, err := exec.Command(path, "-m", "easeml.trainer", "catalogue").CombinedOutput(); err != nil {
		t.Fatalf("the trainer does not run: %v: %s", err, out)
	}
	return path
}

func script(t *testing.T, python, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(python, append([]string{"-c", program}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func follows(t *testing.T, python string, files ...string) {
	t.Helper()
	var args []string
	for i := 0; i < len(files); i += 2 {
		args = append(args, filepath.Join("..", "trial", "schemas", files[i]+".schema.json"), files[i+1])
	}
	script(t, python, checkSchema, args...)
}

// digits ingests the data and makes the folder of a version.
type digits struct {
	*bench
	python  string
	profile trial.Profile
	raw     []byte
	index   []trial.IndexRow
	data    trial.Data
}

func (d *digits) ingest(known *string) string {
	d.t.Helper()
	folder := filepath.Join(d.root, "feeds", "1")
	if known != nil {
		folder = filepath.Join(d.root, "feeds", "2")
	}
	err := trial.CreateIngest(folder, trial.Ingest{Program: json.RawMessage(digitsProgram), Template: "image_classification",
		Sources: []trial.Source{{Name: "digits.npz", Path: filepath.Join(d.root, "digits.npz")}}, Known: known, FirstNumber: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.Start(context.Background(), Job{Folder: folder, Command: Ingest, Threads: 1}); err != nil {
		d.t.Fatal(err)
	}
	if n := d.next(folder, Ended); n.Code != 0 || n.Cause != "" {
		log, _ := trial.LogTail(folder, 4000)
		d.t.Fatalf("ingest ended as %+v, log %s", n, log)
	}
	return folder
}

func (d *digits) prepare() {
	d.t.Helper()
	script(d.t, d.python, makeDigits, d.root)
	folder := d.ingest(nil)
	var err error
	if d.profile, err = trial.ReadProfile(folder); err != nil {
		d.t.Fatal(err)
	}
	if d.raw, err = os.ReadFile(filepath.Join(folder, trial.ProfileFile)); err != nil {
		d.t.Fatal(err)
	}
	for row, err := range trial.Index(filepath.Join(folder, trial.IndexFile)) {
		if err != nil {
			d.t.Fatal(err)
		}
		d.index = append(d.index, row)
	}
	rejects, err := trial.ReadRejects(filepath.Join(folder, trial.RejectsFile))
	if err != nil || len(rejects) != 0 {
		d.t.Errorf("rejects: %v %v", rejects, err)
	}
	follows(d.t, d.python, "ingest", filepath.Join(folder, trial.IngestFile), "profile", filepath.Join(folder, trial.ProfileFile),
		"events", filepath.Join(folder, trial.EventsFile))
	d.data = trial.Data{Version: "sha256:1", Path: filepath.Join(d.root, "data"), Rows: d.profile.Rows, Parts: d.profile.Parts, Protocol: d.profile.Protocol}
	if err := os.MkdirAll(d.data.Path, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Link(filepath.Join(folder, trial.ExamplesFile), filepath.Join(d.data.Path, "examples-1.arrow")); err != nil {
		d.t.Fatal(err)
	}
	if err := trial.WriteDataIndex(filepath.Join(d.data.Path, trial.IndexFile), func(yield func(trial.DataRow, error) bool) {
		for _, r := range d.index {
			if !yield(trial.DataRow{Number: r.Number, Part: r.Part, On: true}, nil) {
				return
			}
		}
	}); err != nil {
		d.t.Fatal(err)
	}
}

// attempt makes a folder for a candidate; settings over its own may be given.
func (d *digits) attempt(name string, c trial.Candidate, settings string) string {
	d.t.Helper()
	choice := c.Choice()
	if settings != "" {
		choice.Settings = json.RawMessage(settings)
	}
	folder := filepath.Join(d.root, "trials", name)
	err := trial.Create(folder, trial.Trial{Trial: name, Attempt: 1, Program: json.RawMessage(digitsProgram), Template: "image_classification",
		Target: d.profile.Target, Candidate: choice, Data: d.data, Metric: d.profile.Metric.Name,
		Limits: trial.Limits{Threads: 1}, Device: trial.Device{Class: "cpu1"}, ReportSeconds: 0.1})
	if err != nil {
		d.t.Fatal(err)
	}
	return folder
}

func (d *digits) run(folder string, memory int64) {
	d.t.Helper()
	job := Job{Folder: folder, Command: Run, Env: map[string]string{"CUDA_VISIBLE_DEVICES": ""}, Threads: 1, MemoryBytes: memory}
	if err := d.Start(context.Background(), job); err != nil {
		d.t.Fatal(err)
	}
}

// untilProgress waits until an attempt is at work.
func (d *digits) untilProgress(folder string) {
	d.t.Helper()
	for {
		d.next(folder, Event)
		events, _, err := trial.ReadEvents(folder, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		if slices.ContainsFunc(events, func(e trial.Event) bool { return e.Type == trial.EventProgress }) {
			return
		}
	}
}

const endless = `{"layers":[64],"rate":0.002,"epochs":10000000,"decay":0.0001}`

func TestRealTrainer(t *testing.T) {
	python := realPython(t)
	d := &digits{bench: newBench(t, Options{Python: python}), python: python}
	d.prepare() // cold: the warm parent is still importing

	if p := d.profile; p.Examples.Accepted != 600 || p.Rows != 600 || p.Target == nil || len(p.Target.Labels) != 10 || p.Metric.Name == "" {
		t.Fatalf("profile: %+v", p)
	}
	if len(d.index) != 600 || d.index[0].Number != 1 || len(d.index[0].ExampleHash) != 64 || d.index[599].Row != 599 {
		t.Fatalf("index: %d rows, %+v", len(d.index), d.index[:1])
	}
	list, err := Candidates(context.Background(), python, []byte(digitsProgram), d.raw, "image_classification")
	if err != nil || len(list) < 5 {
		t.Fatalf("candidates: %d %v", len(list), err)
	}
	byID := map[string]trial.Candidate{}
	var lines bytes.Buffer
	for _, c := range list {
		byID[c.ID] = c
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(b, '\n'))
	}
	printed := filepath.Join(d.root, "candidates.jsonl")
	if err := os.WriteFile(printed, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	follows(t, python, "candidate", printed)
	svm, mlp := byID["svm-rbf.c10"], byID["mlp.64"]
	if svm.Family != "svm" || !mlp.Iterative {
		t.Fatalf("candidates: %+v %+v", svm, mlp)
	}
	d.untilWarm()
	var best string

	t.Run("a trial", func(t *testing.T) {
		best = d.attempt("svm", svm, "")
		d.run(best, 0)
		started, ended := d.next(best, Started), d.next(best, Ended)
		if !started.Warm || ended.Code != 0 || ended.Cause != "" || ended.PeakBytes == 0 {
			log, _ := trial.LogTail(best, 4000)
			t.Fatalf("%+v %+v, log %s", started, ended, log)
		}
		r, there, err := trial.ReadResult(best)
		if err != nil || !there || r.Outcome != trial.OK || !(r.Quality > 0.9) || r.Model == nil || r.Test == nil {
			t.Fatalf("result: %+v %v %v", r, there, err)
		}
		follows(t, python, "trial", filepath.Join(best, trial.TrialFile), "result", filepath.Join(best, trial.ResultFile),
			"events", filepath.Join(best, trial.EventsFile))
		held, err := trial.ReadPredictions(filepath.Join(best, r.Predictions))
		want := d.data.Parts.Train // so few are judged in folds
		if err != nil || d.data.Protocol.Kind != "folds" || int64(len(held)) != want {
			t.Fatalf("predictions: %d of %d, %+v, %v", len(held), want, d.data.Protocol, err)
		}
		right := 0
		for _, p := range held {
			if p.Truth.Label == p.Prediction.Label {
				right++
			}
			if len(p.Probabilities) != 10 {
				t.Fatalf("%d probabilities of 10 classes", len(p.Probabilities))
			}
		}
		if share := float64(right) / float64(len(held)); r.Metrics["accuracy"] != trial.Number(share) {
			t.Errorf("accuracy %v, by the predictions %v", r.Metrics["accuracy"], share)
		}
	})

	t.Run("the same files again", func(t *testing.T) {
		known := filepath.Join(d.root, "known.arrow")
		if err := trial.WriteKnown(known, func(yield func(trial.KnownRow, error) bool) {
			for _, r := range d.index {
				if !yield(trial.KnownRow{Number: r.Number, ExampleHash: r.ExampleHash, InputHash: r.InputHash, Label: r.Label, Part: r.Part, On: true, Group: r.Group}, nil) {
					return
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		p, err := trial.ReadProfile(d.ingest(&known))
		if err != nil || p.Examples.Accepted != 0 || p.Examples.Known != 600 || p.Rows != 600 {
			t.Errorf("profile: %+v %v", p.Examples, err)
		}
	})

	t.Run("stop", func(t *testing.T) {
		folder := d.attempt("stop", mlp, endless)
		d.run(folder, 0)
		d.untilProgress(folder)
		if err := trial.SetControl(folder, trial.Stop); err != nil {
			t.Fatal(err)
		}
		if err := d.Signal(folder, "USR1"); err != nil {
			t.Fatal(err)
		}
		if n := d.next(folder, Ended); n.Code != 0 || n.Cause != "" {
			t.Errorf("ended: %+v", n)
		}
		r, there, err := trial.ReadResult(folder)
		events, _, _ := trial.ReadEvents(folder, 0)
		if err != nil || !there || !r.Quality.Finite() || len(r.Curve) == 0 || events[len(events)-1].Reason != "stopped" {
			t.Errorf("result: %+v %v %v; last event %+v", r, there, err, events[len(events)-1])
		}
	})

	t.Run("kill", func(t *testing.T) {
		folder := d.attempt("kill", mlp, endless)
		d.run(folder, 0)
		pid := d.next(folder, Started).PID
		d.untilProgress(folder)
		if err := d.Signal(folder, "KILL"); err != nil {
			t.Fatal(err)
		}
		if n := d.next(folder, Ended); n.Signal != "KILL" || n.Cause != "" {
			t.Errorf("ended: %+v", n)
		}
		if alive(pid) {
			t.Error("it lives on")
		}
	})

	t.Run("memory", func(t *testing.T) {
		folder := d.attempt("memory", mlp, endless)
		d.run(folder, 4<<20)
		if n := d.next(folder, Ended); n.Cause != trial.CauseMemory || n.PeakBytes <= 4<<20 {
			t.Errorf("ended: %+v", n)
		}
	})

	t.Run("answers", func(t *testing.T) {
		p, err := OpenPredictor(context.Background(), python, filepath.Join(best, trial.ModelFolder), filepath.Join(d.root, "predict.log"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		out := filepath.Join(d.root, "answers.ndjson")
		done, err := p.Answer(context.Background(), trial.Request{Out: out,
			Sources: []trial.Source{{Name: "new.npz", Path: filepath.Join(d.root, "new.npz")}}})
		if err != nil || done.Answers != 40 || done.Refused != 0 {
			t.Fatalf("answers: %+v %v", done, err)
		}
		if b, err := os.ReadFile(out); err != nil || bytes.Count(b, []byte("\n")) != 40 {
			t.Errorf("%d lines, %v", bytes.Count(b, []byte("\n")), err)
		}
		_, err = p.Answer(context.Background(), trial.Request{Out: out, Sources: []trial.Source{{Name: "lost.npz", Path: filepath.Join(d.root, "lost.npz")}}})
		if err == nil || strings.Contains(err.Error(), "gave no reason") {
			t.Errorf("a missing file: %v", err)
		}
		r, _, _ := trial.ReadResult(best)
		scored, err := p.Rescore(context.Background(), trial.Rescore{Data: d.data, Metric: d.profile.Metric.Name})
		if err != nil || scored.Validation == nil || scored.Test == nil || scored.Validation.Quality != r.Quality || scored.Test.Quality != r.Test.Quality {
			t.Errorf("rescored: %+v %v, was %v", scored, err, r.Quality)
		}
		if _, err := OpenPredictor(context.Background(), python, d.root, filepath.Join(d.root, "predict.log")); err == nil || !strings.Contains(err.Error(), "There is no model") {
			t.Errorf("no model: %v", err)
		}
	})

	t.Run("the warm parent is killed", func(t *testing.T) {
		folder := d.attempt("lost", mlp, endless)
		d.run(folder, 0)
		pid := d.next(folder, Started).PID
		d.untilProgress(folder)
		if err := syscall.Kill(d.Warm().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if n := d.next(folder, Ended); n.Cause != trial.CauseLost {
			t.Errorf("ended: %+v", n)
		}
		if alive(pid) {
			t.Error("its child lives on")
		}
	})

	t.Run("the server is killed", func(t *testing.T) {
		if testing.Short() {
			t.Skip("a second warm parent takes its time")
		}
		root := filepath.Join(d.root, "server")
		for _, name := range []string{"cold", "warm"} {
			if err := os.Rename(d.attempt(name, mlp, endless), filepath.Join(mkdir(t, root), name)); err != nil {
				t.Fatal(err)
			}
		}
		server := exec.Command(os.Args[0])
		server.Env = append(os.Environ(), "ENGINE_TEST_SERVER="+root, "ENGINE_TEST_PYTHON="+python)
		server.Stderr = os.Stderr
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "both folders are at work", func() bool {
			for _, name := range []string{"cold", "warm"} {
				events, _, _ := trial.ReadEvents(filepath.Join(root, name), 0)
				if !slices.ContainsFunc(events, func(e trial.Event) bool { return e.Type == trial.EventProgress }) {
					return false
				}
			}
			return true
		})
		mark, err := readMark(root)
		if err != nil || len(marked(mark)) < 3 {
			t.Errorf("%v run, %v", marked(mark), err)
		}
		if err := server.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		server.Wait()
		until(t, "no process is left", func() bool { return len(marked(mark)) == 0 })
		if killed, err := Sweep(root); err != nil || killed != nil {
			t.Errorf("something was left for Sweep: %v %v", killed, err)
		}
	})
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
