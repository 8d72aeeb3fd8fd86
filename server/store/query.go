package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrNotFound says that there is no such row. Errors name what was looked
// for; test with errors.Is.
var ErrNotFound = errors.New("not found")

// ErrExists says that a row with this key is there already. Test with
// errors.Is.
var ErrExists = errors.New("exists already")

// Reader is a consistent snapshot of the store. It is valid inside the
// function it was given to, for one goroutine.
type Reader struct {
	ctx context.Context
	tx  *sql.Tx
	seq int64
}

// Seq is the seq of the last event this snapshot includes, 0 before the first.
func (r *Reader) Seq() int64 { return r.seq }

// scanner is a row: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// one reads the single row of a query; what names the row in the error.
func one[T any](r *Reader, scan func(scanner) (T, error), what, query string, args ...any) (T, error) {
	v, err := scan(r.tx.QueryRowContext(r.ctx, query, args...))
	if err != nil {
		var zero T
		return zero, named(what, err)
	}
	return v, nil
}

// all reads every row of a query, in its order; nil if there is none.
func all[T any](r *Reader, scan func(scanner) (T, error), what, query string, args ...any) ([]T, error) {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return nil, named(what, err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, named(what, err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		return nil, named(what, err)
	}
	return list, nil
}

// exec runs a statement and returns how many rows it changed.
func (tx *Tx) exec(what, query string, args ...any) (int64, error) {
	res, err := tx.tx.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, named(what, err)
	}
	n, err := res.RowsAffected()
	return n, named(what, err)
}

// must is exec for a statement that has to change a row.
func (tx *Tx) must(what, query string, args ...any) error {
	n, err := tx.exec(what, query, args...)
	if err == nil && n == 0 {
		err = named(what, sql.ErrNoRows)
	}
	return err
}

// named puts what before an error and turns the database's "no rows" and
// "not unique" into the package's own.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
			return fmt.Errorf("%s: %w", what, ErrExists)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// micros is how a time is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOr stores t, or the transaction's time where t is zero.
func (tx *Tx) microsOr(t time.Time) int64 {
	if t.IsZero() {
		t = tx.now
	}
	return micros(t)
}

// maybeMicros stores nil as NULL.
func maybeMicros(t *time.Time) any {
	if t == nil {
		return nil
	}
	return micros(*t)
}

// intoTime scans a stored time.
type intoTime struct{ t *time.Time }

func (d intoTime) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", src)
	}
	*d.t = time.UnixMicro(n).UTC()
	return nil
}

// intoMaybeTime scans a stored time that may be NULL.
type intoMaybeTime struct{ t **time.Time }

func (d intoMaybeTime) Scan(src any) error {
	if src == nil {
		*d.t = nil
		return nil
	}
	var t time.Time
	if err := (intoTime{&t}).Scan(src); err != nil {
		return err
	}
	*d.t = &t
	return nil
}

// text is how JSON is stored: nil as the empty text.
func text(j json.RawMessage) string { return string(j) }

// intoJSON scans stored JSON: the empty text as nil.
type intoJSON struct{ j *json.RawMessage }

func (d intoJSON) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		*d.j = nil
	case string:
		*d.j = nil
		if s != "" {
			*d.j = json.RawMessage(s)
		}
	default:
		return fmt.Errorf("JSON is stored as %T", src)
	}
	return nil
}

// orNull stores the empty text as NULL, for references that may be missing.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// intoText scans text, NULL as the empty one.
type intoText struct{ s *string }

func (d intoText) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		*d.s = ""
	case string:
		*d.s = s
	default:
		return fmt.Errorf("text is stored as %T", src)
	}
	return nil
}

func scanInt64(s scanner) (n int64, err error) {
	err = s.Scan(&n)
	return n, err
}
