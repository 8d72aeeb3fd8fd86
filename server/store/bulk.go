package store

// bulk runs one prepared statement for each row.
func bulk[T any](tx *Tx, what, query string, rows []T, args func(T) []any) error {
	st, err := tx.tx.PrepareContext(tx.ctx, query)
	if err != nil {
		return named(what, err)
	}
	defer st.Close()
	for _, v := range rows {
		if _, err := st.ExecContext(tx.ctx, args(v)...); err != nil {
			return named(what, err)
		}
	}
	return nil
}

// upTo is a LIMIT: none for a limit ≤ 0.
func upTo(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}
