package store

func scanPrior(s scanner) (p Prior, err error) {
	err = s.Scan(&p.Version, &p.Template, &p.Target, &p.ID, &p.Trials, intoJSON{&p.Body}, intoTime{&p.Created})
	return p, err
}

// NewestPriors lists the last prior of each kind of search, by their versions.
func (r *Reader) NewestPriors() ([]Prior, error) {
	return all(r, scanPrior, "priors", `SELECT version, template, target, id, trials, body, created FROM priors
		WHERE version IN (SELECT max(version) FROM priors GROUP BY template, target) ORDER BY version`)
}

// PriorByID is the prior whose body has this hash.
func (r *Reader) PriorByID(id string) (Prior, error) {
	return one(r, scanPrior, "prior "+id, `SELECT version, template, target, id, trials, body, created FROM priors
		WHERE id = ? ORDER BY version DESC LIMIT 1`, id)
}

// InsertPrior adds a prior and returns the version that it is given: one more
// than any before.
func (tx *Tx) InsertPrior(p Prior) (version int, err error) {
	if _, err := tx.exec("prior "+p.ID, `INSERT INTO priors (template, target, id, trials, body, created) VALUES (?, ?, ?, ?, ?, ?)`,
		p.Template, p.Target, p.ID, p.Trials, text(p.Body), tx.microsOr(p.Created)); err != nil {
		return 0, err
	}
	return one(&tx.Reader, func(s scanner) (v int, err error) { return v, s.Scan(&v) }, "prior "+p.ID, `SELECT last_insert_rowid()`)
}
