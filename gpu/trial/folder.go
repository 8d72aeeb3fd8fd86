package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Format is the version of the files that this package reads and writes.
const Format = 1

// Names of the files in a folder.
const (
	TrialFile       = "trial.json"
	IngestFile      = "ingest.json"
	EventsFile      = "events.jsonl"
	ResultFile      = "result.json"
	ProfileFile     = "profile.json"
	ControlFile     = "control"
	LogFile         = "log.txt"
	PredictionsFile = "predictions.arrow"
	ExamplesFile    = "examples.arrow"
	IndexFile       = "index.arrow"
	RejectsFile     = "rejects.arrow"
	ModelFolder     = "model"
	CheckpointDir   = "checkpoint"
)

// ErrFormat is what a file of a higher format gives: the trainer is newer than this server.
var ErrFormat = errors.New("made by a newer easeml")

// Words of the control file.
const (
	Stop  = "stop"  // finish now, the best so far counts
	Pause = "pause" // checkpoint and leave
)

// Create makes the folder of one attempt, with its parents, and puts trial.json into it by rename. It sets Format. A
// folder that already has a trial.json is an error: one folder is one attempt.
func Create(folder string, t Trial) error {
	t.Format = Format
	return create(folder, TrialFile, t)
}

// CreateIngest makes the folder of one ingest; see Create.
func CreateIngest(folder string, in Ingest) error {
	in.Format = Format
	return create(folder, IngestFile, in)
}

func create(folder, name string, content any) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of an attempt: %w", err)
	}
	path := filepath.Join(folder, name)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	b, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return replace(path, append(b, '\n'))
}

// replace writes a file so that readers see the old one or the whole new one, also after a power cut.
func replace(path string, content []byte) error {
	return replaceBy(path, func(f *os.File) error {
		if _, err := f.Write(content); err != nil {
			return err
		}
		return f.Sync()
	})
}

// replaceBy puts a file there by rename, once write has filled it.
func replaceBy(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // gone after the rename
	err = errors.Join(f.Chmod(0o644), write(f))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// SetControl tells a running attempt to Stop or Pause. The trainer looks at its next step, or at once on SIGUSR1.
func SetControl(folder, word string) error {
	if word != Stop && word != Pause {
		return fmt.Errorf("control has no word %q, only %q and %q", word, Stop, Pause)
	}
	return replace(filepath.Join(folder, ControlFile), []byte(word+"\n"))
}

// ReadTrial reads back a folder's trial.json.
func ReadTrial(folder string) (Trial, error) {
	var t Trial
	_, err := read(filepath.Join(folder, TrialFile), &t)
	return t, err
}

// ReadResult reads result.json. False without an error means that there is none: the attempt has not finished, or
// ended without a result.
func ReadResult(folder string) (Result, bool, error) {
	var r Result
	_, err := read(filepath.Join(folder, ResultFile), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, false, nil
	}
	return r, err == nil, err
}

// ReadProfile reads what an ingest found out about the data.
func ReadProfile(folder string) (Profile, error) {
	var p Profile
	_, err := read(filepath.Join(folder, ProfileFile), &p)
	return p, err
}

// read decodes a JSON file into v and returns its bytes. A higher format is ErrFormat.
func read(path string, v any) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := checkFormat(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return b, nil
}

func checkFormat(b []byte) error {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if head.Format > Format {
		return fmt.Errorf("has format %d, this server reads up to %d: %w", head.Format, Format, ErrFormat)
	}
	return nil
}

// LogTail reads the last n bytes of the folder's log.txt, for Classify and for people. No log is an empty one.
func LogTail(folder string, n int64) (string, error) {
	f, err := os.Open(filepath.Join(folder, LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-n, 0)
	b := make([]byte, info.Size()-from)
	k, err := f.ReadAt(b, from)
	if k == len(b) {
		err = nil
	}
	return string(b[:k]), err
}
