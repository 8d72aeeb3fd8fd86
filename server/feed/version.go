package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// Hash names a dataset version: SHA-256 over the canonical program, the
// target's kind and labels, and the sorted (example hash, part) of all
// examples that are on (DESIGN §3). An example whose label was corrected counts
// as its inputs with that label.
func Hash(program string, target trial.Target, examples []store.Example) string {
	h := sha256.New()
	field := func(s string) { fmt.Fprintf(h, "%d:%s\n", len(s), s) }
	field(program)
	field(target.Kind)
	if target.Numeric { // answered in another way
		field("numeric")
	}
	for _, l := range target.Labels {
		field(l)
	}
	on := make([]string, 0, len(examples))
	for _, e := range examples {
		if e.On {
			on = append(on, contentOf(e)+" "+e.Part)
		}
	}
	sort.Strings(on)
	for _, s := range on {
		io.WriteString(h, s+"\n")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func contentOf(e store.Example) string {
	if e.Fed == "" {
		return e.ExampleHash
	}
	h := sha256.Sum256([]byte(e.InputHash + " " + e.Label))
	return hex.EncodeToString(h[:])
}

// Count returns the parts of the examples that are on.
func Count(examples []store.Example) (parts trial.Parts, on, off int) {
	for _, e := range examples {
		if !e.On {
			off++
			continue
		}
		on++
		switch e.Part {
		case "train":
			parts.Train++
		case "validation":
			parts.Validation++
		case "test":
			parts.Test++
		}
	}
	return parts, on, off
}

// Protocol says how candidates are compared on these parts: on the validation
// part where there is one, else on 5 folds of the training part.
func Protocol(parts trial.Parts, folds *int) trial.Protocol {
	if folds != nil {
		return trial.Protocol{Kind: "folds", K: *folds}
	}
	if parts.Validation > 0 {
		return trial.Protocol{Kind: "holdout"}
	}
	return trial.Protocol{Kind: "folds", K: 5}
}

// Freeze lays out the folder of a dataset version: hard links to the
// examples of every feed, and index.arrow with number, part, whether each is
// on, and labels that were corrected. It is made whole or not at all; one that is there already stays.
func Freeze(folder string, feeds []string, examples []store.Example) error {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("make a version's folder: %w", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), ".new-*")
	if err != nil {
		return fmt.Errorf("make a version's folder: %w", err)
	}
	defer os.RemoveAll(fresh) // nothing is left of it after the rename
	for i, path := range feeds {
		if err := link(path, filepath.Join(fresh, fmt.Sprintf("examples-%06d.arrow", i))); err != nil {
			return fmt.Errorf("put a feed's examples into a version: %w", err)
		}
	}
	rows := make([]trial.DataRow, len(examples))
	for i, e := range examples {
		rows[i] = trial.DataRow{Number: int64(e.Number), Part: e.Part, On: e.On, Group: e.Group}
		if e.Fed != "" {
			rows[i].Label = e.Label
		}
	}
	if err := trial.WriteDataIndex(filepath.Join(fresh, trial.IndexFile), rows); err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	err = os.Rename(fresh, folder)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// link makes a hard link, or a copy where the file system has none.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
