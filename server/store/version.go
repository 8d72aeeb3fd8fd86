package store

import "fmt"

const versionColumns = `task_id, number, hash, is_on, is_off, parts, cause, feed, search_id, by_user, changes, created`

func scanVersion(s scanner) (v Version, err error) {
	err = s.Scan(&v.TaskID, &v.Number, &v.Hash, &v.On, &v.Off, intoJSON{&v.Parts}, &v.Cause, &v.Feed, &v.SearchID, &v.By, intoJSON{&v.Changes}, intoTime{&v.Created})
	return v, err
}

// Version looks a task's dataset version up by its number.
func (r *Reader) Version(taskID string, number int) (Version, error) {
	return one(r, scanVersion, fmt.Sprintf("version %d", number),
		`SELECT `+versionColumns+` FROM versions WHERE task_id = ? AND number = ?`, taskID, number)
}

// Versions lists a task's dataset versions by number.
func (r *Reader) Versions(taskID string) ([]Version, error) {
	return all(r, scanVersion, "versions", `SELECT `+versionColumns+` FROM versions WHERE task_id = ? ORDER BY number`, taskID)
}

// InsertVersion adds a dataset version to a task.
func (tx *Tx) InsertVersion(v Version) error {
	_, err := tx.exec(fmt.Sprintf("version %d", v.Number), `INSERT INTO versions (`+versionColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		v.TaskID, v.Number, v.Hash, v.On, v.Off, text(v.Parts), v.Cause, v.Feed, v.SearchID, v.By, text(v.Changes), tx.microsOr(v.Created))
	return err
}
