package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
)

const (
	doneSuffix = ".done" // marks an upload whose content is, or is about to be, a blob
	tempSuffix = ".new"
)

// done is what a mark says.
type done struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

func newHash() hash.Hash { return sha256.New() }

// Commit turns an upload into a blob and returns the hexadecimal SHA-256 and
// the size of its content. It does not know how much was announced: ask
// [Store.Offset] first. Content that is here already is kept once. A second
// Commit of an upload, in this run or after a crash, returns the same.
func (s *Store) Commit(id string) (sha256 string, size int64, err error) {
	name, err := uploadName(id)
	if err != nil {
		return "", 0, err
	}
	p := s.partial(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++ // nobody appends any more
	d, err := s.done(name)
	if err == nil && d == nil {
		d, err = s.finish(p, name)
	}
	if err == nil {
		err = s.place(name, d.SHA256)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.forget(id)
		return "", 0, missing("upload", id, err)
	}
	if err != nil {
		return "", 0, fmt.Errorf("commit upload %s: %w", id, err)
	}
	s.forget(id)
	return d.SHA256, d.Size, nil
}

// done reads an upload's mark; nil if it has none.
func (s *Store) done(name string) (*done, error) {
	b, err := s.root.ReadFile(name + doneSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var d done
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("read %s%s: %w", name, doneSuffix, err)
	}
	return &d, nil
}

// finish hashes an upload, unless that happened while it came in, and marks it.
func (s *Store) finish(p *partial, name string) (*done, error) {
	f, err := s.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h := p.hash
	if h == nil || p.hashed != st.Size() {
		h = newHash()
		if _, err := io.Copy(h, f); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	d := &done{SHA256: hex.EncodeToString(h.Sum(nil)), Size: st.Size()}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	m, err := s.root.OpenFile(name+doneSuffix+tempSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = m.Write(b)
	if err = errors.Join(err, m.Sync(), m.Close()); err != nil {
		return nil, err
	}
	if err := s.root.Rename(name+doneSuffix+tempSuffix, name+doneSuffix); err != nil {
		return nil, err
	}
	return d, s.syncDir(uploadsDir)
}

// place renames a marked upload to its blob, or removes it where the blob is
// there already.
func (s *Store) place(name, sha256 string) error {
	blob, err := blobName(sha256)
	if err != nil {
		return err
	}
	err = s.use(blob)
	switch {
	case err == nil:
		if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := path.Dir(blob)
	if err := s.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := errors.Join(s.root.Chmod(name, 0o400), s.use(name)); err != nil { // it may have been sent long ago
		return err
	}
	if err := s.root.Rename(name, blob); err != nil {
		return err
	}
	return errors.Join(s.syncDir(dir), s.syncDir(blobsDir), s.syncDir(uploadsDir))
}
