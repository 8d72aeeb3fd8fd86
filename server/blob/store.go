package blob

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	uploadsDir = "uploads"
	blobsDir   = "blobs"
)

// ErrNotFound says that there is no such upload or blob. Test with errors.Is.
var ErrNotFound = errors.New("not found")

// ErrBadName says that an id is no UUID or a hash no SHA-256 in hexadecimal.
// Test with errors.Is.
var ErrBadName = errors.New("not a valid name")

// Store is a folder of blobs and uploads. Its methods may be called from any
// goroutine; two Stores on one root must not be open at the same time.
type Store struct {
	dir       string
	root      *os.Root
	maxUpload int64
	now       func() time.Time

	mu       sync.Mutex
	partials map[string]*partial
	using    sync.Mutex // of blobs' times of use: none is removed while it is said to be in use
}

// Option sets a limit of a Store.
type Option func(*Store)

// MaxUpload limits the size of one upload, in bytes. 0, as without it: no limit.
func MaxUpload(bytes int64) Option { return func(s *Store) { s.maxUpload = bytes } }

// Open opens the folder root, which it makes if missing (readable by this user
// only).
func Open(root string, options ...Option) (*Store, error) {
	dir, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the folder of files %s: %w", root, err)
	}
	for _, d := range []string{uploadsDir, blobsDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of files: %w", err)
		}
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	s := &Store{dir: dir, root: r, now: time.Now, partials: map[string]*partial{}}
	for _, o := range options {
		o(s)
	}
	return s, nil
}

// Close gives the folder free.
func (s *Store) Close() error { return s.root.Close() }

// Path is where the content with this hash lies, for reading only. To ask for it is
// to use it: see [Store.SweepBlobs].
func (s *Store) Path(sha256 string) (string, error) {
	name, err := blobName(sha256)
	if err != nil {
		return "", err
	}
	if err := s.use(name); err != nil {
		return "", missing("blob", sha256, err)
	}
	return filepath.Join(s.dir, filepath.FromSlash(name)), nil
}

// use notes that a file is used now, by its time of modification.
func (s *Store) use(name string) error {
	s.using.Lock()
	defer s.using.Unlock()
	now := s.now()
	return s.root.Chtimes(name, now, now)
}

// Open opens the content with this hash for reading.
func (s *Store) Open(sha256 string) (*os.File, error) {
	name, err := blobName(sha256)
	if err != nil {
		return nil, err
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, missing("blob", sha256, err)
	}
	return f, nil
}

// blobName is a blob's path in the root; the first two digits make folders of
// a size that every file system likes.
func blobName(sha256 string) (string, error) {
	raw, err := hex.DecodeString(sha256)
	if err != nil || len(raw) != 32 || hex.EncodeToString(raw) != sha256 {
		return "", fmt.Errorf("hash %.80q: %w", sha256, ErrBadName)
	}
	return path.Join(blobsDir, sha256[:2], sha256), nil
}

// uploadName is an upload's path in the root. Only the usual form of a UUID
// will do, so that one upload has one name.
func uploadName(id string) (string, error) {
	u, err := uuid.Parse(id)
	if err != nil || u.String() != id {
		return "", fmt.Errorf("upload id %.80q: %w", id, ErrBadName)
	}
	return path.Join(uploadsDir, id), nil
}

func missing(noun, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %s: %w", noun, name, ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", noun, name, err)
}

// syncDir makes names in a folder last: a rename is on disk only with it.
func (s *Store) syncDir(name string) error {
	if runtime.GOOS == "windows" { // where folders can't be synced
		return nil
	}
	d, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
