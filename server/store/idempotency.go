package store

import "time"

func scanIdempotent(s scanner) (i Idempotent, err error) {
	err = s.Scan(&i.UserID, &i.Key, &i.Request, &i.Status, intoJSON{&i.Body}, intoTime{&i.Created})
	return i, err
}

// Idempotent looks up what a user's request with this key was answered.
func (r *Reader) Idempotent(userID, key string) (Idempotent, error) {
	return one(r, scanIdempotent, "idempotency key "+key, `SELECT user_id, key, request, status, body, created
		FROM idempotency WHERE user_id = ? AND key = ?`, userID, key)
}

// PutIdempotent notes the answer to a request with a key. A key that the user
// has used already is ErrExists.
func (tx *Tx) PutIdempotent(i Idempotent) error {
	_, err := tx.exec("idempotency key "+i.Key, `INSERT INTO idempotency (user_id, key, request, status, body, created)
		VALUES (?, ?, ?, ?, ?, ?)`, i.UserID, i.Key, i.Request, i.Status, text(i.Body), tx.microsOr(i.Created))
	return err
}

// TrimIdempotent forgets the answers that were noted before a time and returns
// how many.
func (tx *Tx) TrimIdempotent(before time.Time) (removed int64, err error) {
	return tx.exec("idempotency keys", `DELETE FROM idempotency WHERE created < ?`, micros(before))
}
