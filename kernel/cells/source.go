package cells

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// thisCell is what examples written into a cell are called.
const thisCell = "this cell"

// source is one thing to send: a file, the text of a cell, or files as one tar.
type source struct {
	name  string // as messages call it: the path as the person writes it
	path  string // of a file
	text  []byte
	tar   *api.Tar
	size  int64
	notes []string // what is not sent of it, for the answer
}

// sources looks up what a statement names, all of it before anything is sent.
func (c *cell) sources(ctx context.Context, list []lang.Source) ([]source, error) {
	var out []source
	cells := 0
	for _, s := range list {
		switch s.Kind {
		case lang.SourceVariable:
			return nil, notServed(fmt.Sprintf("`from %s` needs a Python notebook: this kernel has no variables.", s.Text),
				"Write the table to a file and name that.").at(s.Span)
		case lang.SourceJSON:
			cells++
			name := thisCell
			if cells > 1 {
				name = fmt.Sprintf("%s (%d)", thisCell, cells)
			}
			out = append(out, source{name: name, text: s.JSON, size: int64(len(s.JSON))})
		default:
			files, err := c.files(ctx, s)
			if err != nil {
				return nil, err
			}
			out = append(out, files...)
		}
	}
	return out, nil
}

// resolve is the place of a file that a cell names.
func (c *Cells) resolve(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) || c.config.Folder == "" {
		return name
	}
	return filepath.Join(c.config.Folder, name)
}

// files are the files that a source names: one, those of a pattern, or a folder's.
func (c *cell) files(ctx context.Context, s lang.Source) ([]source, error) {
	if scheme, _, ok := strings.Cut(s.Text, "://"); ok && len(scheme) > 1 {
		return nil, notServed("Addresses are not served yet.", "Download the file and name it.").at(s.Span)
	}
	path := c.resolve(s.Text)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		one, err := c.folder(ctx, s, path)
		if err != nil {
			return nil, err
		}
		return []source{one}, nil
	case err == nil && !info.Mode().IsRegular():
		return nil, fail(noSuchFile, fmt.Sprintf("%s is not a file.", s.Text), "").at(s.Span)
	case err == nil && (isPicture(path) || hasEnding(path, ".fits", ".fit", ".fts") && isImage(path)):
		one, err := c.pictures(ctx, s, []string{path})
		if err != nil {
			return nil, err
		}
		return []source{one}, nil
	case err == nil:
		if one, ok, err := c.table(ctx, s, path, info.Size()); ok || err != nil {
			return []source{one}, err
		}
		return []source{{name: filepath.ToSlash(s.Text), path: path, size: info.Size()}}, nil
	case strings.ContainsAny(s.Text, "*?["):
		return c.pattern(ctx, s, path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.noSuchFile(s.Text).at(s.Span)
	}
	return nil, fail(noSuchFile, fmt.Sprintf("%s can't be read: %s.", s.Text, plain(err)), "").at(s.Span)
}

// pattern are the files that fit a pattern, in the order of their names; all
// pictures, and folders with what is in them, are sent as one.
func (c *cell) pattern(ctx context.Context, s lang.Source, path string) ([]source, error) {
	found, err := filepath.Glob(path)
	if err != nil {
		return nil, fail(noSuchFile, fmt.Sprintf("%s is no pattern: %s.", s.Text, err), "").at(s.Span)
	}
	slices.Sort(found)
	var out []source
	var pictures []string
	for _, f := range found {
		if unmeant(path, f) {
			continue
		}
		info, err := os.Stat(f)
		if err == nil && (info.IsDir() || info.Mode().IsRegular() && inFolder(f)) {
			pictures = append(pictures, f)
			continue
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := f
		if c.config.Folder != "" && !filepath.IsAbs(filepath.FromSlash(s.Text)) {
			if rel, err := filepath.Rel(c.config.Folder, f); err == nil {
				name = rel
			}
		}
		out = append(out, source{name: filepath.ToSlash(name), path: f, size: info.Size()})
	}
	if len(pictures) > 0 && (len(out) == 0 || slices.ContainsFunc(pictures, inFolder)) {
		one, err := c.pictures(ctx, s, pictures)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, c.noSuchFile(s.Text).at(s.Span)
	}
	return out, nil
}

// unmeant tells whether a pattern found a hidden file or folder that it doesn't
// begin with a dot for, as shells see it.
func unmeant(pattern, found string) bool {
	parts := strings.Split(filepath.ToSlash(found), "/")
	for i, p := range strings.Split(filepath.ToSlash(pattern), "/") {
		if i < len(parts) && strings.HasPrefix(parts[i], ".") && !strings.HasPrefix(p, ".") {
			return true
		}
	}
	return false
}

// noSuchFile says so, and what is there.
func (c *Cells) noSuchFile(name string) *problem {
	folder := filepath.Dir(c.resolve(name))
	where := "beside this notebook"
	if d := filepath.Dir(filepath.FromSlash(name)); d != "." {
		where = "in " + filepath.ToSlash(d)
	}
	p := fail(noSuchFile, fmt.Sprintf("There is no %s %s.", filepath.Base(filepath.FromSlash(name)), where), "")
	entries, err := os.ReadDir(folder)
	if err != nil {
		p.sentence = fmt.Sprintf("There is no %s: the folder %s isn't there.", name, filepath.ToSlash(filepath.Dir(name)))
		return p
	}
	var names, alike []string
	ending := strings.ToLower(filepath.Ext(name))
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		names = append(names, e.Name())
		if ending != "" && strings.ToLower(filepath.Ext(e.Name())) == ending {
			alike = append(alike, e.Name())
		}
	}
	if near := lang.Nearest(filepath.Base(name), names); near != "" && !slices.Contains(alike, near) {
		alike = append(alike, near)
	}
	switch len(alike) {
	case 0:
	case 1:
		p.hint = fmt.Sprintf("There is %s.", alike[0])
	default:
		more := ""
		if len(alike) > 5 {
			alike, more = alike[:5], ", …"
		}
		p.hint = fmt.Sprintf("There are %s%s.", strings.Join(alike, ", "), more)
		if more == "" {
			p.hint = fmt.Sprintf("There are %s and %s.", strings.Join(alike[:len(alike)-1], ", "), alike[len(alike)-1])
		}
	}
	return p
}

// plain is an error of the file system without its path.
func plain(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// send uploads sources in their order and gives the ids. Progress is shown in d.
func (c *cell) send(ctx context.Context, list []source, d *display) ([]string, error) {
	var all, before int64
	for _, s := range list {
		all += s.size
	}
	defer func() {
		for _, s := range list {
			if s.tar != nil {
				s.tar.Close()
			}
		}
	}()
	began := time.Now()
	ids := make([]string, 0, len(list))
	for _, s := range list {
		var sending atomic.Bool
		progress := func(done, of int64) {
			sending.Store(true)
			d.progress(func() show.Output {
				return show.Upload(s.name, before+done, all, secondsLeft(began, before+done, all))
			})
		}
		content, done, err := s.open()
		if err != nil {
			return nil, err
		}
		// All of it is read once before anything is sent: what the server has already is known by its hash.
		first := reported{content, func(n int64) {
			if !sending.Load() {
				d.progress(func() show.Output { return show.Hashing(s.name, n, s.size) })
			}
		}}
		up, err := call(ctx, &c.session, func(client *api.Client) (api.Upload, error) {
			return client.Upload(ctx, s.name, first, s.size, progress)
		})
		done()
		if err != nil {
			return nil, err
		}
		before += s.size
		ids = append(ids, up.ID)
	}
	return ids, nil
}

// open gives a source's content; done closes what was opened.
func (s source) open() (content io.ReaderAt, done func(), err error) {
	switch {
	case s.tar != nil:
		return s.tar, func() {}, nil
	case s.path == "":
		return bytes.NewReader(s.text), func() {}, nil
	}
	file, err := os.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { file.Close() }, nil
}

// reported tells how far content has been read.
type reported struct {
	io.ReaderAt
	read func(done int64)
}

func (r reported) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, at)
	r.read(at + int64(n))
	return n, err
}

// secondsLeft is how long the rest takes at the pace so far, 0 where that isn't known.
func secondsLeft(began time.Time, done, of int64) float64 {
	passed := time.Since(began).Seconds()
	if passed < 1 || done == 0 || done >= of {
		return 0
	}
	return passed / float64(done) * float64(of-done)
}

// using is a using clause as the server takes it.
func using(list []lang.Binding) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, b := range list {
		out[b.Field] = b.Column
	}
	return out
}

// collected are options as the server takes them: each with all its values.
func collected(list []lang.Option) map[string][]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string][]string{}
	for _, o := range list {
		out[o.Name] = append(out[o.Name], o.Value)
	}
	return out
}

// quoted are sources as they stand in the cell.
func quoted(code string, list []lang.Source) []string {
	runes := []rune(code)
	var out []string
	for _, s := range list {
		if s.Span.Start >= 0 && s.Span.End <= len(runes) && s.Span.Start < s.Span.End {
			out = append(out, string(runes[s.Span.Start:s.Span.End]))
		}
	}
	return out
}
