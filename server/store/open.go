package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Store is an open state file. Its methods may be called from any goroutine.
type Store struct {
	path  string
	log   *slog.Logger
	write *sql.DB // one connection
	read  *sql.DB // several, which can't write
	lock  *os.File
	now   func() time.Time

	mu      sync.Mutex
	changed chan struct{} // closed and made anew by each commit that has events

	closing sync.Once
	closed  error
}

// Open opens the store in the file path, which it makes with its folder if
// missing (readable by this user only), and brings its schema to this
// program's. A second Open of the same path, by any process of this machine,
// is refused until Close; so is a folder on a network file system, where
// SQLite's locks and shared memory don't hold, and a store that a newer
// easeml has written. log may be nil.
func Open(ctx context.Context, path string, log *slog.Logger) (*Store, error) {
	return openOn(ctx, path, log, networkFileSystem, false)
}

// openOn is Open with a way to find out about file systems.
func openOn(ctx context.Context, path string, log *slog.Logger, network func(dir string) (string, error), beside bool) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the state file %s: %w", path, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder %s: %w", dir, err)
	}
	if kind, err := network(dir); err != nil {
		return nil, fmt.Errorf("find out which file system %s is on: %w", dir, err)
	} else if kind != "" {
		return nil, fmt.Errorf("the state folder %s is on a network file system (%s), where the database would be damaged: put it on a local disk, for instance with EASEML_STATE=FOLDER", dir, kind)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil && !(beside && errors.Is(err, errHeld)) {
		return nil, err
	}
	s := &Store{path: path, log: log, lock: lock, now: time.Now, changed: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenBeside opens a store that a running server may have open too: for an
// admin's commands, which write a row and leave. It never changes the schema
// under a server.
func OpenBeside(ctx context.Context, path string, log *slog.Logger) (*Store, error) {
	return openOn(ctx, path, log, networkFileSystem, true)
}

func (s *Store) open(ctx context.Context) error {
	// SQLite gives its side files the mode of this one.
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the state file %s: %w", s.path, err)
	}
	f.Close()

	// synchronous=FULL: a commit is on disk when it returns, so neither a kill
	// nor a power cut takes back what somebody was told.
	s.write, err = sql.Open("sqlite", dsn(s.path, "immediate",
		"journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)"))
	if err != nil {
		return s.failed("open", err)
	}
	s.write.SetMaxOpenConns(1)
	var mode string
	if err := s.write.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return s.failed("open", err)
	}
	if mode != "wal" {
		return fmt.Errorf("the file system of %s can't keep a write-ahead log (journal mode %s): put the state on a local disk, for instance with EASEML_STATE=FOLDER", s.path, mode)
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.read, err = sql.Open("sqlite", dsn(s.path, "deferred", "query_only(1)"))
	if err != nil {
		return s.failed("open", err)
	}
	readers := max(4, runtime.NumCPU())
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return nil
}

// errHeld says that another server has the state.
var errHeld = errors.New("use that one, stop it first, or choose another folder with EASEML_STATE=FOLDER")

// dsn names a database file with what every connection to it begins with.
func dsn(path, lock string, pragmas ...string) string {
	slash := filepath.ToSlash(path)
	if !strings.HasPrefix(slash, "/") {
		slash = "/" + slash // a drive letter
	}
	q := url.Values{"_txlock": {lock}}
	for _, p := range append([]string{"busy_timeout(10000)", "foreign_keys(1)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: slash, RawQuery: q.Encode()}).String()
}

// Close ends all connections and gives the state free for another server.
// Reads and writes under way are waited for. A second Close does nothing.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		if s.read != nil {
			errs = append(errs, s.read.Close())
		}
		if s.write != nil { // last, so that it can fold the log into the file
			errs = append(errs, s.write.Close())
		}
		if s.lock != nil { // closing unlocks; the file stays, or a third server could lock another one
			errs = append(errs, s.lock.Close())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}

// failed names the state file in an error of the database itself.
func (s *Store) failed(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if told := s.told(err); told != err {
		return told
	}
	return fmt.Errorf("%s, in the state file %s: %w", doing, s.path, err)
}

// told says in words what is wrong with the file or its disk; any other error
// it returns as it is.
func (s *Store) told(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // the rest tells more than anybody needs
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the state file %s is not an easeml store: move it away, or choose another folder with EASEML_STATE=FOLDER (%w)", s.path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the state file %s is damaged: put back a copy of it (%w)", s.path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk of the state file %s is full: make room on it (%w)", s.path, err)
	}
	return err
}
