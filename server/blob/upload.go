package blob

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// OffsetError says that bytes were sent for another offset than the upload's:
// ask for the offset and go on from there.
type OffsetError struct {
	ID   string
	Sent int64 // where the sender would have gone on
	Have int64 // bytes that are here
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("upload %s has %d bytes, and what was sent begins at byte %d: go on from byte %d", e.ID, e.Have, e.Sent, e.Have)
}

// SizeError says that an upload is larger than it may be. What the refused
// call sent has been taken away again.
type SizeError struct {
	ID    string
	Limit int64 // bytes it may have
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("upload %s has more than the %d bytes it may have", e.ID, e.Limit)
}

// ErrTakenOver says that a newer Append, or a Commit or Remove, has taken the
// upload over from this one: its connection had been cut without it knowing.
var ErrTakenOver = errors.New("another connection went on with this upload")

// partial is what is known in memory of an upload under way.
type partial struct {
	mu     sync.Mutex
	turn   int       // of the Append that may write
	hash   hash.Hash // of the first hashed bytes; nil: hash the file at the end
	hashed int64
}

func (s *Store) partial(id string) *partial {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partials[id]
	if p == nil {
		p = &partial{}
		s.partials[id] = p
	}
	return p
}

func (s *Store) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.partials, id)
}

// Create begins an empty upload. One that was begun already, or is committed,
// stays as it is.
func (s *Store) Create(id string) error {
	name, err := uploadName(id)
	if err != nil {
		return err
	}
	p := s.partial(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := s.done(name)
	if err == nil && d == nil {
		var f *os.File
		if f, err = s.root.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			err = errors.Join(f.Close(), s.syncDir(uploadsDir))
		}
	}
	if err != nil || d != nil {
		s.forget(id)
	}
	if err != nil {
		return fmt.Errorf("begin upload %s: %w", id, err)
	}
	return nil
}

// Offset is how many bytes of an upload are here, on disk: where to go on. Of
// a committed one it is the size.
func (s *Store) Offset(id string) (int64, error) {
	name, err := uploadName(id)
	if err != nil {
		return 0, err
	}
	p := s.partial(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, err := s.done(name); err != nil || d != nil {
		s.forget(id)
		if err != nil {
			return 0, fmt.Errorf("upload %s: %w", id, err)
		}
		return d.Size, nil
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		s.forget(id)
		return 0, missing("upload", id, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // an Append may be under way: what is told must last
		return 0, fmt.Errorf("upload %s: %w", id, err)
	}
	st, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("upload %s: %w", id, err)
	}
	return st.Size(), nil
}

// Append adds what r has to an upload that is announced to be of size bytes,
// and returns the new offset, up to which all is on disk. offset is where r
// begins; if the upload is elsewhere it returns an [OffsetError]. If r breaks
// off, what came until then stays and counts, and r's error is returned with
// the offset. If r has more than size (or the store's limit) allows, nothing
// of it stays, and the error is a [SizeError].
//
// A later Append to the same upload takes over from one that still waits for
// its reader, which then returns [ErrTakenOver].
func (s *Store) Append(id string, offset int64, r io.Reader, size int64) (newOffset int64, err error) {
	name, err := uploadName(id)
	if err != nil {
		return 0, err
	}
	if s.maxUpload > 0 && size > s.maxUpload {
		return offset, &SizeError{ID: id, Limit: s.maxUpload}
	}
	p := s.partial(id)
	f, turn, err := s.begin(p, id, name, offset)
	if err != nil {
		return 0, err
	}
	defer f.Close()

	at := offset
	buf := make([]byte, 256<<10)
	for {
		n, readErr := r.Read(buf)
		if n > 0 {
			if err := p.write(f, id, turn, offset, at, size, buf[:n]); err != nil {
				return offset, err
			}
			at += int64(n)
		}
		if readErr != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.turn != turn {
				return at, fmt.Errorf("upload %s: %w", id, ErrTakenOver)
			}
			if err := f.Sync(); err != nil {
				p.hash = nil
				return offset, fmt.Errorf("upload %s: %w", id, err)
			}
			if readErr == io.EOF {
				return at, nil
			}
			return at, fmt.Errorf("upload %s broke off at byte %d: %w", id, at, readErr)
		}
	}
}

// begin opens an upload's file for the Append that now has the turn.
func (s *Store) begin(p *partial, id, name string, offset int64) (*os.File, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := s.done(name)
	if err != nil {
		return nil, 0, fmt.Errorf("upload %s: %w", id, err)
	}
	if d != nil { // committed: nothing can be added
		s.forget(id)
		return nil, 0, &OffsetError{ID: id, Sent: offset, Have: d.Size}
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		s.forget(id)
		return nil, 0, missing("upload", id, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("upload %s: %w", id, err)
	}
	if st.Size() != offset {
		f.Close()
		return nil, 0, &OffsetError{ID: id, Sent: offset, Have: st.Size()}
	}
	if p.hash == nil && offset == 0 || p.hash != nil && p.hashed != offset {
		p.hash, p.hashed = nil, 0
		if offset == 0 {
			p.hash = newHash()
		}
	}
	p.turn++
	return f, p.turn, nil
}

// write adds one piece at byte at, if this Append (which began at byte start)
// still has the turn and the piece fits into size.
func (p *partial) write(f *os.File, id string, turn int, start, at, size int64, piece []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != turn {
		return fmt.Errorf("upload %s: %w", id, ErrTakenOver)
	}
	if at+int64(len(piece)) > size {
		p.turn++
		p.hash = nil
		if err := errors.Join(f.Truncate(start), f.Sync()); err != nil {
			return fmt.Errorf("upload %s: %w", id, err)
		}
		return &SizeError{ID: id, Limit: size}
	}
	if _, err := f.WriteAt(piece, at); err != nil {
		p.turn++
		p.hash = nil
		// Half a piece must not count: its sender believes it was not taken.
		return fmt.Errorf("upload %s: %w", id, errors.Join(err, f.Truncate(at)))
	}
	if p.hash != nil {
		p.hash.Write(piece)
		p.hashed += int64(len(piece))
	}
	return nil
}

// Remove takes an upload away, finished or not; its blob stays. Of one that
// isn't there it is no error.
func (s *Store) Remove(id string) error {
	name, err := uploadName(id)
	if err != nil {
		return err
	}
	p := s.partial(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer s.forget(id)
	p.turn++
	for _, n := range []string{name, name + doneSuffix, name + doneSuffix + tempSuffix} {
		if err := s.root.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove upload %s: %w", id, err)
		}
	}
	return nil
}

// Sweep removes the uploads that nobody has touched for longer than older, and
// returns their ids. Blobs stay.
func (s *Store) Sweep(older time.Duration) (removed []string, err error) {
	entries, err := fs.ReadDir(s.root.FS(), uploadsDir)
	if err != nil {
		return nil, fmt.Errorf("list uploads: %w", err)
	}
	before := s.now().Add(-older)
	last := "" // an upload and its mark are one
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone meanwhile, or young
		}
		id := strings.TrimSuffix(strings.TrimSuffix(path.Base(e.Name()), tempSuffix), doneSuffix)
		if id == last {
			continue
		}
		if _, err := uploadName(id); err != nil {
			continue // not ours
		}
		if err := s.Remove(id); err != nil {
			return removed, err
		}
		last = id
		removed = append(removed, id)
	}
	return removed, nil
}

// SweepBlobs removes the blobs that nobody has used for longer than older and that
// needed, which is called with a hash, does not hold back. It returns their hashes.
func (s *Store) SweepBlobs(older time.Duration, needed func(sha256 string) bool) (removed []string, err error) {
	before := s.now().Add(-older)
	err = fs.WalkDir(s.root.FS(), blobsDir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sha256 := path.Base(name)
		if known, err := blobName(sha256); err != nil || known != name || needed(sha256) {
			return nil // not ours, or wanted
		}
		s.using.Lock()
		defer s.using.Unlock()
		info, err := s.root.Stat(name)
		if err != nil || !info.ModTime().Before(before) {
			return err
		}
		if err := s.root.Remove(name); err != nil {
			return err
		}
		removed = append(removed, sha256)
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("remove files that nobody needs: %w", err)
	}
	return removed, nil
}
