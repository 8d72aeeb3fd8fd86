package cells

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// isPicture and isTable tell by a name's ending what the trainer reads. In a
// folder an array or a FITS file is a picture too: see inFolder.
func isPicture(name string) bool {
	return hasEnding(name, ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp")
}
func isTable(name string) bool { return hasEnding(name, ".csv", ".tsv", ".tab") || isBook(name) }
func isBook(name string) bool  { return hasEnding(name, ".xlsx", ".xls", ".ods") }

// inFolder tells whether a file is a picture among others: one of those, an
// array, or a FITS file that holds an image.
func inFolder(file string) bool {
	return isPicture(file) || hasEnding(file, ".npy") || hasEnding(file, ".fits", ".fit", ".fts") && isImage(file)
}

// isImage tells whether a FITS file holds an image rather than a table: what
// its first header, else the one after it, says.
func isImage(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, looked)
	n, _ := io.ReadFull(f, start)
	for at := 0; at+80 <= n; at += 80 {
		switch card := string(start[at : at+80]); {
		case at < 2880 && strings.HasPrefix(card, "NAXIS   ="):
			if naxis, err := strconv.Atoi(strings.TrimSpace(card[10:30])); err == nil && naxis > 1 {
				return true
			}
		case strings.HasPrefix(card, "XTENSION= 'IMAGE"), strings.HasPrefix(card, "ZIMAGE  ="):
			return true
		}
	}
	return false
}

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
	if !slices.ContainsFunc(g.files, func(f api.TarFile) bool { return !isTable(f.Name) }) {
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
	var other, unread []string
	for _, f := range g.left {
		if hasEnding(f, unreadPictures...) {
			unread = append(unread, f)
		} else {
			other = append(other, f)
		}
	}
	if n := len(unread); n > 0 {
		noun, them := "pictures are", "them"
		if n == 1 {
			noun, them = "picture is", "it"
		}
		out.notes = append(out.notes, fmt.Sprintf("%s: %d %s of a kind that can't be read, and not sent (%s); save %s as PNG or TIFF", name, n, noun, some(unread), them))
	}
	if n := len(other); n > 0 {
		noun := "files that are no pictures were"
		if n == 1 {
			noun = "file that is no picture was"
		}
		out.notes = append(out.notes, fmt.Sprintf("%s: %d %s not sent (%s)", name, n, noun, some(other)))
	}
	return out, nil
}

// unreadPictures are the endings of pictures that the trainer can't read.
var unreadPictures = []string{".heic", ".heif", ".avif", ".svg", ".psd", ".jp2", ".jxl", ".dcm", ".nii", ".czi", ".nd2", ".svs", ".raw", ".dng", ".cr2", ".nef", ".arw"}

// some names the first of some files.
func some(files []string) string {
	if len(files) > 3 {
		files = append(slices.Clone(files[:3]), "…")
	}
	return strings.Join(files, ", ")
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
		if p != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") || name == "__MACOSX") {
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
		if !inFolder(p) && !(tables && isTable(name)) {
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
	text := name + " holds no pictures."
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
	if hasEnding(most, ".npz", ".json", ".jsonl", ".ndjson", ".txt", ".parquet", ".feather", ".arrow", ".h5", ".hdf5", ".mat", ".sav", ".dta", ".ts", ".gz") {
		return fail(noSuchFile, text, fmt.Sprintf("Name its files, or a pattern such as %q.", strings.TrimRight(name, `/\`)+"/*"+most))
	}
	if most != "" {
		noun := "files"
		if counts[most] == 1 {
			noun = "file"
		}
		return fail(noSuchFile, fmt.Sprintf("%s holds no pictures that can be read; it has %d %s %s.", name, counts[most], most, noun), "Save them as PNG or TIFF.")
	}
	return fail(noSuchFile, text, "")
}

// namesPictures tells whether a cell in the first rows of a table is the path of
// a picture beside it. Which sign separates columns is the trainer's to find out.
func namesPictures(file string) bool {
	if isBook(file) {
		return slices.ContainsFunc(textsOf(file), func(cell string) bool { return besides(file, cell) })
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	lines, read := bufio.NewScanner(f), 0
	for rows := 0; rows < 20 && read < looked && lines.Scan(); rows++ {
		read += len(lines.Bytes())
		for _, cell := range strings.FieldsFunc(lines.Text(), func(r rune) bool { return strings.ContainsRune(",;\t|", r) }) {
			if besides(file, cell) {
				return true
			}
		}
	}
	return false
}

// besides tells whether a table's cell is the path of a picture beside the table.
func besides(file, cell string) bool {
	cell = filepath.FromSlash(strings.ReplaceAll(strings.Trim(strings.TrimSpace(cell), `"`), `\`, "/"))
	if !isPicture(cell) && !hasEnding(cell, ".npy", ".fits", ".fit", ".fts") || !filepath.IsLocal(cell) {
		return false
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(file), cell))
	return err == nil && info.Mode().IsRegular()
}

var bookText = regexp.MustCompile(`<t(?: [^>]*)?>([^<]{1,1000})</t>|<text:p>([^<]{1,1000})</text:p>`)

// textsOf are the first texts of a workbook: enough to see paths among them. An
// old binary one has none here; its folder can be fed instead.
func textsOf(file string) []string {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil
	}
	defer z.Close()
	var out []string
	for _, name := range []string{"xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "content.xml"} {
		f, err := z.Open(name)
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(io.LimitReader(f, 4*looked))
		f.Close()
		for _, m := range bookText.FindAllSubmatch(b, 500) {
			out = append(out, string(m[1])+string(m[2]))
		}
	}
	return out
}
