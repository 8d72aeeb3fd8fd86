package store

func scanShare(s scanner) (x Share, err error) {
	err = s.Scan(&x.SearchID, &x.Owed, &x.Had, &x.Owes, &x.Having, intoTime{&x.At})
	return x, err
}

// Shares lists what the searches had of the devices, by their ids.
func (r *Reader) Shares() ([]Share, error) {
	return all(r, scanShare, "shares", `SELECT search_id, owed, had, owed_rate, had_rate, at FROM shares ORDER BY search_id`)
}

// Share is what a search had of the devices.
func (r *Reader) Share(searchID string) (Share, error) {
	return one(r, scanShare, "share of search "+searchID, `SELECT search_id, owed, had, owed_rate, had_rate, at FROM shares WHERE search_id = ?`, searchID)
}

// PutShare notes what a search had, in place of what was noted before.
func (tx *Tx) PutShare(x Share) error {
	_, err := tx.exec("share of search "+x.SearchID, `INSERT OR REPLACE INTO shares (search_id, owed, had, owed_rate, had_rate, at)
		VALUES (?, ?, ?, ?, ?, ?)`, x.SearchID, x.Owed, x.Had, x.Owes, x.Having, micros(x.At))
	return err
}
