package store

import (
	"bytes"
	"encoding/json"
)

const searchColumns = `id, dataset_version, metric, protocol, salt, program, template, target, profile, data_path,
	rows, parts, seed, inherits, state, reason, created, settled`

func scanSearch(s scanner) (x Search, err error) {
	err = s.Scan(&x.ID, &x.DatasetVersion, &x.Metric, intoJSON{&x.Protocol}, &x.Salt, &x.Program, &x.Template,
		intoJSON{&x.Target}, intoJSON{&x.Profile}, &x.DataPath, &x.Rows, intoJSON{&x.Parts}, &x.Seed, intoText{&x.Inherits},
		&x.State, &x.Reason, intoTime{&x.Created}, intoMaybeTime{&x.Settled})
	return x, err
}

// SearchByID looks a search up by id.
func (r *Reader) SearchByID(id string) (Search, error) {
	return one(r, scanSearch, "search "+id, `SELECT `+searchColumns+` FROM searches WHERE id = ?`, id)
}

// SearchByKey looks a search up by what makes it that search. The protocol is
// compared as JSON: spaces and the order of keys don't count.
func (r *Reader) SearchByKey(datasetVersion, metric string, protocol json.RawMessage, salt string) (Search, error) {
	return one(r, scanSearch, "search of "+datasetVersion, `SELECT `+searchColumns+` FROM searches
		WHERE dataset_version = ? AND metric = ? AND protocol = ? AND salt = ?`,
		datasetVersion, metric, canonical(protocol), salt)
}

// SearchesOfTasks lists the searches that tasks point to, oldest first.
func (r *Reader) SearchesOfTasks() ([]Search, error) {
	return all(r, scanSearch, "searches", `SELECT `+searchColumns+` FROM searches
		WHERE id IN (SELECT search_id FROM tasks WHERE dropped IS NULL) ORDER BY created, id`)
}

// Searches lists all searches, oldest first.
func (r *Reader) Searches() ([]Search, error) {
	return all(r, scanSearch, "searches", `SELECT `+searchColumns+` FROM searches ORDER BY created, id`)
}

// InsertSearch adds a search. One with the same key is ErrExists.
func (tx *Tx) InsertSearch(x Search) error {
	_, err := tx.exec("search "+x.ID, `INSERT INTO searches (`+searchColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		x.ID, x.DatasetVersion, x.Metric, canonical(x.Protocol), x.Salt, x.Program, x.Template, text(x.Target), text(x.Profile), x.DataPath,
		x.Rows, text(x.Parts), x.Seed, orNull(x.Inherits), x.State, x.Reason, tx.microsOr(x.Created), maybeMicros(x.Settled))
	return err
}

// UpdateSearch writes the whole row but its id, its key (dataset version,
// metric, protocol, salt) and Created.
func (tx *Tx) UpdateSearch(x Search) error {
	return tx.must("search "+x.ID, `UPDATE searches SET program = ?, template = ?, target = ?, profile = ?, data_path = ?,
		rows = ?, parts = ?, seed = ?, inherits = ?, state = ?, reason = ?, settled = ? WHERE id = ?`,
		x.Program, x.Template, text(x.Target), text(x.Profile), x.DataPath,
		x.Rows, text(x.Parts), x.Seed, orNull(x.Inherits), x.State, x.Reason, maybeMicros(x.Settled), x.ID)
}

// canonical is JSON with sorted keys and no spaces; what is no JSON stays.
func canonical(j json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(j)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(j)
	}
	return string(out)
}
