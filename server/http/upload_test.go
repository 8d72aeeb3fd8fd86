package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/store"
)

func randomBytes(n int) []byte {
	content := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(content)
	return content
}

func TestAnUploadResumesAfterCuts(t *testing.T) {
	w := newWorld(t)
	content := randomBytes(20 << 20)
	cut := newCutter(t, w.http.Listener.Addr().String(),
		[]int64{900, 3 << 20, 10, 9 << 20, 300_000}, // in the first request, in chunks, in the question for the offset …
		[]int64{-1, -1, -1, -1, -1, 20})             // and once in an answer
	client := api.New(cut.url(), w.alice.token)
	defer client.Close()
	var last, calls int64
	upload, err := client.Upload(t.Context(), "big.bin", bytes.NewReader(content), int64(len(content)), func(done, of int64) {
		calls++
		last = done
		if of != int64(len(content)) || done > of {
			t.Errorf("%d of %d", done, of)
		}
	})
	if err != nil || !upload.Complete || last != int64(len(content)) || calls < 10 {
		t.Fatalf("%+v, %v; %d of progress in %d calls", upload, err, last, calls)
	}
	if n := cut.count(); n < 5 {
		t.Errorf("only %d connections were cut", n)
	}
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	path, err := w.server.Blobs.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, content) {
		t.Errorf("what is stored differs: %v", err)
	}
	// Again: found by its hash, nothing is sent.
	before := w.log.String()
	again, err := w.alice.client.Upload(t.Context(), "other name.bin", bytes.NewReader(content), int64(len(content)), nil)
	if err != nil || !again.Complete || again.ID == upload.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if after := strings.TrimPrefix(w.log.String(), before); strings.Contains(after, "PATCH") {
		t.Error("the same content was sent again")
	}
	var row store.Upload
	w.read(func(r *store.Reader) (err error) { row, err = r.Upload(again.ID); return err })
	if row.SHA256 != name || row.Name != "other name.bin" {
		t.Errorf("row %+v", row)
	}
}

func TestAnUploadIsTakenUpByAnotherKernel(t *testing.T) {
	w := newWorld(t)
	content := "a,b\n1,2\n3,4\n"
	sum := sha256.Sum256([]byte(content))
	body := api.NewUpload{Name: "a.csv", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	_, _, first := w.ask("POST", "/api/v1/uploads", w.alice.token, body)
	_, _, second := w.ask("POST", "/api/v1/uploads", w.alice.token, body)
	if first != second {
		t.Errorf("two uploads of the same file were begun: %s, %s", first, second)
	}
	if upload, err := w.alice.client.Upload(t.Context(), "a.csv", strings.NewReader(content), body.Size, nil); err != nil || !strings.Contains(first, upload.ID) {
		t.Errorf("%+v, %v", upload, err)
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	begin := func(size int64, sum string) api.Upload {
		t.Helper()
		status, _, body := w.ask("POST", "/api/v1/uploads", w.alice.token, api.NewUpload{Name: "a", Size: size, SHA256: sum})
		var u api.Upload
		decode([]byte(body), &u)
		if status != 201 {
			t.Fatalf("%d %s", status, body)
		}
		return u
	}
	chunk := func(u api.Upload, offset, content string) (int, string, string) {
		status, header, body := w.ask("PATCH", "/api/v1/uploads/"+u.ID, w.alice.token, content, api.UploadOffset, offset, "Content-Type", api.ChunkType)
		return status, header.Get(api.UploadOffset), body
	}
	u := begin(5, "")
	if status, offset, _ := chunk(u, "0", "ab"); status != 204 || offset != "2" {
		t.Errorf("first bytes: %d, %s", status, offset)
	}
	if status, offset, body := chunk(u, "0", "ab"); status != 409 || offset != "2" || !strings.Contains(body, "byte 2") {
		t.Errorf("again: %d, %s, %s", status, offset, body)
	}
	if status, _, _ := chunk(u, "", "ab"); status != 400 {
		t.Errorf("without an offset: %d", status)
	}
	if status, _, body := chunk(u, "2", "cdefgh"); status != 413 {
		t.Errorf("too much: %d %s", status, body)
	}
	if _, err := w.alice.client.Feed(t.Context(), "alice", w.declare("x").Name, api.NewFeed{Uploads: []string{u.ID}}); !api.IsStatus(err, 409) {
		t.Errorf("feeding a part of a file: %v", err)
	}
	if status, offset, _ := chunk(u, "2", "cde"); status != 204 || offset != "5" {
		t.Errorf("the rest: %d, %s", status, offset)
	}
	if status, offset, _ := chunk(u, "5", ""); status != 204 || offset != "5" {
		t.Errorf("nothing more: %d, %s", status, offset)
	}
	if status, header, _ := w.ask("HEAD", "/api/v1/uploads/"+u.ID, w.alice.token, nil); status != 200 || header.Get(api.UploadOffset) != "5" || header.Get(api.UploadLength) != "5" {
		t.Errorf("head: %d %v", status, header)
	}
	damaged := begin(2, strings.Repeat("ab", 32))
	if status, _, body := chunk(damaged, "0", "xy"); status != 422 || !strings.Contains(body, "other bytes") {
		t.Errorf("damaged: %d %s", status, body)
	}
	if empty := begin(0, ""); !empty.Complete {
		t.Errorf("an empty file: %+v", empty)
	}
	for name, body := range map[string]string{
		"sha256":   `{"name":"a","size":1,"sha256":"xyz"}`,
		"size":     `{"name":"a","size":-1}`,
		"name":     `{"name":"","size":1}`,
		"newline":  `{"name":"a\nb","size":1}`,
		"no size":  `{"name":"a"}`,
		"unknown":  `{"name":"a","size":1,"sise":2}`,
		"no JSON":  `{`,
		"too long": `{"name":"` + strings.Repeat("a", maxFileName+1) + `","size":1}`,
	} {
		if status, header, body := w.ask("POST", "/api/v1/uploads", w.alice.token, body); status < 400 || status > 422 || header.Get("Content-Type") != api.ProblemType {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestFilesOnDisk(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	upload, err := w.alice.client.UploadFile(t.Context(), "a.csv", path, nil)
	if err != nil || !upload.Complete {
		t.Fatalf("%+v, %v", upload, err)
	}
	task := w.declare("digits")
	feed, err := w.alice.client.Feed(t.Context(), "alice", task.Name, api.NewFeed{Uploads: []string{upload.ID}, Output: []string{"a"}})
	if err != nil || feed.Number != 1 || feed.Sources[0] != "a.csv" {
		t.Fatalf("%+v, %v", feed, err)
	}
	// Nothing can be run here, so the feed fails, and says so.
	for {
		changed := w.store.Changed()
		if feed, err = w.alice.client.GetFeed(t.Context(), "alice", task.Name, 1); err != nil {
			t.Fatal(err)
		}
		if feed.State != "running" {
			break
		}
		<-changed
	}
	if feed.State != "failed" || feed.Error == nil || feed.Error.Detail == "" {
		t.Errorf("%+v", feed)
	}
	// A file that shrinks while it is sent is noticed, not sent for ever.
	content := &shrinking{Reader: bytes.NewReader(make([]byte, 100))}
	if _, err := w.alice.client.Upload(t.Context(), "s.bin", content, 100, nil); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file that shrinks: %v", err)
	}
}

// shrinking is hashed whole, and then ends early.
type shrinking struct {
	*bytes.Reader
	whole bool
}

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 && !s.whole {
		s.whole = true
		return s.Reader.ReadAt(p, off)
	}
	return 0, os.ErrClosed
}
