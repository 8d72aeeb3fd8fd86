package store

func scanBlob(s scanner) (b Blob, err error) {
	err = s.Scan(&b.SHA256, &b.Size, intoTime{&b.Created})
	return b, err
}

// Blob looks a blob up by the hexadecimal SHA-256 of its content.
func (r *Reader) Blob(sha256 string) (Blob, error) {
	return one(r, scanBlob, "blob "+sha256, `SELECT sha256, size, created FROM blobs WHERE sha256 = ?`, sha256)
}

// BlobOwned says whether a user has sent this content: only then may they find
// it by its hash.
func (r *Reader) BlobOwned(sha256, userID string) (bool, error) {
	n, err := one(r, scanInt64, "blob "+sha256,
		`SELECT count(*) FROM blob_owners WHERE sha256 = ? AND user_id = ?`, sha256, userID)
	return n > 0, err
}

// InsertBlob notes a blob. One that is there already stays as it is.
func (tx *Tx) InsertBlob(sha256 string, size int64) error {
	_, err := tx.exec("blob "+sha256, `INSERT INTO blobs (sha256, size, created) VALUES (?, ?, ?)
		ON CONFLICT (sha256) DO NOTHING`, sha256, size, micros(tx.now))
	return err
}

// OwnBlob makes a user an owner of a blob, if they aren't already.
func (tx *Tx) OwnBlob(sha256, userID string) error {
	_, err := tx.exec("blob "+sha256, `INSERT INTO blob_owners (sha256, user_id) VALUES (?, ?)
		ON CONFLICT (sha256, user_id) DO NOTHING`, sha256, userID)
	return err
}

// DeleteBlob forgets a blob, who sent it, and the uploads that became it. One that
// isn't there is no error.
func (tx *Tx) DeleteBlob(sha256 string) error {
	for _, query := range []string{
		`DELETE FROM uploads WHERE complete AND sha256 = ?`, `DELETE FROM blob_owners WHERE sha256 = ?`, `DELETE FROM blobs WHERE sha256 = ?`,
	} {
		if _, err := tx.exec("blob "+sha256, query, sha256); err != nil {
			return err
		}
	}
	return nil
}
