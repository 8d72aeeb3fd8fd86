package store

import "fmt"

const trialColumns = `id, search_id, candidate, candidate_version, seed, state, kind, message, quality, result, held_out,
	seconds, charge, device_class, model, reason, created, ended`

func scanTrial(s scanner) (t Trial, err error) {
	err = s.Scan(&t.ID, &t.SearchID, &t.Candidate, &t.CandidateVersion, &t.Seed, &t.State, &t.Kind, &t.Message, &t.Quality,
		intoJSON{&t.Result}, &t.HeldOut, &t.Seconds, &t.Charge, &t.DeviceClass, &t.Model, intoJSON{&t.Reason},
		intoTime{&t.Created}, intoMaybeTime{&t.Ended})
	return t, err
}

// TrialByID looks a trial up by id.
func (r *Reader) TrialByID(id string) (Trial, error) {
	return one(r, scanTrial, "trial "+id, `SELECT `+trialColumns+` FROM trials WHERE id = ?`, id)
}

// TrialByKey looks a trial up by what makes it that trial.
func (r *Reader) TrialByKey(searchID, candidate string, version, seed int) (Trial, error) {
	return one(r, scanTrial, "trial of "+candidate, `SELECT `+trialColumns+` FROM trials
		WHERE search_id = ? AND candidate = ? AND candidate_version = ? AND seed = ?`, searchID, candidate, version, seed)
}

// Trials lists a search's trials in the order they were made.
func (r *Reader) Trials(searchID string) ([]Trial, error) {
	return all(r, scanTrial, "trials of search "+searchID,
		`SELECT `+trialColumns+` FROM trials WHERE search_id = ? ORDER BY created, id`, searchID)
}

// FinishedTrials lists a search's trials that have ended (ok, stopped or
// failed) in the order of their end.
func (r *Reader) FinishedTrials(searchID string) ([]Trial, error) {
	return all(r, scanTrial, "trials of search "+searchID,
		`SELECT `+trialColumns+` FROM trials WHERE search_id = ? AND ended IS NOT NULL ORDER BY ended, id`, searchID)
}

// ActiveTrials lists the trials of all searches that are queued, running or
// paused, in the order they were made.
func (r *Reader) ActiveTrials() ([]Trial, error) {
	return all(r, scanTrial, "trials", `SELECT `+trialColumns+` FROM trials
		WHERE state IN ('queued','running','paused') ORDER BY created, id`)
}

// InsertTrial adds a trial. One with the same key is ErrExists.
func (tx *Tx) InsertTrial(t Trial) error {
	_, err := tx.exec("trial of "+t.Candidate, `INSERT INTO trials (`+trialColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.SearchID, t.Candidate, t.CandidateVersion, t.Seed, t.State, t.Kind, t.Message, t.Quality, text(t.Result), t.HeldOut,
		t.Seconds, t.Charge, t.DeviceClass, t.Model, text(t.Reason), tx.microsOr(t.Created), maybeMicros(t.Ended))
	return err
}

// UpdateTrial writes the whole row but its id, its key (search, candidate,
// version, seed) and Created.
func (tx *Tx) UpdateTrial(t Trial) error {
	return tx.must("trial "+t.ID, `UPDATE trials SET state = ?, kind = ?, message = ?, quality = ?, result = ?, held_out = ?,
		seconds = ?, charge = ?, device_class = ?, model = ?, reason = ?, ended = ? WHERE id = ?`,
		t.State, t.Kind, t.Message, t.Quality, text(t.Result), t.HeldOut,
		t.Seconds, t.Charge, t.DeviceClass, t.Model, text(t.Reason), maybeMicros(t.Ended), t.ID)
}

func scanTaskTrial(s scanner) (t TaskTrial, err error) {
	err = s.Scan(&t.TaskID, &t.Number, &t.TrialID)
	return t, err
}

// TaskTrials lists the numbers a task has given to trials, of all its
// versions, by number.
func (r *Reader) TaskTrials(taskID string) ([]TaskTrial, error) {
	return all(r, scanTaskTrial, "trials of task "+taskID,
		`SELECT task_id, number, trial_id FROM task_trials WHERE task_id = ? ORDER BY number`, taskID)
}

// TaskTrialByNumber looks up which trial a task calls by a number.
func (r *Reader) TaskTrialByNumber(taskID string, number int) (TaskTrial, error) {
	return one(r, scanTaskTrial, fmt.Sprintf("trial %d", number),
		`SELECT task_id, number, trial_id FROM task_trials WHERE task_id = ? AND number = ?`, taskID, number)
}

// TaskTrialNumbers lists the numbers a trial has in the tasks that have seen
// it, dropped ones too.
func (r *Reader) TaskTrialNumbers(trialID string) ([]TaskTrial, error) {
	return all(r, scanTaskTrial, "trial "+trialID,
		`SELECT task_id, number, trial_id FROM task_trials WHERE trial_id = ? ORDER BY task_id`, trialID)
}

// InsertTaskTrial gives a trial its number in a task. A number or trial that
// the task has already is ErrExists.
func (tx *Tx) InsertTaskTrial(t TaskTrial) error {
	_, err := tx.exec(fmt.Sprintf("trial %d", t.Number),
		`INSERT INTO task_trials (task_id, number, trial_id) VALUES (?, ?, ?)`, t.TaskID, t.Number, t.TrialID)
	return err
}
