package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Tx is one write transaction. It has every query of a [Reader], which then
// see what the transaction has written, and the writes. It is valid inside
// the function it was given to, for one goroutine.
type Tx struct {
	Reader
	now    time.Time
	events int // events made so far
}

// Now is the transaction's time, the same in all of it, in UTC and cut to the
// store's microseconds. Events carry it.
func (tx *Tx) Now() time.Time { return tx.now }

// Write runs f in one transaction. Where f returns nil everything it wrote is
// committed and on disk when Write returns; else, or if f panics, none of it
// is there and Write returns f's error as it is (a full or broken disk is put
// into words around it). seq is that of the last event
// f made, or of the last event there is. There is one writer at a time: a
// Write inside f would wait for itself.
//
// Once ctx is done before the commit began, nothing is written and Write
// returns its error.
func (s *Store) Write(ctx context.Context, f func(tx *Tx) error) (seq int64, err error) {
	t, err := s.write.BeginTx(ctx, nil) // BEGIN IMMEDIATE, by the connection's _txlock
	if err != nil {
		return 0, s.failed("begin to write", err)
	}
	defer t.Rollback() // after a commit it does nothing
	seq, err = lastSeq(ctx, t)
	if err != nil {
		return 0, s.failed("read the last event", err)
	}
	tx := &Tx{
		Reader: Reader{ctx: ctx, tx: t, seq: seq},
		now:    s.now().UTC().Truncate(time.Microsecond),
	}
	if err := f(tx); err != nil {
		return 0, s.told(err)
	}
	if err := t.Commit(); err != nil {
		// Once ctx is done database/sql rolls back beside us, and may be first.
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			err = ctx.Err()
		}
		return 0, s.failed("commit", err)
	}
	if tx.events > 0 {
		s.wake()
	}
	return tx.seq, nil
}

// Read runs f on a consistent snapshot: commits made meanwhile are not seen,
// and none waits for it. It returns f's error as [Store.Write] does.
func (s *Store) Read(ctx context.Context, f func(r *Reader) error) error {
	t, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.failed("begin to read", err)
	}
	defer t.Rollback()
	// The first query fixes the snapshot, so seq belongs to all that f reads.
	seq, err := lastSeq(ctx, t)
	if err != nil {
		return s.failed("read the last event", err)
	}
	return s.told(f(&Reader{ctx: ctx, tx: t, seq: seq}))
}

// lastSeq is the seq of the last event ever made, trimmed or not.
func lastSeq(ctx context.Context, t *sql.Tx) (int64, error) {
	var seq int64
	err := t.QueryRowContext(ctx, `SELECT seq FROM sqlite_sequence WHERE name = 'events'`).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return seq, err
}

// Changed returns a channel that is closed by the next commit that has
// events. Take it before reading the log, read, then wait for it: so no event
// is missed.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Store) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}
