package store

const taskColumns = `id, user_id, name, program, template, options, state, reason, stopped, target, profile,
	version, search_id, served, next_example, next_trial, next_feed, created, changed, settled, dropped`

const selectTask = `SELECT t.id, t.user_id, u.name, t.name, t.program, t.template, t.options, t.state, t.reason,
	t.stopped, t.target, t.profile, t.version, t.search_id, t.served, t.next_example, t.next_trial, t.next_feed,
	t.created, t.changed, t.settled, t.dropped FROM tasks t JOIN users u ON u.id = t.user_id `

func scanTask(s scanner) (t Task, err error) {
	err = s.Scan(&t.ID, &t.UserID, &t.User, &t.Name, &t.Program, &t.Template, intoJSON{&t.Options}, &t.State, &t.Reason,
		&t.Stopped, intoJSON{&t.Target}, intoJSON{&t.Profile}, &t.Version, intoText{&t.SearchID}, intoJSON{&t.Served},
		&t.NextExample, &t.NextTrial, &t.NextFeed,
		intoTime{&t.Created}, intoTime{&t.Changed}, intoMaybeTime{&t.Settled}, intoMaybeTime{&t.Dropped})
	return t, err
}

// TaskByName looks a user's task up by its name; dropped ones don't count.
func (r *Reader) TaskByName(userID, name string) (Task, error) {
	return one(r, scanTask, "task "+name,
		selectTask+`WHERE t.user_id = ? AND t.name = ? AND t.dropped IS NULL`, userID, name)
}

// TaskByID looks a task up by id, dropped or not.
func (r *Reader) TaskByID(id string) (Task, error) {
	return one(r, scanTask, "task "+id, selectTask+`WHERE t.id = ?`, id)
}

// Tasks lists a user's tasks that aren't dropped, in the order they were
// declared.
func (r *Reader) Tasks(userID string) ([]Task, error) {
	return all(r, scanTask, "tasks of user "+userID,
		selectTask+`WHERE t.user_id = ? AND t.dropped IS NULL ORDER BY t.created, t.id`, userID)
}

// AllTasks lists everybody's tasks that aren't dropped, in the order they were
// declared.
func (r *Reader) AllTasks() ([]Task, error) {
	return all(r, scanTask, "tasks", selectTask+`WHERE t.dropped IS NULL ORDER BY t.created, t.id`)
}

// TasksOfSearch lists the tasks that point to a search and aren't dropped, in
// the order they were declared.
func (r *Reader) TasksOfSearch(searchID string) ([]Task, error) {
	return all(r, scanTask, "tasks of search "+searchID,
		selectTask+`WHERE t.search_id = ? AND t.dropped IS NULL ORDER BY t.created, t.id`, searchID)
}

// InsertTask adds a task. A name its user has already given to a task that
// isn't dropped is ErrExists. Counters that are 0 start at 1; nil options are
// {}; Task.User is not stored.
func (tx *Tx) InsertTask(t Task) error {
	_, err := tx.exec("task "+t.Name, `INSERT INTO tasks (`+taskColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.UserID, t.Name, t.Program, t.Template, options(t), t.State, t.Reason, t.Stopped, text(t.Target), text(t.Profile),
		t.Version, orNull(t.SearchID), text(t.Served), max(1, t.NextExample), max(1, t.NextTrial), max(1, t.NextFeed),
		tx.microsOr(t.Created), tx.microsOr(t.Changed), maybeMicros(t.Settled), maybeMicros(t.Dropped))
	return err
}

// UpdateTask writes the whole row but its id, its user and Created. Changed is
// written as it stands, or as the transaction's time where it is zero.
func (tx *Tx) UpdateTask(t Task) error {
	return tx.must("task "+t.Name, `UPDATE tasks SET name = ?, program = ?, template = ?, options = ?, state = ?, reason = ?,
		stopped = ?, target = ?, profile = ?, version = ?, search_id = ?, served = ?, next_example = ?, next_trial = ?,
		next_feed = ?, changed = ?, settled = ?, dropped = ? WHERE id = ?`,
		t.Name, t.Program, t.Template, options(t), t.State, t.Reason, t.Stopped, text(t.Target), text(t.Profile),
		t.Version, orNull(t.SearchID), text(t.Served), t.NextExample, t.NextTrial,
		t.NextFeed, tx.microsOr(t.Changed), maybeMicros(t.Settled), maybeMicros(t.Dropped), t.ID)
}

func options(t Task) string {
	if len(t.Options) == 0 {
		return "{}"
	}
	return string(t.Options)
}

// Unerased lists the dropped tasks of which something that was fed is left.
func (r *Reader) Unerased() ([]string, error) {
	return all(r, func(s scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, "tasks", `SELECT id FROM tasks WHERE dropped IS NOT NULL AND id IN (SELECT task_id FROM feeds) ORDER BY id`)
}

// SearchesOnlyOf lists the searches of a dropped task's versions that no other task ever had.
func (r *Reader) SearchesOnlyOf(taskID string) ([]Search, error) {
	return all(r, scanSearch, "searches", `SELECT `+searchColumns+` FROM searches
		WHERE id IN (SELECT search_id FROM versions WHERE task_id = ?1)
		AND id NOT IN (SELECT v.search_id FROM versions AS v JOIN tasks AS t ON t.id = v.task_id WHERE t.dropped IS NULL)
		ORDER BY created, id`, taskID)
}

// ForgetSearch makes a search one that nobody finds again by what it is of, and its trials ones without models. What they reached stays.
func (tx *Tx) ForgetSearch(id string) error {
	if err := tx.must("search "+id, `UPDATE searches SET salt = 'forgotten ' || id WHERE id = ?`, id); err != nil {
		return err
	}
	_, err := tx.exec("trials", `UPDATE trials SET model = '', held_out = NULL WHERE search_id = ?`, id)
	return err
}

// EraseExamples removes at most limit of a task's examples and returns how many.
func (tx *Tx) EraseExamples(taskID string, limit int) (int, error) {
	return tx.deleteExamples(taskID, "0", limit)
}

// EraseFeeds removes a task's feeds, their rejected rows, and its versions.
func (tx *Tx) EraseFeeds(taskID string) error {
	for _, query := range []string{
		`DELETE FROM rejects WHERE feed_id IN (SELECT id FROM feeds WHERE task_id = ?)`,
		`DELETE FROM versions WHERE task_id = ?`,
		`DELETE FROM feeds WHERE task_id = ?`,
	} {
		if _, err := tx.exec("task "+taskID, query, taskID); err != nil {
			return err
		}
	}
	return nil
}
