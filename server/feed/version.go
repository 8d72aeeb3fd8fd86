package feed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// Examples are those of a task that a version is made of, by number. They can be
// gone through several times; an error is the last thing that is yielded.
type Examples iter.Seq2[store.Example, error]

// Sum is what a version is called and how many examples it has.
type Sum struct {
	Hash    string
	Parts   trial.Parts // of the examples that are on
	On, Off int
	// Learnable says whether there is anything to learn: two examples, and of classes two.
	Learnable bool
}

// SumOf names a dataset version: SHA-256 over the canonical program, the
// target's kind and labels, and the sorted (example hash, part) of all
// examples that are on (DESIGN §3). An example whose label was corrected counts
// as its inputs with that label. It takes 33 bytes of memory for each example.
func SumOf(program string, target trial.Target, examples Examples) (sum Sum, err error) {
	var on []content
	only := ""
	for e, err := range examples {
		if err != nil {
			return Sum{}, err
		}
		if !e.On {
			sum.Off++
			continue
		}
		if sum.On++; sum.On == 1 {
			only = e.Label
		} else if target.Kind != "classes" || e.Label != only {
			sum.Learnable = true
		}
		c, err := contentOf(e)
		if err != nil {
			return Sum{}, err
		}
		on = append(on, c)
		switch e.Part {
		case trial.Train:
			sum.Parts.Train++
		case trial.Validation:
			sum.Parts.Validation++
		case trial.Test:
			sum.Parts.Test++
		}
	}
	slices.SortFunc(on, func(a, b content) int {
		return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.part, b.part))
	})
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
	for _, c := range on {
		fmt.Fprintf(h, "%x %s\n", c.hash, sortedParts[c.part])
	}
	sum.Hash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return sum, nil
}

// content is what an example counts as in a version's name.
type content struct {
	hash [sha256.Size]byte
	part uint8 // place in sortedParts
}

// sortedParts are the parts' names as text sorts them.
var sortedParts = []string{trial.Test, trial.Train, trial.Validation}

func contentOf(e store.Example) (c content, err error) {
	part := slices.Index(sortedParts, e.Part)
	if part < 0 {
		return c, fmt.Errorf("example %d is in the part %q, which there is not", e.Number, e.Part)
	}
	c.part = uint8(part)
	if e.Fed != "" {
		c.hash = sha256.Sum256([]byte(e.InputHash + " " + e.Label))
		return c, nil
	}
	if n, err := hex.Decode(c.hash[:], []byte(e.ExampleHash)); err != nil || n != len(c.hash) {
		return c, fmt.Errorf("example %d has %q for a hash, which is no SHA-256", e.Number, e.ExampleHash)
	}
	return c, nil
}

// Protocol says how candidates are compared on these parts: on the validation
// part where it is a tenth or more of what isn't tested, else on 5 folds of both. (Of a
// task that has grown beyond the size from which there is one, it is small at first.)
func Protocol(parts trial.Parts, folds *int) trial.Protocol {
	if folds != nil {
		return trial.Protocol{Kind: "folds", K: *folds}
	}
	if parts.Validation > 0 && 10*parts.Validation >= parts.Train+parts.Validation {
		return trial.Protocol{Kind: "holdout"}
	}
	return trial.Protocol{Kind: "folds", K: 5}
}

// Freeze lays out the folder of a dataset version: hard links to the
// examples of every feed, and index.arrow with number, part, whether each is
// on, and labels that were corrected. It is made whole or not at all; one that is there already stays.
func Freeze(folder string, feeds []string, examples Examples) error {
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
	if err := trial.WriteDataIndex(filepath.Join(fresh, trial.IndexFile), func(yield func(trial.DataRow, error) bool) {
		for e, err := range examples {
			row := trial.DataRow{Number: int64(e.Number), Part: e.Part, On: e.On, Group: e.Group}
			if e.Fed != "" {
				row.Label = e.Label
			}
			if !yield(row, err) {
				return
			}
		}
	}); err != nil {
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
