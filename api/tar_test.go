package api

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

// filesIn writes contents under names into a folder and lists them.
func filesIn(t testing.TB, folder string, contents map[string][]byte) []TarFile {
	t.Helper()
	var out []TarFile
	for name, b := range contents {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
		out = append(out, TarFile{Name: name, Path: path, Size: int64(len(b))})
	}
	return out
}

func all(t testing.TB, a *Tar) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(a, 0, a.Size()))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != a.Size() {
		t.Fatalf("%d bytes of %d", len(b), a.Size())
	}
	return b
}

var contents = map[string][]byte{
	"brick/1.png": bytes.Repeat([]byte("b"), 511), "brick/2.png": bytes.Repeat([]byte("c"), 512), "empty.csv": nil,
	"grass/Größe 3.png": bytes.Repeat([]byte("d"), 513), strings.Repeat("long/", 40) + "x.jpg": []byte("e"),
}

func TestATarIsWhatTarReaderReads(t *testing.T) {
	a, err := NewTar(filesIn(t, t.TempDir(), contents))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	whole := all(t, a)
	r := tar.NewReader(bytes.NewReader(whole))
	last, seen := "", 0
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, contents[h.Name]) || h.Name <= last || h.Uid != 0 || h.ModTime.Unix() != 0 {
			t.Fatalf("%s after %s: %d bytes, %v", h.Name, last, len(got), err)
		}
		last = h.Name
		seen++
	}
	if seen != len(contents) || a.Len() != seen {
		t.Fatalf("%d files of %d", seen, len(contents))
	}
	if err := iotest.TestReader(io.NewSectionReader(a, 0, a.Size()), whole); err != nil {
		t.Fatal(err)
	}
}

func TestEqualFilesAreEqualBytes(t *testing.T) {
	one, two := filesIn(t, t.TempDir(), contents), filesIn(t, t.TempDir(), contents)
	if err := os.Chtimes(two[0].Path, time.Unix(5, 0), time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	a, err := NewTar(one)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := NewTar(two)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if sha256.Sum256(all(t, a)) != sha256.Sum256(all(t, b)) {
		t.Fatal("they differ")
	}
}

func TestReadAtAnywhere(t *testing.T) {
	a, err := NewTar(filesIn(t, t.TempDir(), contents))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	whole := all(t, a)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(whole)).Draw(t, "from")
		p := make([]byte, rapid.IntRange(0, len(whole)).Draw(t, "length"))
		n, err := a.ReadAt(p, int64(from))
		want := whole[from:min(len(whole), from+len(p))]
		if !bytes.Equal(p[:n], want) || (n < len(p)) != errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	})
}

func TestAFileThatChanged(t *testing.T) {
	folder := t.TempDir()
	a, err := NewTar(filesIn(t, folder, map[string][]byte{"a.png": []byte("abc")}))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := os.WriteFile(filepath.Join(folder, "a.png"), []byte("abcd"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, io.NewSectionReader(a, 0, a.Size())); err == nil || !strings.Contains(err.Error(), "a.png has changed") {
		t.Fatal(err)
	}
	if _, err := NewTar([]TarFile{{Name: "x"}, {Name: "x"}}); err == nil {
		t.Fatal("the same name twice")
	}
}

// Ten times as many files take little more memory: neither the archive nor the
// files are held.
func TestMemoryOfATarIsBounded(t *testing.T) {
	peak := func(n int) uint64 {
		folder := t.TempDir()
		files := make([]TarFile, n)
		content := bytes.Repeat([]byte("x"), 20_000)
		path := filepath.Join(folder, "one.png")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i] = TarFile{Name: fmt.Sprintf("class/%05d.png", i), Path: path, Size: int64(len(content))}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		a, err := NewTar(files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hashContent(t.Context(), a, a.Size()); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		a.Close()
		if after.HeapAlloc < before.HeapAlloc {
			return 0
		}
		return after.HeapAlloc - before.HeapAlloc
	}
	few, many := peak(300), peak(3000)
	t.Logf("300 files of 20 kB: %d kB held, 3,000: %d kB", few>>10, many>>10)
	if many > 3000*400 {
		t.Fatalf("%d bytes for 3,000 files", many)
	}
}
