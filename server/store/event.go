package store

import (
	"encoding/json"
	"fmt"
	"time"
)

// TopicPool is the topic of events about devices.
const TopicPool = "pool"

// TopicTask is the topic of events about a task.
func TopicTask(taskID string) string { return "task:" + taskID }

// TopicUser is the topic of events about a user.
func TopicUser(userID string) string { return "user:" + userID }

const eventColumns = `seq, time, topic, type, data`

func scanEvent(s scanner) (e Event, err error) {
	err = s.Scan(&e.Seq, intoTime{&e.Time}, &e.Topic, &e.Type, intoJSON{&e.Data})
	return e, err
}

// Events lists the events of these topics with Seq > after, at most limit of
// them (all if limit ≤ 0), by Seq. No topics, no events.
func (r *Reader) Events(after int64, topics []string, limit int) ([]Event, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(topics)
	if err != nil {
		return nil, named("events", err)
	}
	// The seqs come from the index by topic alone, one descent a topic, and so
	// the size of the log and of other topics costs nothing. CROSS JOIN keeps
	// that order.
	return all(r, scanEvent, "events", `SELECT `+eventColumns+` FROM events WHERE seq IN (
			SELECT e.seq FROM json_each(?) AS wanted CROSS JOIN events AS e INDEXED BY events_topic
			WHERE e.topic = wanted.value AND e.seq > ? ORDER BY e.seq LIMIT ?)
		ORDER BY seq`, string(list), after, upTo(limit))
}

// AllEvents lists the events of every topic with Seq > after, at most limit of
// them (all if limit ≤ 0), by Seq.
func (r *Reader) AllEvents(after int64, limit int) ([]Event, error) {
	return all(r, scanEvent, "events", `SELECT `+eventColumns+` FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, after, upTo(limit))
}

// OldestEvent is the seq of the oldest event that is kept, or of the next one
// to be made where none is. A reader that has seen all up to since can go on
// from there if since ≥ OldestEvent − 1; else it has to start anew.
func (r *Reader) OldestEvent() (int64, error) {
	return one(r, scanInt64, "events", `SELECT COALESCE(min(seq), ?) FROM events`, r.seq+1)
}

// LastSeq is the seq of the last event, 0 before the first: [Reader.Seq] with
// the signature of the other queries.
func (r *Reader) LastSeq() (int64, error) { return r.seq, nil }

// Event appends an event to the log. data is marshalled to JSON. Seqs rise by
// one from commit to commit, without holes, and are never used again.
func (tx *Tx) Event(topic, typ string, data any) (seq int64, err error) {
	j, err := json.Marshal(data)
	if err != nil {
		return 0, fmt.Errorf("data of event %s: %w", typ, err)
	}
	res, err := tx.tx.ExecContext(tx.ctx, `INSERT INTO events (time, topic, type, data) VALUES (?, ?, ?, ?)`,
		micros(tx.now), topic, typ, string(j))
	if err != nil {
		return 0, named("event "+typ, err)
	}
	seq, err = res.LastInsertId()
	if err != nil {
		return 0, named("event "+typ, err)
	}
	tx.seq = seq
	tx.events++
	return seq, nil
}

// TrimEvents takes the events away that are older than keepAge or not among
// the last keepCount, and returns how many; a limit ≤ 0 doesn't limit.
func (tx *Tx) TrimEvents(keepAge time.Duration, keepCount int64) (removed int64, err error) {
	var keep int64 // the first seq that stays
	if keepCount > 0 {
		keep = tx.seq - keepCount + 1
	}
	if keepAge > 0 {
		// Times follow seqs: the scan ends at the first young one.
		young, err := one(&tx.Reader, scanInt64, "events", `SELECT COALESCE(
			(SELECT seq FROM events WHERE time >= ? ORDER BY seq LIMIT 1), ?)`, micros(tx.now.Add(-keepAge)), tx.seq+1)
		if err != nil {
			return 0, err
		}
		keep = max(keep, young)
	}
	return tx.exec("events", `DELETE FROM events WHERE seq < ?`, keep)
}
