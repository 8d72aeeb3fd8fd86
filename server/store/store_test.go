package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		crash(path) // this process is the one that TestKill kills
	}
	goleak.VerifyTestMain(m)
}

// open opens a new store that is closed with the test.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "easeml.db"))
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func write(t testing.TB, s *Store, f func(tx *Tx) error) int64 {
	t.Helper()
	seq, err := s.Write(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func read(t testing.TB, s *Store, f func(r *Reader) error) {
	t.Helper()
	if err := s.Read(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func TestOpen(t *testing.T) {
	t.Run("odd path", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "Größe 100% #1?", "a&b=c.db")
		s := openAt(t, path)
		write(t, s, func(tx *Tx) error { return tx.InsertUser(User{ID: newID(), Name: "ann"}) })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
		read(t, s, func(r *Reader) error {
			_, err := r.UserByName("ann")
			return err
		})
		for _, p := range []string{path, path + "-wal", path + ".lock"} {
			st, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, want it readable by its user only", p, st.Mode())
			}
		}
	})
	t.Run("twice", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "easeml.db")
		s := openAt(t, path)
		_, err := Open(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), "another server") || !strings.Contains(err.Error(), path) {
			t.Fatalf("a second server: %v", err)
		}
		s.Close()
		openAt(t, path)
	})
	t.Run("closed twice", func(t *testing.T) {
		s := open(t)
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(t.Context(), func(*Tx) error { return nil }); err == nil {
			t.Fatal("a closed store takes writes")
		}
	})
	t.Run("newer schema", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "easeml.db")
		s := openAt(t, path)
		if _, err := s.write.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`); err != nil {
			t.Fatal(err)
		}
		s.Close()
		_, err := Open(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), "newer easeml") || !strings.Contains(err.Error(), "99") {
			t.Fatalf("a newer store: %v", err)
		}
		if _, again := Open(t.Context(), path, nil); again == nil || again.Error() != err.Error() {
			t.Fatalf("the refusal kept the lock: %v", again)
		}
	})
	t.Run("no store", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "easeml.db")
		if err := os.WriteFile(path, []byte(strings.Repeat("a text of somebody's\n", 200)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), "is not an easeml store") {
			t.Fatalf("a text file: %v", err)
		}
	})
	t.Run("network file system", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state", "easeml.db")
		_, err := openOn(t.Context(), path, nil, func(dir string) (string, error) {
			if dir != filepath.Dir(path) {
				t.Errorf("asked about %s", dir)
			}
			return "nfs", nil
		}, false)
		if err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) || !strings.Contains(err.Error(), "(nfs)") {
			t.Fatalf("a network file system: %v", err)
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 0 {
			t.Fatalf("the refusal left %v (%v)", files, err)
		}
	})
	t.Run("folder that can't be made", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), filepath.Join(file, "easeml.db"), nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Fatalf("a folder in a file: %v", err)
		}
	})
}

// The schema comes up, goes down to nothing although its tables have rows
// that refer to each other, and comes up again.
func TestMigrateUpAndDown(t *testing.T) {
	s := open(t)
	fill(t, s)
	p, err := schema(s.write)
	if err != nil {
		t.Fatal(err)
	}
	tables := func() (n int) {
		t.Helper()
		err := s.write.QueryRow(`SELECT count(*) FROM sqlite_master WHERE type IN ('table','index')
			AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	up := tables()
	if _, err := p.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if n := tables(); n != 0 {
		t.Fatalf("%d tables and indices are left after going down", n)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := tables(); n != up {
		t.Fatalf("%d tables and indices after coming up again, %d before", n, up)
	}
	fill(t, s)
}

func TestEveryConnection(t *testing.T) {
	s := open(t)
	for name, db := range map[string]*sql.DB{"write": s.write, "read": s.read} {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000", "synchronous": "2",
		} {
			if name == "read" && pragma == "synchronous" {
				continue // it writes nothing
			}
			var got string
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s connection: %s = %s (%v), want %s", name, pragma, got, err, want)
			}
		}
	}
	if _, err := s.read.Exec(`INSERT INTO users VALUES ('a', 'a', 'user', 0)`); err == nil {
		t.Error("a read connection writes")
	}
}

func TestWriteIsAllOrNothing(t *testing.T) {
	s := open(t)
	id := newID()
	mine := errors.New("mine")
	part := func(tx *Tx) error {
		if err := tx.InsertUser(User{ID: id, Name: "ann"}); err != nil {
			return err
		}
		_, err := tx.Event(TopicUser(id), "notice", nil)
		return err
	}
	changed := s.Changed()
	if _, err := s.Write(t.Context(), func(tx *Tx) error { return errors.Join(part(tx), mine) }); !errors.Is(err, mine) {
		t.Fatalf("f's error came back as %v", err)
	}
	func() {
		defer func() { recover() }()
		s.Write(t.Context(), func(tx *Tx) error { part(tx); panic("f") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := s.Write(ctx, func(tx *Tx) error { err := part(tx); cancel(); return err }); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled before the commit: %v", err)
	}
	read(t, s, func(r *Reader) error {
		if _, err := r.UserByID(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("a failed transaction left a row: %v", err)
		}
		if events, err := r.AllEvents(0, 0); err != nil || len(events) != 0 || r.Seq() != 0 {
			t.Errorf("a failed transaction left events: %v, %v", events, err)
		}
		return nil
	})
	select {
	case <-changed:
		t.Error("a failed transaction woke the log's readers")
	default:
	}
	if seq := write(t, s, part); seq != 1 {
		t.Errorf("the first event that was committed has seq %d", seq)
	}
	<-changed
}

// A disk that fills up fails one transaction, in words, and no other.
func TestFullDisk(t *testing.T) {
	s := open(t)
	pages := func(n int) {
		t.Helper()
		if _, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	event := func(tx *Tx) error {
		_, err := tx.Event(TopicPool, "notice", strings.Repeat("x", 1<<20))
		return err
	}
	pages(1)
	_, err := s.Write(t.Context(), event)
	if err == nil || !strings.Contains(err.Error(), s.path+" is full") {
		t.Fatalf("a full disk: %v", err)
	}
	pages(1 << 20)
	if seq := write(t, s, event); seq != 1 {
		t.Fatalf("after there was room: seq %d", seq)
	}
}

func TestChanged(t *testing.T) {
	s := open(t)
	changed := s.Changed()
	if seq := write(t, s, func(tx *Tx) error { return tx.InsertUser(User{ID: newID(), Name: "ann"}) }); seq != 0 {
		t.Fatalf("a commit without events returned seq %d", seq)
	}
	select {
	case <-changed:
		t.Fatal("a commit without events woke readers")
	default:
	}
	if s.Changed() != changed {
		t.Fatal("the channel changed without a commit")
	}
	event := func(tx *Tx) error {
		_, err := tx.Event(TopicPool, "notice", 1)
		return err
	}
	waiting := make(chan int64, 3) // every waiter is woken, and sees the event
	for range cap(waiting) {
		go func() {
			<-changed
			var seq int64
			if err := s.Read(context.Background(), func(r *Reader) error { seq = r.Seq(); return nil }); err != nil {
				t.Error(err)
			}
			waiting <- seq
		}()
	}
	if seq := write(t, s, event); seq != 1 {
		t.Fatalf("seq %d", seq)
	}
	for range cap(waiting) {
		if seq := <-waiting; seq != 1 {
			t.Errorf("a woken reader saw seq %d", seq)
		}
	}
	if seq := write(t, s, func(tx *Tx) error { return tx.SetUserRole(firstUser(t, tx), "admin") }); seq != 1 {
		t.Fatalf("a commit without events returned seq %d, want that of the last event", seq)
	}
}

func firstUser(t *testing.T, tx *Tx) string {
	t.Helper()
	users, err := tx.Users()
	if err != nil || len(users) == 0 {
		t.Fatalf("users: %v, %v", users, err)
	}
	return users[0].ID
}

// A snapshot stays what it was while commits go on beside it.
func TestSnapshot(t *testing.T) {
	s := open(t)
	event := func(tx *Tx) error {
		_, err := tx.Event(TopicPool, "notice", json.RawMessage(`{"text":"x"}`))
		return err
	}
	write(t, s, event)
	read(t, s, func(r *Reader) error {
		write(t, s, event) // doesn't wait for the reader
		write(t, s, func(tx *Tx) error { return tx.InsertUser(User{ID: newID(), Name: "ann"}) })
		events, err := r.AllEvents(0, 0)
		if err != nil || len(events) != 1 || r.Seq() != 1 {
			t.Errorf("%d events up to %d (%v), want the one of the snapshot", len(events), r.Seq(), err)
		}
		if users, err := r.Users(); err != nil || len(users) != 0 {
			t.Errorf("users %v (%v), want none", users, err)
		}
		return nil
	})
	read(t, s, func(r *Reader) error {
		if r.Seq() != 2 {
			t.Errorf("seq %d, want 2", r.Seq())
		}
		return nil
	})
}

func TestNowIsTheTransactions(t *testing.T) {
	s := open(t)
	at := time.Date(2031, 2, 3, 4, 5, 6, 7_008_009, time.FixedZone("", 3600))
	s.now = func() time.Time { return at }
	want := time.Date(2031, 2, 3, 3, 5, 6, 7_008_000, time.UTC)
	write(t, s, func(tx *Tx) error {
		if tx.Now() != want {
			t.Errorf("Now() = %v, want %v", tx.Now(), want)
		}
		_, err := tx.Event(TopicPool, "notice", nil)
		return errors.Join(err, tx.InsertUser(User{ID: "a", Name: "ann"}))
	})
	read(t, s, func(r *Reader) error {
		u, err := r.UserByID("a")
		e, err2 := r.AllEvents(0, 0)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if u.Created != want || e[0].Time != want {
			t.Errorf("user made %v, event at %v, want %v", u.Created, e[0].Time, want)
		}
		return nil
	})
}

func TestOpenBesideAServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "easeml.db")
	server, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	admin, err := OpenBeside(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	u := User{ID: "u", Name: "ada", Role: "user"}
	if _, err := admin.Write(t.Context(), func(tx *Tx) error { return tx.InsertUser(u) }); err != nil {
		t.Fatal(err)
	}
	if err := admin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Read(t.Context(), func(r *Reader) error {
		_, err := r.UserByName("ada")
		return err
	}); err != nil {
		t.Errorf("the server doesn't see what was written beside it: %v", err)
	}
	if _, err := Open(t.Context(), path, nil); err == nil {
		t.Error("the lock was given away")
	}
}
