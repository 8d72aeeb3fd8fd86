package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func open(t testing.TB, root string, options ...Option) *Store {
	t.Helper()
	s, err := Open(root, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newID(t testing.TB, s *Store) string {
	t.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	if err := s.Create(id); err != nil {
		t.Fatal(err)
	}
	return id
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// content checks that a blob is there with this content and can't be written.
func content(t testing.TB, s *Store, sha string, want []byte) {
	t.Helper()
	f, err := s.Open(sha)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("blob %s: %d bytes (%v), want %d", sha, len(got), err, len(want))
	}
	p, err := s.Path(sha)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(p)
	if err != nil || st.Mode().Perm()&0o222 != 0 {
		t.Fatalf("blob %s: mode %v (%v), want no write bits", p, st.Mode(), err)
	}
}

func TestUploadInOneGo(t *testing.T) {
	s := open(t, t.TempDir())
	data := bytes.Repeat([]byte("examples "), 100_000)
	id := newID(t, s)
	if n, err := s.Append(id, 0, bytes.NewReader(data), int64(len(data))); err != nil || n != int64(len(data)) {
		t.Fatalf("Append: %d, %v", n, err)
	}
	for range 2 { // the second time after the fact
		sha, size, err := s.Commit(id)
		if err != nil || sha != sum(data) || size != int64(len(data)) {
			t.Fatalf("Commit: %s, %d, %v", sha, size, err)
		}
		content(t, s, sha, data)
	}
	if n, err := s.Offset(id); err != nil || n != int64(len(data)) {
		t.Fatalf("Offset of a committed upload: %d, %v", n, err)
	}
	var off *OffsetError
	if _, err := s.Append(id, 0, strings.NewReader("x"), 1); !errors.As(err, &off) || off.Have != int64(len(data)) {
		t.Fatalf("Append to a committed upload: %v", err)
	}
	if err := s.Create(id); err != nil {
		t.Fatal(err)
	}
	if sha, _, err := s.Commit(id); err != nil || sha != sum(data) {
		t.Fatalf("Commit after a second Create: %s, %v", sha, err)
	}
}

func TestSameContentIsKeptOnce(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	var shas []string
	for range 2 {
		id := newID(t, s)
		if _, err := s.Append(id, 0, strings.NewReader("same"), 4); err != nil {
			t.Fatal(err)
		}
		sha, _, err := s.Commit(id)
		if err != nil {
			t.Fatal(err)
		}
		shas = append(shas, sha)
		if err := s.Remove(id); err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(id); err != nil { // again
			t.Fatal(err)
		}
	}
	if shas[0] != shas[1] {
		t.Fatal("two hashes of one content")
	}
	content(t, s, shas[0], []byte("same"))
	files := 0
	filepath.WalkDir(root, func(_ string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if files != 1 {
		t.Fatalf("%d files in the root, want the one blob", files)
	}
}

func TestEmptyUpload(t *testing.T) {
	s := open(t, t.TempDir())
	id := newID(t, s)
	sha, size, err := s.Commit(id)
	if err != nil || size != 0 || sha != sum(nil) {
		t.Fatalf("Commit: %s, %d, %v", sha, size, err)
	}
}

// A connection that is cut leaves what came until then; the rest goes on from
// there, before and after a restart.
func TestCutConnection(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	data := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 200_000)
	id := newID(t, s)
	cut := errors.New("connection reset")
	part := io.MultiReader(bytes.NewReader(data[:500_000]), iotest.ErrReader(cut))
	n, err := s.Append(id, 0, part, int64(len(data)))
	if !errors.Is(err, cut) || n != 500_000 {
		t.Fatalf("Append: %d, %v", n, err)
	}
	s.Close()
	s = open(t, root)
	if n, err = s.Offset(id); err != nil || n != 500_000 {
		t.Fatalf("Offset after a restart: %d, %v", n, err)
	}
	var off *OffsetError
	if _, err := s.Append(id, 0, bytes.NewReader(data), int64(len(data))); !errors.As(err, &off) || off.Have != 500_000 || off.Sent != 0 {
		t.Fatalf("Append elsewhere: %v", err)
	}
	if n, err = s.Append(id, n, bytes.NewReader(data[n:]), int64(len(data))); err != nil || n != int64(len(data)) {
		t.Fatalf("Append the rest: %d, %v", n, err)
	}
	sha, _, err := s.Commit(id)
	if err != nil || sha != sum(data) {
		t.Fatalf("Commit: %s, %v", sha, err)
	}
	content(t, s, sha, data)
}

// An Append that waits for a dead connection must not hold up the one that
// goes on in its place, nor write anything later.
func TestTakeOver(t *testing.T) {
	s := open(t, t.TempDir())
	id := newID(t, s)
	r, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := s.Append(id, 0, r, 10)
		ended <- err
	}()
	io.WriteString(w, "01234") // returns once Append has taken it and asks for more
	w.Write(nil)
	for { // the piece is in hand, but perhaps not in the file yet
		n, err := s.Offset(id)
		if err != nil {
			t.Fatal(err)
		}
		if n == 5 {
			break
		}
	}
	if n, err := s.Append(id, 5, strings.NewReader("56789"), 10); err != nil || n != 10 {
		t.Fatalf("the second Append: %d, %v", n, err)
	}
	io.WriteString(w, "xx")
	w.Close()
	if err := <-ended; !errors.Is(err, ErrTakenOver) {
		t.Fatalf("the first Append: %v", err)
	}
	if sha, _, err := s.Commit(id); err != nil || sha != sum([]byte("0123456789")) {
		t.Fatalf("Commit: %s, %v", sha, err)
	}
}

func TestMoreThanSize(t *testing.T) {
	s := open(t, t.TempDir(), MaxUpload(100))
	id := newID(t, s)
	if _, err := s.Append(id, 0, strings.NewReader("0123"), 8); err != nil {
		t.Fatal(err)
	}
	var size *SizeError
	if n, err := s.Append(id, 4, strings.NewReader("456789"), 8); !errors.As(err, &size) || size.Limit != 8 || n != 4 {
		t.Fatalf("Append of too much: %d, %v", n, err)
	}
	if n, err := s.Offset(id); err != nil || n != 4 {
		t.Fatalf("Offset: %d, %v", n, err)
	}
	if _, err := s.Append(id, 4, strings.NewReader("4567"), 8); err != nil {
		t.Fatal(err)
	}
	if sha, _, err := s.Commit(id); err != nil || sha != sum([]byte("01234567")) {
		t.Fatalf("Commit: %s, %v", sha, err)
	}
	if _, err := s.Append(newID(t, s), 0, strings.NewReader("x"), 101); !errors.As(err, &size) || size.Limit != 100 {
		t.Fatalf("Append beyond the store's limit: %v", err)
	}
}

// A crash between the mark and the rename, and one before the mark's rename,
// are finished by the next Commit.
func TestCommitAfterCrash(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	id := newID(t, s)
	if _, err := s.Append(id, 0, strings.NewReader("content"), 7); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "uploads", id+".done.new"), []byte(`{"sha`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.partial(id)
	if _, err := s.finish(p, "uploads/"+id); err != nil { // marked, not placed
		t.Fatal(err)
	}
	s.Close()
	s = open(t, root)
	if n, err := s.Offset(id); err != nil || n != 7 {
		t.Fatalf("Offset: %d, %v", n, err)
	}
	if _, err := s.Append(id, 7, strings.NewReader("x"), 8); err == nil {
		t.Fatal("something was added to what is hashed already")
	}
	sha, size, err := s.Commit(id)
	if err != nil || sha != sum([]byte("content")) || size != 7 {
		t.Fatalf("Commit: %s, %d, %v", sha, size, err)
	}
	content(t, s, sha, []byte("content"))
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	s := open(t, filepath.Join(root, "in"))
	if err := os.WriteFile(filepath.Join(root, "secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", "..", "../secret", "../../secret", "/etc/passwd", "a\x00b",
		"0198c0de-0000-7000-8000-00000000000", "{0198c0de-0000-7000-8000-000000000000}",
		"urn:uuid:0198c0de-0000-7000-8000-000000000000", "0198C0DE-0000-7000-8000-000000000000",
		"0198c0de000070008000000000000000", "0198c0de-0000-7000-8000-000000000000.done"} {
		if err := s.Create(id); !errors.Is(err, ErrBadName) {
			t.Errorf("Create(%q): %v", id, err)
		}
		if _, err := s.Append(id, 0, strings.NewReader("x"), 1); !errors.Is(err, ErrBadName) {
			t.Errorf("Append(%q): %v", id, err)
		}
		if err := s.Remove(id); !errors.Is(err, ErrBadName) {
			t.Errorf("Remove(%q): %v", id, err)
		}
		if _, err := s.Offset(id); !errors.Is(err, ErrBadName) {
			t.Errorf("Offset(%q): %v", id, err)
		}
		if _, _, err := s.Commit(id); !errors.Is(err, ErrBadName) {
			t.Errorf("Commit(%q): %v", id, err)
		}
	}
	for _, sha := range []string{"", "..", "../../../secret", strings.Repeat("A", 64), strings.Repeat("a", 63)} {
		if _, err := s.Path(sha); !errors.Is(err, ErrBadName) {
			t.Errorf("Path(%q): %v", sha, err)
		}
		if _, err := s.Open(sha); !errors.Is(err, ErrBadName) {
			t.Errorf("Open(%q): %v", sha, err)
		}
	}
	if _, err := s.Path(strings.Repeat("a", 64)); !errors.Is(err, ErrNotFound) {
		t.Errorf("Path of no blob: %v", err)
	}
	unknown := uuid.NewString()
	if _, err := s.Offset(unknown); !errors.Is(err, ErrNotFound) {
		t.Errorf("Offset of no upload: %v", err)
	}
	if _, err := s.Append(unknown, 0, strings.NewReader("x"), 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("Append to no upload: %v", err)
	}
	if _, _, err := s.Commit(unknown); !errors.Is(err, ErrNotFound) {
		t.Errorf("Commit of no upload: %v", err)
	}
	if len(s.partials) != 0 {
		t.Errorf("%d unknown uploads are remembered", len(s.partials))
	}
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	now := time.Now()
	s.now = func() time.Time { return now }
	old, young, finished := newID(t, s), newID(t, s), newID(t, s)
	if _, err := s.Append(finished, 0, strings.NewReader("kept"), 4); err != nil {
		t.Fatal(err)
	}
	sha, _, err := s.Commit(finished)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, finished + ".done"} {
		when := now.Add(-48 * time.Hour)
		if err := os.Chtimes(filepath.Join(root, "uploads", name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.Sweep(24 * time.Hour)
	if err != nil || len(removed) != 2 {
		t.Fatalf("Sweep: %v, %v", removed, err)
	}
	if _, err := s.Offset(old); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old upload: %v", err)
	}
	if _, err := s.Offset(young); err != nil {
		t.Errorf("the young upload: %v", err)
	}
	content(t, s, sha, []byte("kept"))
}

// A blob goes once nobody needs it and its last use is long ago; to send it again, or to ask for it, is to use it.
func TestSweepBlobs(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	now := time.Now()
	s.now = func() time.Time { return now }
	send := func(text string) string {
		t.Helper()
		id := newID(t, s)
		if _, err := s.Append(id, 0, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
		sha, _, err := s.Commit(id)
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	needed, unused, asked, again := send("needed"), send("unused"), send("asked for"), send("sent again")
	sweep := func(want ...string) {
		t.Helper()
		removed, err := s.SweepBlobs(24*time.Hour, func(sha string) bool { return sha == needed })
		if slices.Sort(removed); err != nil || !slices.Equal(removed, want) {
			t.Fatalf("%q were removed, not %q: %v", removed, want, err)
		}
	}
	sweep()
	now = now.Add(25 * time.Hour)
	if _, err := s.Path(asked); err != nil {
		t.Fatal(err)
	}
	send("sent again")
	sweep(unused)
	if _, err := s.Path(unused); !errors.Is(err, ErrNotFound) {
		t.Errorf("what was removed: %v", err)
	}
	for sha, text := range map[string]string{needed: "needed", asked: "asked for", again: "sent again"} {
		content(t, s, sha, []byte(text))
	}
	if send("unused") != unused {
		t.Error("another hash")
	}
	content(t, s, unused, []byte("unused"))
}

// However an upload is cut into pieces, broken off, sent too far or restarted,
// its offset is the length of a prefix of the content and it ends as the
// content.
func TestAnyUpload(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s, err := Open(root)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { s.Close() }()
		data := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(rt, "data")
		size := int64(len(data))
		id := newID(t, s)
		at := int64(0)
		for at < size {
			switch rapid.SampledFrom([]string{"piece", "cut", "elsewhere", "too much", "restart"}).Draw(rt, "step") {
			case "piece":
				n := rapid.Int64Range(1, size-at).Draw(rt, "n")
				got, err := s.Append(id, at, bytes.NewReader(data[at:at+n]), size)
				if at += n; err != nil || got != at {
					rt.Fatalf("Append: %d, %v; want %d", got, err, at)
				}
			case "cut":
				n := rapid.Int64Range(0, size-at).Draw(rt, "n")
				r := io.MultiReader(bytes.NewReader(data[at:at+n]), iotest.ErrReader(io.ErrUnexpectedEOF))
				got, err := s.Append(id, at, r, size)
				if at += n; err == nil || got != at {
					rt.Fatalf("Append of a cut: %d, %v; want %d", got, err, at)
				}
			case "elsewhere":
				offset := rapid.Int64Range(0, size+10).Draw(rt, "offset")
				if offset == at {
					continue
				}
				var off *OffsetError
				if _, err := s.Append(id, offset, bytes.NewReader(data), size); !errors.As(err, &off) || off.Have != at {
					rt.Fatalf("Append at %d of %d: %v", offset, at, err)
				}
			case "too much":
				var e *SizeError
				r := iotest.OneByteReader(bytes.NewReader(make([]byte, size-at+1)))
				if _, err := s.Append(id, at, r, size); !errors.As(err, &e) {
					rt.Fatalf("Append of too much: %v", err)
				}
			case "restart":
				s.Close()
				if s, err = Open(root); err != nil {
					rt.Fatal(err)
				}
			}
			if n, err := s.Offset(id); err != nil || n != at {
				rt.Fatalf("Offset: %d, %v; want %d", n, err, at)
			}
		}
		sha, n, err := s.Commit(id)
		if err != nil || n != size || sha != sum(data) {
			rt.Fatalf("Commit: %s, %d, %v", sha, n, err)
		}
	})
}
