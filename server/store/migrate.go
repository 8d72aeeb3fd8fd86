package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schema is the list of migrations this program knows.
func schema(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files)
}

// migrate brings the schema up to this program's. A newer one is refused: an
// old program would write rows that the new one doesn't expect.
func (s *Store) migrate(ctx context.Context) error {
	p, err := schema(s.write)
	if err != nil {
		return s.failed("read the migrations", err)
	}
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return s.failed("read the schema's version", err)
	}
	sources := p.ListSources()
	knows := sources[len(sources)-1].Version
	if has > knows {
		return fmt.Errorf("the state file %s was written by a newer easeml (its schema is %d, this program knows %d): start that version, or put back a copy made before the upgrade", s.path, has, knows)
	}
	if s.lock == nil && has < knows {
		return fmt.Errorf("the server that has %s open is of an older easeml (its schema is %d, this program knows %d): use the program that it was started with", s.path, has, knows)
	}
	done, err := p.Up(ctx)
	if err != nil {
		return s.failed("bring the schema up to date", err)
	}
	if len(done) > 0 {
		s.log.Info("state file migrated", "file", s.path, "from", has, "to", knows)
	}
	return nil
}
