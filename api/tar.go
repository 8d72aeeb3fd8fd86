package api

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"time"
)

// TarFile is one file that a Tar holds: its path in there, with slashes, its
// path on this machine, and its size in bytes.
type TarFile struct {
	Name string
	Path string
	Size int64
}

// Tar is a tar archive of files of this machine that exists nowhere as a whole:
// it is put together as it is read. Equal files under equal names give equal
// bytes, whatever their times and owners are, so one SHA-256 stands for them
// all and an upload of them can be resumed at any byte.
//
// It keeps some dozens of bytes a file beside the names. It may be read by
// several goroutines at once.
type Tar struct {
	files   []TarFile
	offsets []int64 // where each file's header begins
	headers []int32 // how long that is: names beyond ASCII or 100 bytes take more
	size    int64

	mu   sync.Mutex
	open *os.File // the file that was read last
	at   int      // which of files that is
}

const (
	tarBlock = 512
	tarEnd   = 2 * tarBlock
)

// NewTar lays out a Tar of files, which are sorted by name. Two files of one
// name, or a name that a tar can't hold, are an error.
func NewTar(files []TarFile) (*Tar, error) {
	t := &Tar{files: slices.Clone(files), at: -1}
	slices.SortFunc(t.files, func(a, b TarFile) int { return cmp.Compare(a.Name, b.Name) })
	t.offsets, t.headers = make([]int64, len(t.files)), make([]int32, len(t.files))
	for i, f := range t.files {
		if i > 0 && t.files[i-1].Name == f.Name {
			return nil, fmt.Errorf("%s is there twice", f.Name)
		}
		header, err := tarHeader(f)
		if err != nil {
			return nil, fmt.Errorf("%s can't be packed: %w", f.Name, err)
		}
		t.offsets[i], t.headers[i] = t.size, int32(len(header))
		t.size += int64(len(header)) + padded(f.Size)
	}
	t.size += tarEnd
	return t, nil
}

// tarHeader is what stands before a file's content.
func tarHeader(f TarFile) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: 0o644, ModTime: time.Unix(0, 0),
	})
	return b.Bytes(), err
}

// padded is a size rounded up to whole blocks.
func padded(size int64) int64 { return (size + tarBlock - 1) / tarBlock * tarBlock }

// Size is how many bytes the archive has.
func (t *Tar) Size() int64 { return t.size }

// Len is how many files it holds.
func (t *Tar) Len() int { return len(t.files) }

// ReadAt reads the archive's bytes from an offset on. A file that is no longer
// what it was when the archive was laid out is an error that names it.
func (t *Tar) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("a negative offset")
	}
	n := 0
	for n < len(p) && offset < t.size {
		m, err := t.readPart(p[n:], offset)
		n, offset = n+m, offset+int64(m)
		if err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readPart reads at least one byte from an offset within the archive: of one
// header, one file's content, or the zeros after either.
func (t *Tar) readPart(p []byte, offset int64) (int, error) {
	i := sort.Search(len(t.offsets), func(i int) bool { return t.offsets[i] > offset }) - 1
	if i < 0 {
		return zeros(p, t.size-offset), nil
	}
	f, within := t.files[i], offset-t.offsets[i]
	if header := int64(t.headers[i]); within < header {
		b, err := tarHeader(f)
		if err != nil {
			return 0, err
		}
		return copy(p, b[within:]), nil
	} else if within -= header; within < f.Size {
		return t.readFile(p[:min(int64(len(p)), f.Size-within)], i, within)
	}
	end := t.size
	if i+1 < len(t.offsets) {
		end = t.offsets[i+1]
	}
	return zeros(p, end-offset), nil
}

func zeros(p []byte, n int64) int {
	p = p[:min(int64(len(p)), n)]
	clear(p)
	return len(p)
}

// readFile fills p from a file's content.
func (t *Tar) readFile(p []byte, i int, from int64) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[i]
	if t.at != i {
		t.closeFile()
		file, err := os.Open(f.Path)
		if err != nil {
			return 0, err
		}
		t.open, t.at = file, i
		if info, err := file.Stat(); err != nil {
			return 0, err
		} else if info.Size() != f.Size {
			return 0, fmt.Errorf("%s has changed meanwhile", f.Name)
		}
	}
	n, err := t.open.ReadAt(p, from)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s has changed meanwhile", f.Name)
	}
	return n, err
}

func (t *Tar) closeFile() {
	if t.open != nil {
		t.open.Close()
	}
	t.open, t.at = nil, -1
}

// Close lets go of the file that was read last; the archive can be read on.
func (t *Tar) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeFile()
	return nil
}
