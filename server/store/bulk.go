package store

import "iter"

// Each yields a list's rows, without an error.
func Each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// bulk runs one prepared insert for each row.
func bulk[T any](tx *Tx, what, query string, rows iter.Seq2[T, error], args func(T) []any) error {
	st, err := tx.tx.PrepareContext(tx.ctx, query)
	if err != nil {
		return named(what, err)
	}
	defer st.Close()
	for v, err := range rows {
		if err != nil {
			return err
		}
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
