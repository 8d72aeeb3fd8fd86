package cells

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
)

const (
	// mostSent bounds what one statement sends, so that a slip such as "/" ends soon.
	mostSent = 500_000
	// looked is how much of a table is read to see whether it names pictures.
	looked = 64 << 10
)

// isPicture and isTable tell by a name's ending what the trainer reads.
func isPicture(name string) bool { return hasEnding(name, ".png", ".jpg", ".jpeg") }
func isTable(name string) bool   { return hasEnding(name, ".csv", ".tsv", ".tab") }

func hasEnding(name string, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(path.Ext(name)))
}

// gathered is what a folder or a pattern brings together to be sent as one tar.
type gathered struct {
	files []api.TarFile
	left  []string // files that are neither pictures nor tables
}

// folder is the source of a folder: its pictures and tables, in all folders below.
func (c *cell) folder(ctx context.Context, s lang.Source, root string) (source, error) {
	var g gathered
	if err := g.walk(ctx, root, "", true); err != nil {
		return source{}, c.unread(s, err)
	}
	name := strings.TrimRight(filepath.ToSlash(s.Text), "/") + "/"
	if !slices.ContainsFunc(g.files, func(f api.TarFile) bool { return isPicture(f.Name) }) {
		return source{}, noPictures(name, g).at(s.Span)
	}
	return c.packed(s, name, g)
}

// table is the source of a table whose cells name pictures beside it: the table
// and those pictures as one tar. False where it is a table like any other.
func (c *cell) table(ctx context.Context, s lang.Source, file string, size int64) (source, bool, error) {
	root := filepath.Dir(file)
	if !isTable(file) || !namesPictures(file) {
		return source{}, false, nil
	}
	var g gathered
	if err := g.walk(ctx, root, "", false); err != nil {
		return source{}, false, c.unread(s, err)
	}
	g.files = append(g.files, api.TarFile{Name: filepath.Base(file), Path: file, Size: size})
	g.left = nil
	out, err := c.packed(s, filepath.ToSlash(s.Text), g)
	return out, err == nil, err
}

// pictures is the source of pictures that a pattern, or one name, stands for.
// They keep the paths that the cell gives them, so that a folder stays a class.
func (c *cell) pictures(ctx context.Context, s lang.Source, paths []string) (source, error) {
	var g gathered
	for _, p := range paths {
		name := c.shortened(s, p)
		info, err := os.Stat(p)
		if err != nil {
			return source{}, c.unread(s, err)
		}
		if info.IsDir() {
			err = g.walk(ctx, p, name, false)
		} else {
			g.files = append(g.files, api.TarFile{Name: name, Path: p, Size: info.Size()})
		}
		if err != nil {
			return source{}, c.unread(s, err)
		}
	}
	if len(g.files) == 0 {
		return source{}, noPictures(filepath.ToSlash(s.Text), g).at(s.Span)
	}
	return c.packed(s, filepath.ToSlash(s.Text), g)
}

// shortened is a path as it stands in the tar of a pattern: as the cell names it
// where that stays within the notebook's folder, else from the last folder on.
func (c *cell) shortened(s lang.Source, p string) string {
	if !filepath.IsAbs(filepath.FromSlash(s.Text)) && !strings.HasPrefix(s.Text, "~/") {
		if rel, err := filepath.Rel(c.config.Folder, p); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	fixed := filepath.Dir(c.resolve(s.Text))
	for strings.ContainsAny(fixed, "*?[") {
		fixed = filepath.Dir(fixed)
	}
	if rel, err := filepath.Rel(filepath.Dir(fixed), p); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(p)
}

// packed lays the tar out.
func (c *cell) packed(s lang.Source, name string, g gathered) (source, error) {
	t, err := api.NewTar(g.files)
	if err != nil {
		return source{}, fail(fileError, fmt.Sprintf("%s can't be sent: %s.", s.Text, err), "").at(s.Span)
	}
	out := source{name: name, tar: t, size: t.Size()}
	if n := len(g.left); n > 0 {
		some := g.left
		if n > 3 {
			some = append(slices.Clone(g.left[:3]), "…")
		}
		noun := "files that are no PNG or JPEG pictures were"
		if n == 1 {
			noun = "file that is no PNG or JPEG picture was"
		}
		out.note = fmt.Sprintf("%s: %d %s not sent (%s)", name, n, noun, strings.Join(some, ", "))
	}
	return out, nil
}

var errMany = errors.New("it holds too many files")

// walk gathers the pictures below root, and the tables if asked for, under a
// prefix. What begins with a dot is left alone; links to files are followed,
// links to folders aren't.
func (g *gathered) walk(ctx context.Context, root, prefix string, tables bool) error {
	root, err := filepath.EvalSymlinks(root) // a link to a folder that the cell names is meant
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := e.Name()
		if p != root && (strings.HasPrefix(name, ".") || name == "__MACOSX") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = path.Join(prefix, filepath.ToSlash(rel))
		if !isPicture(name) && !(tables && isTable(name)) {
			if e.Type().IsRegular() && !hasEnding(name, ".db", ".ini") {
				g.left = append(g.left, rel)
			}
			return nil
		}
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		if len(g.files) == mostSent {
			return errMany
		}
		g.files = append(g.files, api.TarFile{Name: rel, Path: p, Size: info.Size()})
		return nil
	})
}

// unread says why a folder can't be read.
func (c *cell) unread(s lang.Source, err error) error {
	switch {
	case errors.Is(err, errMany):
		return fail(fileError, fmt.Sprintf("%s holds more than %d files.", s.Text, mostSent), "Feed it in several parts.").at(s.Span)
	case errors.Is(err, context.Canceled):
		return err
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fail(noSuchFile, fmt.Sprintf("%s can't be read: %s.", filepath.ToSlash(p.Path), p.Err), "").at(s.Span)
	}
	return err
}

// noPictures says what is there instead of pictures.
func noPictures(name string, g gathered) *problem {
	text := name + " holds no PNG or JPEG pictures."
	counts, most := map[string]int{}, ""
	for _, f := range g.left {
		if ending := strings.ToLower(path.Ext(f)); ending != "" {
			if counts[ending]++; counts[ending] > counts[most] || counts[ending] == counts[most] && ending < most {
				most = ending
			}
		}
	}
	if len(g.files) > 0 { // tables
		return fail(noSuchFile, text, fmt.Sprintf("Name its files, or a pattern such as %q.", strings.TrimRight(name, `/\`)+"/*"+path.Ext(g.files[0].Name)))
	}
	if hasEnding(most, ".npz", ".json", ".jsonl", ".ndjson", ".txt") {
		return fail(noSuchFile, text, fmt.Sprintf("Name its files, or a pattern such as %q.", strings.TrimRight(name, `/\`)+"/*"+most))
	}
	if most != "" {
		noun := "files"
		if counts[most] == 1 {
			noun = "file"
		}
		return fail(noSuchFile, fmt.Sprintf("%s holds no PNG or JPEG pictures; it has %d %s %s.", name, counts[most], most, noun), "Save them as PNG.")
	}
	return fail(noSuchFile, text, "")
}

// namesPictures tells whether a cell in the first rows of a table is the path of
// a picture beside it. Which sign separates columns is the trainer's to find out.
func namesPictures(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	lines, read := bufio.NewScanner(f), 0
	for rows := 0; rows < 20 && read < looked && lines.Scan(); rows++ {
		read += len(lines.Bytes())
		for _, cell := range strings.FieldsFunc(lines.Text(), func(r rune) bool { return strings.ContainsRune(",;\t|", r) }) {
			cell = filepath.FromSlash(strings.ReplaceAll(strings.Trim(strings.TrimSpace(cell), `"`), `\`, "/"))
			if !isPicture(cell) || !filepath.IsLocal(cell) {
				continue
			}
			if info, err := os.Stat(filepath.Join(filepath.Dir(file), cell)); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}
