package store

const candidateColumns = `search_id, id, version, ordinal, object, removed`

func scanCandidate(s scanner) (c Candidate, err error) {
	err = s.Scan(&c.SearchID, &c.ID, &c.Version, &c.Ordinal, intoJSON{&c.Object}, intoMaybeTime{&c.Removed})
	return c, err
}

// Candidates lists a search's candidates in the order of their ordinals, the
// removed ones too: finished trials still name them.
func (r *Reader) Candidates(searchID string) ([]Candidate, error) {
	return all(r, scanCandidate, "candidates of search "+searchID,
		`SELECT `+candidateColumns+` FROM candidates WHERE search_id = ? ORDER BY ordinal, id, version`, searchID)
}

// InsertCandidates adds candidates to the searches they name.
func (tx *Tx) InsertCandidates(candidates []Candidate) error {
	return bulk(tx, "candidates", `INSERT INTO candidates (`+candidateColumns+`) VALUES (?, ?, ?, ?, ?, ?)`,
		candidates, func(c Candidate) []any {
			return []any{c.SearchID, c.ID, c.Version, c.Ordinal, text(c.Object), maybeMicros(c.Removed)}
		})
}

// RemoveCandidate marks a candidate as removed; its row and trials stay.
func (tx *Tx) RemoveCandidate(searchID, id string, version int) error {
	return tx.must("candidate "+id, `UPDATE candidates SET removed = COALESCE(removed, ?)
		WHERE search_id = ? AND id = ? AND version = ?`, micros(tx.now), searchID, id, version)
}
