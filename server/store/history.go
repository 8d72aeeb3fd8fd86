package store

import "encoding/json"

// History lists the finished trials of all searches in the order of their end,
// each with its candidate and search: what the prior is built from. A search's
// and a candidate's JSON is held once and shared by its rows.
func (r *Reader) History() ([]Finished, error) {
	searches, err := r.Searches()
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*Search, len(searches))
	for i := range searches {
		byID[searches[i].ID] = &searches[i]
	}
	type key struct {
		search, id string
		version    int
	}
	list, err := all(r, scanCandidate, "candidates", `SELECT `+candidateColumns+` FROM candidates`)
	if err != nil {
		return nil, err
	}
	candidates := make(map[key]*Candidate, len(list))
	for i := range list {
		c := &list[i]
		candidates[key{c.SearchID, c.ID, c.Version}] = c
	}
	return all(r, func(s scanner) (f Finished, err error) {
		err = s.Scan(&f.TrialID, &f.SearchID, &f.Candidate, &f.CandidateVersion, &f.Seed, &f.State, &f.Kind, &f.Quality,
			&f.Seconds, &f.DeviceClass, intoTime{&f.Ended})
		if err != nil {
			return f, err
		}
		if c := candidates[key{f.SearchID, f.Candidate, f.CandidateVersion}]; c != nil {
			f.Object = c.Object
		}
		if x := byID[f.SearchID]; x != nil {
			f.DatasetVersion, f.Metric, f.Protocol = x.DatasetVersion, x.Metric, x.Protocol
			f.Template, f.Target, f.Profile, f.Rows, f.Parts = x.Template, x.Target, x.Profile, x.Rows, x.Parts
		}
		return f, nil
	}, "history", `SELECT id, search_id, candidate, candidate_version, seed, state, kind, quality, seconds, device_class, ended
		FROM trials WHERE ended IS NOT NULL AND state IN ('ok','stopped','failed') ORDER BY ended, id`)
}

// CountHistory is how many finished trials [Reader.History] lists.
func (r *Reader) CountHistory() (int, error) {
	return one(r, func(s scanner) (n int, err error) { return n, s.Scan(&n) }, "history",
		`SELECT count(*) FROM trials WHERE ended IS NOT NULL AND state IN ('ok','stopped','failed')`)
}

// LastReasons are the decisions of the trials that were made last, the newest
// first, at most so many.
func (r *Reader) LastReasons(limit int) ([]json.RawMessage, error) {
	return all(r, func(s scanner) (j json.RawMessage, err error) { return j, s.Scan(intoJSON{&j}) }, "decisions",
		`SELECT reason FROM trials ORDER BY id DESC LIMIT ?`, limit)
}
