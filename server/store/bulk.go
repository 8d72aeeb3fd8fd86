package store

// bulk runs one prepared insert for each row of a list.
func bulk[T any](tx *Tx, what, query string, list []T, args func(T) []any) error {
	if len(list) == 0 {
		return nil
	}
	st, err := tx.tx.PrepareContext(tx.ctx, query)
	if err != nil {
		return named(what, err)
	}
	defer st.Close()
	for _, v := range list {
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
