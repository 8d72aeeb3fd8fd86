package store

import "fmt"

const attemptColumns = `trial_id, number, device, device_class, engine, folder, outcome, kind, message, seconds, charge,
	peak_bytes, requeued, started, ended`

func scanAttempt(s scanner) (a Attempt, err error) {
	err = s.Scan(&a.TrialID, &a.Number, &a.Device, &a.DeviceClass, &a.Engine, &a.Folder, &a.Outcome, &a.Kind, &a.Message,
		&a.Seconds, &a.Charge, &a.PeakBytes, &a.Requeued, intoTime{&a.Started}, intoMaybeTime{&a.Ended})
	return a, err
}

// Attempts lists a trial's attempts by number.
func (r *Reader) Attempts(trialID string) ([]Attempt, error) {
	return all(r, scanAttempt, "attempts of trial "+trialID,
		`SELECT `+attemptColumns+` FROM attempts WHERE trial_id = ? ORDER BY number`, trialID)
}

// RunningAttempts lists the attempts of all trials that have no outcome yet,
// in the order they started.
func (r *Reader) RunningAttempts() ([]Attempt, error) {
	return all(r, scanAttempt, "attempts",
		`SELECT `+attemptColumns+` FROM attempts WHERE outcome = '' ORDER BY started, trial_id, number`)
}

// InsertAttempt adds an attempt. A number that the trial has already is
// ErrExists.
func (tx *Tx) InsertAttempt(a Attempt) error {
	_, err := tx.exec(fmt.Sprintf("attempt %d of trial %s", a.Number, a.TrialID), `INSERT INTO attempts (`+attemptColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.TrialID, a.Number, a.Device, a.DeviceClass, a.Engine, a.Folder, a.Outcome, a.Kind, a.Message, a.Seconds, a.Charge,
		a.PeakBytes, a.Requeued, tx.microsOr(a.Started), maybeMicros(a.Ended))
	return err
}

// UpdateAttempt writes the whole row but its trial, number and Started.
func (tx *Tx) UpdateAttempt(a Attempt) error {
	return tx.must(fmt.Sprintf("attempt %d of trial %s", a.Number, a.TrialID), `UPDATE attempts SET device = ?, device_class = ?,
		engine = ?, folder = ?, outcome = ?, kind = ?, message = ?, seconds = ?, charge = ?, peak_bytes = ?, requeued = ?,
		ended = ? WHERE trial_id = ? AND number = ?`,
		a.Device, a.DeviceClass, a.Engine, a.Folder, a.Outcome, a.Kind, a.Message, a.Seconds, a.Charge, a.PeakBytes, a.Requeued,
		maybeMicros(a.Ended), a.TrialID, a.Number)
}
