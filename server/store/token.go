package store

const tokenColumns = `hash, user_id, label, created, revoked`

func scanToken(s scanner) (t Token, err error) {
	err = s.Scan(&t.Hash, &t.UserID, &t.Label, intoTime{&t.Created}, intoMaybeTime{&t.Revoked})
	return t, err
}

// TokenByHash looks a token up by its SHA-256, revoked or not.
func (r *Reader) TokenByHash(hash []byte) (Token, error) {
	return one(r, scanToken, "token", `SELECT `+tokenColumns+` FROM tokens WHERE hash = ?`, hash)
}

// TokenUser looks up whose token has this SHA-256; a revoked one is
// ErrNotFound.
func (r *Reader) TokenUser(hash []byte) (User, error) {
	return one(r, scanUser, "token", `SELECT u.id, u.name, u.role, u.created FROM tokens t
		JOIN users u ON u.id = t.user_id WHERE t.hash = ? AND t.revoked IS NULL`, hash)
}

// Tokens lists a user's tokens, oldest first, the revoked ones too.
func (r *Reader) Tokens(userID string) ([]Token, error) {
	return all(r, scanToken, "tokens of user "+userID,
		`SELECT `+tokenColumns+` FROM tokens WHERE user_id = ? ORDER BY created, hash`, userID)
}

// InsertToken adds a token by its SHA-256.
func (tx *Tx) InsertToken(t Token) error {
	_, err := tx.exec("token", `INSERT INTO tokens (`+tokenColumns+`) VALUES (?, ?, ?, ?, ?)`,
		t.Hash, t.UserID, t.Label, tx.microsOr(t.Created), maybeMicros(t.Revoked))
	return err
}

// RevokeToken ends a token for ever. One that is revoked already keeps its
// time.
func (tx *Tx) RevokeToken(hash []byte) error {
	return tx.must("token", `UPDATE tokens SET revoked = COALESCE(revoked, ?) WHERE hash = ?`, micros(tx.now), hash)
}
