package store

import "fmt"

const feedColumns = `id, task_id, number, key, state, request, folder, read, accepted, known, rejected, profile,
	version, seconds, error, created, ended, as_is`

func scanFeed(s scanner) (f Feed, err error) {
	err = s.Scan(&f.ID, &f.TaskID, &f.Number, &f.Key, &f.State, intoJSON{&f.Request}, &f.Folder,
		&f.Read, &f.Accepted, &f.Known, &f.Rejected, intoJSON{&f.Profile},
		&f.Version, &f.Seconds, intoJSON{&f.Error}, intoTime{&f.Created}, intoMaybeTime{&f.Ended}, &f.AsIs)
	return f, err
}

// FeedByKey looks up the feed of a task that sent this content and did not
// fail: feeding the same again is that feed.
func (r *Reader) FeedByKey(taskID, key string) (Feed, error) {
	return one(r, scanFeed, "feed", `SELECT `+feedColumns+` FROM feeds
		WHERE task_id = ? AND key = ? AND state <> 'failed'`, taskID, key)
}

// Feed looks a task's feed up by its number.
func (r *Reader) Feed(taskID string, number int) (Feed, error) {
	return one(r, scanFeed, fmt.Sprintf("feed %d", number),
		`SELECT `+feedColumns+` FROM feeds WHERE task_id = ? AND number = ?`, taskID, number)
}

// Feeds lists a task's feeds by number.
func (r *Reader) Feeds(taskID string) ([]Feed, error) {
	return all(r, scanFeed, "feeds", `SELECT `+feedColumns+` FROM feeds WHERE task_id = ? ORDER BY number`, taskID)
}

// RunningFeeds lists all feeds that are being read, oldest first; those of
// dropped tasks, which nobody waits for, don't count.
func (r *Reader) RunningFeeds() ([]Feed, error) {
	return all(r, scanFeed, "feeds", `SELECT `+feedColumns+` FROM feeds WHERE state = 'running'
		AND task_id IN (SELECT id FROM tasks WHERE dropped IS NULL) ORDER BY created, id`)
}

// InsertFeed adds a feed. A content that this task has fed already, without
// failing, is ErrExists.
func (tx *Tx) InsertFeed(f Feed) error {
	_, err := tx.exec(fmt.Sprintf("feed %d", f.Number), `INSERT INTO feeds (`+feedColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, f.TaskID, f.Number, f.Key, f.State, text(f.Request), f.Folder, f.Read, f.Accepted, f.Known, f.Rejected,
		text(f.Profile), f.Version, f.Seconds, text(f.Error), tx.microsOr(f.Created), maybeMicros(f.Ended), f.AsIs)
	return err
}

// UpdateFeed writes the whole row but its id, task, number and Created.
func (tx *Tx) UpdateFeed(f Feed) error {
	return tx.must(fmt.Sprintf("feed %d", f.Number), `UPDATE feeds SET key = ?, state = ?, request = ?, folder = ?, read = ?,
		accepted = ?, known = ?, rejected = ?, profile = ?, version = ?, seconds = ?, error = ?, ended = ?, as_is = ? WHERE id = ?`,
		f.Key, f.State, text(f.Request), f.Folder, f.Read,
		f.Accepted, f.Known, f.Rejected, text(f.Profile), f.Version, f.Seconds, text(f.Error), maybeMicros(f.Ended), f.AsIs, f.ID)
}

func scanReject(s scanner) (x Reject, err error) {
	err = s.Scan(&x.N, &x.Source, &x.Row, &x.Line, &x.Column, &x.Value, &x.Reason, &x.Remedy)
	return x, err
}

// Rejects lists rows of a feed that were not accepted, with N > after, at most
// limit of them (all if limit ≤ 0), by N.
func (r *Reader) Rejects(feedID string, after, limit int) ([]Reject, error) {
	return all(r, scanReject, "rejects", `SELECT n, source, row, line, column_, value, reason, remedy FROM rejects
		WHERE feed_id = ? AND n > ? ORDER BY n LIMIT ?`, feedID, after, upTo(limit))
}

// InsertRejects adds rows of a feed that were not accepted. The store gives
// them their N: 1 and on, in this order, after those the feed has already.
func (tx *Tx) InsertRejects(feedID string, rejects []Reject) error {
	n, err := one(&tx.Reader, scanInt64, "rejects", `SELECT COALESCE(max(n), 0) FROM rejects WHERE feed_id = ?`, feedID)
	if err != nil {
		return err
	}
	return bulk(tx, "rejects", `INSERT INTO rejects (feed_id, n, source, row, line, column_, value, reason, remedy)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, rejects, func(x Reject) []any {
		n++
		return []any{feedID, n, x.Source, x.Row, x.Line, x.Column, x.Value, x.Reason, x.Remedy}
	})
}
