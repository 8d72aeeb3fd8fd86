package store

import "time"

const uploadColumns = `id, user_id, name, size, sha256, complete, created`

func scanUpload(s scanner) (u Upload, err error) {
	err = s.Scan(&u.ID, &u.UserID, &u.Name, &u.Size, &u.SHA256, &u.Complete, intoTime{&u.Created})
	return u, err
}

// Upload looks an upload up by id.
func (r *Reader) Upload(id string) (Upload, error) {
	return one(r, scanUpload, "upload "+id, `SELECT `+uploadColumns+` FROM uploads WHERE id = ?`, id)
}

// UnfinishedUploads lists the uploads that were begun before a time and are
// not complete, oldest first.
func (r *Reader) UnfinishedUploads(before time.Time) ([]Upload, error) {
	return all(r, scanUpload, "uploads", `SELECT `+uploadColumns+` FROM uploads
		WHERE complete = 0 AND created < ? ORDER BY created, id`, micros(before))
}

// InsertUpload adds an upload.
func (tx *Tx) InsertUpload(u Upload) error {
	_, err := tx.exec("upload "+u.ID, `INSERT INTO uploads (`+uploadColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		u.ID, u.UserID, u.Name, u.Size, u.SHA256, u.Complete, tx.microsOr(u.Created))
	return err
}

// UpdateUpload writes what may change of an upload: name, size, SHA256 and
// Complete.
func (tx *Tx) UpdateUpload(u Upload) error {
	return tx.must("upload "+u.ID, `UPDATE uploads SET name = ?, size = ?, sha256 = ?, complete = ? WHERE id = ?`,
		u.Name, u.Size, u.SHA256, u.Complete, u.ID)
}

// DeleteUpload takes an upload's row away; its blob stays.
func (tx *Tx) DeleteUpload(id string) error {
	return tx.must("upload "+id, `DELETE FROM uploads WHERE id = ?`, id)
}
