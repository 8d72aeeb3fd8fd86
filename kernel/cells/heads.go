package cells

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	headBytes  = 64 << 10 // of a file that are read for its columns
	mostFiles  = 500
	headsLimit = 64
)

// heads keeps the columns of files, by path, size and time of change.
type heads struct {
	mu   sync.Mutex
	kept map[string]head
}

type head struct {
	size    int64
	changed time.Time
	columns []string
}

// of gives the columns of a file, nil where there are none to be seen in its
// first bytes.
func (h *heads) of(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.kept[path]; ok && k.size == info.Size() && k.changed.Equal(info.ModTime()) {
		return k.columns
	}
	columns := readColumns(path)
	if h.kept == nil || len(h.kept) >= headsLimit {
		h.kept = map[string]head{}
	}
	h.kept[path] = head{size: info.Size(), changed: info.ModTime(), columns: columns}
	return columns
}

// readColumns reads the names of a file's columns, or of its arrays or keys.
func readColumns(path string) []string {
	switch {
	case hasEnding(path, ".npz"):
		return arrays(path)
	case hasEnding(path, ".xlsx"):
		return bookColumns(path)
	case hasEnding(path, ".ods"):
		return sheetColumns(path)
	case hasEnding(path, ".arrow"), hasEnding(path, ".feather"), hasEnding(path, ".ipc"):
		return arrowColumns(path)
	case hasEnding(path, ".parquet", ".pq"):
		return parquetColumns(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var text io.Reader = file
	if hasEnding(path, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			return nil
		}
	}
	// What is there before an error, such as the cut end of a packed file, is enough.
	start, _ := io.ReadAll(io.LimitReader(text, headBytes))
	return columnsIn(start)
}

// columnsIn reads names from a file's first bytes: the keys of a first JSON
// object, else the first row of a text table.
func columnsIn(start []byte) []string {
	start = bytes.TrimPrefix(start, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(start, 0) >= 0 {
		return nil
	}
	if s := bytes.TrimLeft(start, " \t\r\n"); len(s) > 0 && (s[0] == '{' || s[0] == '[') {
		d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(s, "[")))
		var first map[string]json.RawMessage
		if d.Decode(&first) != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(first))
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.LazyQuotes = delimiter(line), true
	names, err := r.Read()
	if err != nil {
		return nil
	}
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// delimiter is the commonest of the usual ones.
func delimiter(line []byte) rune {
	best, most := ',', 0
	for _, d := range ",;\t|" {
		if n := bytes.Count(line, []byte(string(d))); n > most {
			best, most = d, n
		}
	}
	return best
}

// arrays are the names of an NPZ file's arrays.
func arrays(path string) []string {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil
	}
	defer z.Close()
	var out []string
	for _, f := range z.File {
		out = append(out, strings.TrimSuffix(f.Name, ".npy"))
	}
	return out
}

// listFiles are the files and folders that begin as typed, folders with a slash
// after them.
func (c *Cells) listFiles(typed string) []string {
	folder, _ := filepath.Split(filepath.FromSlash(typed))
	where := folder
	if where == "" {
		where = "."
	}
	entries, err := os.ReadDir(c.resolve(where))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := filepath.ToSlash(folder + e.Name())
		if e.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, typed) {
			out = append(out, name)
		}
		if len(out) == mostFiles {
			break
		}
	}
	return out
}

// aboutFile says how large a file is and which columns it has.
func (c *Cells) aboutFile(name string) string {
	path := c.resolve(name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text := fmt.Sprintf("%s\n%d bytes, changed %s", name, info.Size(), info.ModTime().Format("2 Jan 2006 15:04"))
	if columns := c.names.heads.of(path); len(columns) > 0 {
		text += "\ncolumns: " + enumerate(columns)
	}
	return text
}
