package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 678_901_000, time.UTC)

func later(d time.Duration) *time.Time { t := t0.Add(d); return &t }
func ptr[T any](v T) *T                { return &v }
func raw(s string) json.RawMessage     { return json.RawMessage(s) }

// filled is one row of every kind, all fields set.
type filled struct {
	user      User
	token     Token
	upload    Upload
	search    Search
	candidate []Candidate
	task      Task
	feed      Feed
	rejects   []Reject
	examples  []Example
	version   Version
	trial     Trial
	attempt   Attempt
	taskTrial TaskTrial
	share     Share
	prior     Prior
	answer    Idempotent
}

func fill(t testing.TB, s *Store) filled {
	t.Helper()
	f := filled{}
	f.user = User{ID: newID(), Name: "ann", Role: "admin", Created: t0}
	f.token = Token{Hash: []byte("0123456789abcdef0123456789abcdef"), UserID: f.user.ID, Label: "laptop", Created: t0}
	f.upload = Upload{ID: newID(), UserID: f.user.ID, Name: "digits.npz", Size: 5, SHA256: "ab12", Created: t0}
	f.search = Search{ID: newID(), DatasetVersion: "sha256:d", Metric: "accuracy", Protocol: raw(`{"k":5,"kind":"folds"}`),
		Salt: f.user.ID, Program: "{input…}", Template: "table", Target: raw(`{"kind":"classes"}`), Profile: raw(`{"rows":3}`),
		DataPath: "/data/d", Rows: 3, Parts: raw(`{"train":2,"validation":0,"test":1}`), Seed: 7, State: "open", Reason: "", Created: t0}
	f.candidate = []Candidate{
		{SearchID: f.search.ID, ID: "svm-rbf.c10", Version: 1, Ordinal: 0, Object: raw(`{"id":"svm-rbf.c10"}`)},
		{SearchID: f.search.ID, ID: "resnet18+f0.4", Version: 2, Ordinal: 1, Object: raw(`{"id":"resnet18+f0.4"}`)},
	}
	f.task = Task{ID: newID(), UserID: f.user.ID, User: "ann", Name: "digits", Program: "{input…}", Template: "table",
		Options: raw(`{"metric":"accuracy"}`), State: "searching", Reason: "r", Stopped: true, Target: raw(`{"kind":"classes"}`),
		Profile: raw(`{"rows":3}`), Version: 1, SearchID: f.search.ID, Served: raw(`{"trial":1}`), NextExample: 4, NextTrial: 2,
		NextFeed: 2, Created: t0, Changed: t0.Add(time.Second), Settled: later(time.Minute)}
	f.feed = Feed{ID: newID(), TaskID: f.task.ID, Number: 1, Key: "k", State: "ended", Request: raw(`{"sources":[]}`), Folder: "/feeds/1",
		Read: 5, Accepted: 3, Known: 1, Rejected: 1, Profile: raw(`{"rows":3}`), Version: 1, Seconds: 0.25, Error: raw(`{"detail":"d"}`),
		Created: t0, Ended: later(time.Second)}
	f.rejects = []Reject{
		{N: 1, Source: "a.csv", Row: 2, Line: ptr(int64(3)), Column: "x", Value: "abc", Reason: "no number", Remedy: "write a number"},
		{N: 2, Source: "a.npz", Row: 9, Reason: "infinite"},
	}
	for i, part := range []string{"train", "train", "test"} {
		f.examples = append(f.examples, Example{Number: i + 1, ExampleHash: "e" + part, InputHash: "i", Label: []string{"a", "b", "a"}[i],
			Part: part, Feed: 1, Version: 1, Source: "a.csv", Row: int64(i), On: true})
	}
	f.version = Version{TaskID: f.task.ID, Number: 1, Hash: "sha256:d", On: 3, Off: 0, Parts: raw(`{"train":2,"validation":0,"test":1}`),
		Cause: "feed", Feed: ptr(1), SearchID: f.search.ID, Created: t0}
	f.trial = Trial{ID: newID(), SearchID: f.search.ID, Candidate: "svm-rbf.c10", CandidateVersion: 1, Seed: 7, State: "running",
		Reason: raw(`{"policy":"hybrid"}`), Created: t0}
	f.attempt = Attempt{TrialID: f.trial.ID, Number: 1, Device: "cpu0", DeviceClass: "cpu1", Engine: "local", Folder: "/trials/1/1", Started: t0}
	f.taskTrial = TaskTrial{TaskID: f.task.ID, Number: 1, TrialID: f.trial.ID}
	f.share = Share{SearchID: f.search.ID, Owed: 3.5, Had: 2, Owes: 0.5, Having: 1, At: t0}
	f.prior = Prior{Version: 1, Template: "table", Target: "classes", ID: "sha256:p", Trials: 12, Body: raw(`{"rows":3}`), Created: t0}
	f.answer = Idempotent{UserID: f.user.ID, Key: "key", Request: "hash", Status: 201, Body: raw(`{"a":1}`), Created: t0}
	write(t, s, func(tx *Tx) error {
		_, event := tx.Event(TopicTask(f.task.ID), "task.declared", map[string]string{"name": "digits"})
		return errors.Join(event,
			tx.InsertUser(f.user), tx.InsertToken(f.token), tx.InsertUpload(f.upload), tx.InsertBlob("ab12", 5), tx.OwnBlob("ab12", f.user.ID),
			tx.InsertSearch(f.search), tx.InsertCandidates(f.candidate), tx.InsertTask(f.task), tx.InsertFeed(f.feed),
			tx.InsertRejects(f.feed.ID, f.rejects), tx.InsertExamples(f.task.ID, f.examples), tx.InsertVersion(f.version),
			tx.InsertTrial(f.trial), tx.InsertAttempt(f.attempt), tx.InsertTaskTrial(f.taskTrial), tx.PutShare(f.share), tx.PutIdempotent(f.answer))
	})
	write(t, s, func(tx *Tx) error { same(t, "InsertPrior", 1)(tx.InsertPrior(f.prior)); return nil })
	return f
}

// same checks what a query gave; use it as same(t, "name", want)(query()).
func same[T any](t testing.TB, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
}

// none checks that a query found nothing.
func none[T any](t testing.TB, what string) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v; want ErrNotFound", what, got, err)
		}
	}
}

// Every row comes back as it was put in, by every query that should find it.
func TestRows(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	check := func(r *Reader) error {
		t.Helper()
		same(t, "UserByID", f.user)(r.UserByID(f.user.ID))
		same(t, "UserByName", f.user)(r.UserByName("ann"))
		same(t, "Users", []User{f.user})(r.Users())
		same(t, "TokenByHash", f.token)(r.TokenByHash(f.token.Hash))
		same(t, "TokenUser", f.user)(r.TokenUser(f.token.Hash))
		same(t, "Tokens", []Token{f.token})(r.Tokens(f.user.ID))
		same(t, "Upload", f.upload)(r.Upload(f.upload.ID))
		same(t, "UnfinishedUploads", []Upload{f.upload})(r.UnfinishedUploads(t0.Add(1 * time.Second)))
		same(t, "UnfinishedUploads", []Upload(nil))(r.UnfinishedUploads(t0))
		same(t, "BlobOwned", true)(r.BlobOwned("ab12", f.user.ID))
		same(t, "BlobOwned", false)(r.BlobOwned("ab12", "nobody"))
		if b, err := r.Blob("ab12"); err != nil || b.Size != 5 {
			t.Errorf("Blob: %+v, %v", b, err)
		}
		same(t, "SearchByID", f.search)(r.SearchByID(f.search.ID))
		same(t, "SearchByKey", f.search)(r.SearchByKey("sha256:d", "accuracy", raw(`{"kind": "folds", "k": 5}`), f.user.ID))
		none[Search](t, "SearchByKey")(r.SearchByKey("sha256:d", "accuracy", raw(`{"kind":"folds","k":4}`), f.user.ID))
		same(t, "Searches", []Search{f.search})(r.Searches())
		same(t, "SearchesOfTasks", []Search{f.search})(r.SearchesOfTasks())
		same(t, "Candidates", f.candidate)(r.Candidates(f.search.ID))
		same(t, "TaskByID", f.task)(r.TaskByID(f.task.ID))
		same(t, "TaskByName", f.task)(r.TaskByName(f.user.ID, "digits"))
		same(t, "Tasks", []Task{f.task})(r.Tasks(f.user.ID))
		same(t, "AllTasks", []Task{f.task})(r.AllTasks())
		same(t, "TasksOfSearch", []Task{f.task})(r.TasksOfSearch(f.search.ID))
		same(t, "Feed", f.feed)(r.Feed(f.task.ID, 1))
		same(t, "FeedByKey", f.feed)(r.FeedByKey(f.task.ID, "k"))
		same(t, "Feeds", []Feed{f.feed})(r.Feeds(f.task.ID))
		same(t, "RunningFeeds", []Feed(nil))(r.RunningFeeds())
		same(t, "Rejects", f.rejects)(r.Rejects(f.feed.ID, 0, 0))
		same(t, "Rejects", f.rejects[1:])(r.Rejects(f.feed.ID, 1, 0))
		same(t, "Rejects", f.rejects[:1])(r.Rejects(f.feed.ID, 0, 1))
		same(t, "AllExamples", f.examples)(r.AllExamples(f.task.ID))
		same(t, "Examples after", f.examples[1:2])(r.Examples(f.task.ID, 1, 1, ExampleFilter{}))
		same(t, "Examples of a part", f.examples[2:])(r.Examples(f.task.ID, 0, 0, ExampleFilter{Part: "test"}))
		same(t, "Examples that are off", []Example(nil))(r.Examples(f.task.ID, 0, 0, ExampleFilter{On: ptr(false)}))
		same(t, "ExampleCounts", ExampleCounts{On: 3, Train: 2, Test: 1})(r.ExampleCounts(f.task.ID))
		same(t, "LabelCounts", map[string]int{"a": 2, "b": 1})(r.LabelCounts(f.task.ID))
		same(t, "Version", f.version)(r.Version(f.task.ID, 1))
		same(t, "Versions", []Version{f.version})(r.Versions(f.task.ID))
		same(t, "TrialByID", f.trial)(r.TrialByID(f.trial.ID))
		same(t, "TrialByKey", f.trial)(r.TrialByKey(f.search.ID, "svm-rbf.c10", 1, 7))
		same(t, "Trials", []Trial{f.trial})(r.Trials(f.search.ID))
		same(t, "ActiveTrials", []Trial{f.trial})(r.ActiveTrials())
		same(t, "FinishedTrials", []Trial(nil))(r.FinishedTrials(f.search.ID))
		same(t, "Attempts", []Attempt{f.attempt})(r.Attempts(f.trial.ID))
		same(t, "RunningAttempts", []Attempt{f.attempt})(r.RunningAttempts())
		same(t, "TaskTrials", []TaskTrial{f.taskTrial})(r.TaskTrials(f.task.ID))
		same(t, "TaskTrialByNumber", f.taskTrial)(r.TaskTrialByNumber(f.task.ID, 1))
		same(t, "TaskTrialNumbers", []TaskTrial{f.taskTrial})(r.TaskTrialNumbers(f.trial.ID))
		same(t, "Share", f.share)(r.Share(f.search.ID))
		same(t, "Shares", []Share{f.share})(r.Shares())
		same(t, "NewestPriors", []Prior{f.prior})(r.NewestPriors())
		same(t, "PriorByID", f.prior)(r.PriorByID("sha256:p"))
		none[Prior](t, "PriorByID")(r.PriorByID("sha256:x"))
		same(t, "CountHistory", 0)(r.CountHistory())
		same(t, "Idempotent", f.answer)(r.Idempotent(f.user.ID, "key"))
		same(t, "History", []Finished(nil))(r.History())
		return nil
	}
	read(t, s, check)
	write(t, s, func(tx *Tx) error { return check(&tx.Reader) })

	// Everything is there after a restart, too.
	s.Close()
	s = openAt(t, s.path)
	read(t, s, check)
}

func TestUpdates(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	old := f.task
	f.upload.Complete = true
	f.search.State, f.search.Reason, f.search.Settled = "settled", "exhausted", later(time.Hour)
	f.task.State, f.task.Reason, f.task.Stopped, f.task.Served, f.task.Version = "settled", "exhausted", false, nil, 2
	f.task.NextExample, f.task.NextTrial, f.task.NextFeed, f.task.Changed, f.task.Settled = 9, 8, 7, t0.Add(time.Hour), nil
	f.feed.State, f.feed.Error, f.feed.Profile, f.feed.Seconds = "failed", raw(`{"detail":"e"}`), nil, 2
	f.trial.State, f.trial.Quality, f.trial.Result, f.trial.HeldOut = "ok", ptr(0.9), raw(`{"n":1}`), []byte{1, 0, 2}
	f.trial.Seconds, f.trial.Charge, f.trial.DeviceClass, f.trial.Model, f.trial.Ended = 1.5, 3, "cpu1", "/m", later(time.Minute)
	f.attempt.Outcome, f.attempt.Seconds, f.attempt.PeakBytes, f.attempt.Requeued, f.attempt.Ended = "ok", 1.5, 1<<40, true, later(time.Minute)
	f.user.Role = "user"
	f.share.Had, f.share.Owes, f.share.At = 5, 0, t0.Add(time.Minute)
	other, second := f.prior, f.prior
	other.Version, other.Target = 2, "numbers"
	second.Version, second.ID = 3, "sha256:q"
	write(t, s, func(tx *Tx) error {
		changed, err := tx.SetExamplesOn(f.task.ID, []int{1, 3, 77}, false)
		if changed != 2 {
			t.Errorf("%d examples were switched off, want 2", changed)
		}
		again, err2 := tx.SetExamplesOn(f.task.ID, []int{1, 2, 3}, false)
		if again != 1 {
			t.Errorf("%d examples were switched off after that, want 1", again)
		}
		on, err3 := tx.SetExamplesOn(f.task.ID, []int{1}, true)
		if on != 1 {
			t.Errorf("%d examples were switched on, want 1", on)
		}
		return errors.Join(err, err2, err3, tx.SetUserRole(f.user.ID, "user"), tx.UpdateUpload(f.upload), tx.UpdateSearch(f.search),
			tx.UpdateTask(f.task), tx.UpdateFeed(f.feed), tx.UpdateTrial(f.trial), tx.UpdateAttempt(f.attempt),
			tx.RemoveCandidate(f.search.ID, "resnet18+f0.4", 2), tx.RevokeToken(f.token.Hash),
			tx.InsertBlob("ab12", 5), tx.OwnBlob("ab12", f.user.ID), tx.PutShare(f.share)) // what is there stays
	})
	// Each kind has its newest prior, and one version is used once.
	write(t, s, func(tx *Tx) error {
		same(t, "InsertPrior", 2)(tx.InsertPrior(other))
		same(t, "InsertPrior", 3)(tx.InsertPrior(second))
		return nil
	})
	read(t, s, func(r *Reader) error {
		same(t, "UserByID", f.user)(r.UserByID(f.user.ID))
		same(t, "Upload", f.upload)(r.Upload(f.upload.ID))
		same(t, "UnfinishedUploads", []Upload(nil))(r.UnfinishedUploads(t0.Add(time.Hour)))
		same(t, "SearchByID", f.search)(r.SearchByID(f.search.ID))
		same(t, "TaskByID", f.task)(r.TaskByID(f.task.ID))
		same(t, "Feed", f.feed)(r.Feed(f.task.ID, 1))
		none[Feed](t, "FeedByKey of a failed feed")(r.FeedByKey(f.task.ID, "k"))
		same(t, "TrialByID", f.trial)(r.TrialByID(f.trial.ID))
		same(t, "ActiveTrials", []Trial(nil))(r.ActiveTrials())
		same(t, "FinishedTrials", []Trial{f.trial})(r.FinishedTrials(f.search.ID))
		same(t, "Attempts", []Attempt{f.attempt})(r.Attempts(f.trial.ID))
		same(t, "RunningAttempts", []Attempt(nil))(r.RunningAttempts())
		same(t, "Shares", []Share{f.share})(r.Shares())
		same(t, "NewestPriors", []Prior{other, second})(r.NewestPriors())
		same(t, "CountHistory", 1)(r.CountHistory())
		same(t, "ExampleCounts", ExampleCounts{On: 1, Off: 2, Train: 1})(r.ExampleCounts(f.task.ID))
		same(t, "LabelCounts", map[string]int{"a": 1})(r.LabelCounts(f.task.ID))
		none[User](t, "TokenUser of a revoked token")(r.TokenUser(f.token.Hash))
		if tok, err := r.TokenByHash(f.token.Hash); err != nil || tok.Revoked == nil {
			t.Errorf("TokenByHash: %+v, %v; want it revoked", tok, err)
		}
		cs, err := r.Candidates(f.search.ID)
		if err != nil || len(cs) != 2 || cs[0].Removed != nil || cs[1].Removed == nil {
			t.Errorf("Candidates: %+v, %v; want the second removed", cs, err)
		}
		same(t, "History", []Finished{{TrialID: f.trial.ID, SearchID: f.search.ID, Candidate: "svm-rbf.c10", CandidateVersion: 1, Seed: 7,
			State: "ok", Quality: ptr(0.9), Seconds: 1.5, DeviceClass: "cpu1", Ended: *f.trial.Ended, Object: f.candidate[0].Object,
			DatasetVersion: "sha256:d", Metric: "accuracy", Protocol: f.search.Protocol, Template: "table", Target: f.search.Target,
			Profile: f.search.Profile, Rows: 3, Parts: f.search.Parts}})(r.History())
		return nil
	})

	// A dropped task gives its name free and is found by its id only.
	f.task.State, f.task.Dropped = "dropped", later(time.Hour)
	next := old
	next.ID, next.SearchID = newID(), ""
	write(t, s, func(tx *Tx) error { return errors.Join(tx.UpdateTask(f.task), tx.InsertTask(next)) })
	read(t, s, func(r *Reader) error {
		same(t, "TaskByName", next)(r.TaskByName(f.user.ID, "digits"))
		same(t, "TaskByID of a dropped task", f.task)(r.TaskByID(f.task.ID))
		same(t, "AllTasks", []Task{next})(r.AllTasks())
		same(t, "TasksOfSearch", []Task(nil))(r.TasksOfSearch(f.search.ID))
		same(t, "SearchesOfTasks", []Search(nil))(r.SearchesOfTasks())
		return nil
	})

	// Rejects are numbered on; a feed of a dropped task is not taken up again.
	more := f.feed
	more.ID, more.Number, more.Key, more.State = newID(), 2, "k2", "running"
	orphan := more
	orphan.ID, orphan.Number, orphan.Key = newID(), 3, "k3"
	more.TaskID = next.ID
	write(t, s, func(tx *Tx) error {
		return errors.Join(tx.InsertFeed(more), tx.InsertFeed(orphan), tx.InsertRejects(f.feed.ID, f.rejects[:1]))
	})
	read(t, s, func(r *Reader) error {
		same(t, "RunningFeeds", []Feed{more})(r.RunningFeeds())
		third := f.rejects[0]
		third.N = 3
		same(t, "Rejects", []Reject{third})(r.Rejects(f.feed.ID, 2, 0))
		return nil
	})
	write(t, s, func(tx *Tx) error { return tx.DeleteUpload(f.upload.ID) })
	read(t, s, func(r *Reader) error { none[Upload](t, "Upload")(r.Upload(f.upload.ID)); return nil })
}

func TestNotFoundAndExists(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	write(t, s, func(tx *Tx) error {
		none[User](t, "UserByName")(tx.UserByName("bob"))
		none[User](t, "UserByID")(tx.UserByID("x"))
		none[Token](t, "TokenByHash")(tx.TokenByHash([]byte("x")))
		none[Upload](t, "Upload")(tx.Upload("x"))
		none[Blob](t, "Blob")(tx.Blob("x"))
		none[Task](t, "TaskByName")(tx.TaskByName(f.user.ID, "x"))
		none[Task](t, "TaskByID")(tx.TaskByID("x"))
		none[Feed](t, "Feed")(tx.Feed(f.task.ID, 9))
		none[Version](t, "Version")(tx.Version(f.task.ID, 9))
		none[Search](t, "SearchByID")(tx.SearchByID("x"))
		none[Trial](t, "TrialByID")(tx.TrialByID("x"))
		none[Trial](t, "TrialByKey")(tx.TrialByKey(f.search.ID, "svm-rbf.c10", 1, 8))
		none[TaskTrial](t, "TaskTrialByNumber")(tx.TaskTrialByNumber(f.task.ID, 9))
		none[Share](t, "Share")(tx.Share("x"))
		none[Idempotent](t, "Idempotent")(tx.Idempotent(f.user.ID, "x"))
		for what, err := range map[string]error{
			"SetUserRole": tx.SetUserRole("x", "user"), "RevokeToken": tx.RevokeToken([]byte("x")), "UpdateUpload": tx.UpdateUpload(Upload{ID: "x"}),
			"DeleteUpload": tx.DeleteUpload("x"), "UpdateTask": tx.UpdateTask(Task{ID: "x", State: "declared"}),
			"UpdateFeed": tx.UpdateFeed(Feed{ID: "x", State: "ended"}), "UpdateSearch": tx.UpdateSearch(Search{ID: "x", State: "open"}),
			"RemoveCandidate": tx.RemoveCandidate(f.search.ID, "svm-rbf.c10", 9), "UpdateTrial": tx.UpdateTrial(Trial{ID: "x", State: "ok"}),
			"UpdateAttempt": tx.UpdateAttempt(Attempt{TrialID: f.trial.ID, Number: 9}),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", what, err)
			}
		}
		task, feed, search, trial := f.task, f.feed, f.search, f.trial
		task.ID, feed.ID, feed.Number, feed.State, search.ID, trial.ID = newID(), newID(), 2, "running", newID(), newID()
		search.Protocol = raw(`{ "kind": "folds", "k": 5 }`) // the same protocol
		for what, err := range map[string]error{
			"InsertUser": tx.InsertUser(User{ID: newID(), Name: "ann"}), "InsertToken": tx.InsertToken(f.token), "InsertTask": tx.InsertTask(task),
			"InsertFeed": tx.InsertFeed(feed), "InsertSearch": tx.InsertSearch(search), "InsertTrial": tx.InsertTrial(trial),
			"InsertAttempt": tx.InsertAttempt(f.attempt), "InsertTaskTrial": tx.InsertTaskTrial(f.taskTrial),
			"InsertExamples": tx.InsertExamples(f.task.ID, f.examples), "InsertVersion": tx.InsertVersion(f.version),
			"InsertCandidates": tx.InsertCandidates(f.candidate), "InsertUpload": tx.InsertUpload(f.upload), "PutIdempotent": tx.PutIdempotent(f.answer),
		} {
			if !errors.Is(err, ErrExists) {
				t.Errorf("%s: %v, want ErrExists", what, err)
			}
		}
		// References that point to nothing are refused.
		task.Name, task.SearchID = "other", "x"
		if err := tx.InsertTask(task); err == nil {
			t.Error("a task of no search was taken")
		}
		return nil
	})
}

// What a feed has written of its examples is nobody's before the task's next number is
// past it, and can be removed without touching what is.
func TestExamplesOnTheirWay(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	late := make([]Example, 5)
	for i := range late {
		late[i] = f.examples[0]
		late[i].Number, late[i].Label = f.task.NextExample+i, "c"
	}
	insert := func() { write(t, s, func(tx *Tx) error { return tx.InsertExamples(f.task.ID, late) }) }
	see := func(want []Example) {
		t.Helper()
		labels := map[string]int{}
		numbers := []int{1}
		for _, e := range want {
			labels[e.Label]++
		}
		for _, e := range late {
			numbers = append(numbers, e.Number)
		}
		read(t, s, func(r *Reader) error {
			same(t, "AllExamples", want)(r.AllExamples(f.task.ID))
			same(t, "Examples", want[1:])(r.Examples(f.task.ID, 1, 0, ExampleFilter{}))
			same(t, "LabelCounts", labels)(r.LabelCounts(f.task.ID))
			same(t, "ExamplesOf", append([]Example{want[0]}, want[3:]...))(r.ExamplesOf(f.task.ID, numbers))
			if c, err := r.ExampleCounts(f.task.ID); c.On != len(want) || err != nil {
				t.Errorf("ExampleCounts: %+v, %v", c, err)
			}
			var each []Example
			for e, err := range r.EachExample(f.task.ID) {
				if err != nil {
					return err
				}
				each = append(each, e)
			}
			same(t, "EachExample", want)(each, nil)
			return nil
		})
	}
	insert()
	see(f.examples)
	for _, want := range []int{3, 2, 0} {
		write(t, s, func(tx *Tx) error { same(t, "DiscardExamples", want)(tx.DiscardExamples(f.task.ID, 3)); return nil })
	}
	insert()
	f.task.NextExample += len(late)
	write(t, s, func(tx *Tx) error { return tx.UpdateTask(f.task) })
	see(append(f.examples, late...))
	write(t, s, func(tx *Tx) error { same(t, "DiscardExamples", 0)(tx.DiscardExamples(f.task.ID, 3)); return nil })
}

// Of a dropped task everything that was fed goes, of others nothing; what its searches found stays.
func TestEraseTask(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	read(t, s, func(r *Reader) error { same(t, "Unerased", []string(nil))(r.Unerased()); return nil })
	now := t0.Add(time.Hour)
	f.task.State, f.task.Dropped = "dropped", &now
	other := f.task
	other.ID, other.Name, other.State, other.Dropped = newID(), "other", "searching", nil
	write(t, s, func(tx *Tx) error {
		return errors.Join(tx.UpdateTask(f.task), tx.InsertTask(other), tx.InsertExamples(other.ID, f.examples))
	})
	read(t, s, func(r *Reader) error { same(t, "Unerased", []string{f.task.ID})(r.Unerased()); return nil })
	read(t, s, func(r *Reader) error {
		same(t, "SearchesOnlyOf", []Search{f.search})(r.SearchesOnlyOf(f.task.ID))
		return nil
	})
	shared := f.version
	shared.TaskID = other.ID
	write(t, s, func(tx *Tx) error { return tx.InsertVersion(shared) })
	read(t, s, func(r *Reader) error {
		same(t, "SearchesOnlyOf, shared", []Search(nil))(r.SearchesOnlyOf(f.task.ID))
		return nil
	})
	for _, want := range []int{2, 1, 0} {
		write(t, s, func(tx *Tx) error { same(t, "EraseExamples", want)(tx.EraseExamples(f.task.ID, 2)); return nil })
	}
	write(t, s, func(tx *Tx) error { return tx.EraseFeeds(f.task.ID) })
	read(t, s, func(r *Reader) error {
		same(t, "Unerased", []string(nil))(r.Unerased())
		same(t, "AllExamples", []Example(nil))(r.AllExamples(f.task.ID))
		same(t, "AllExamples of another", f.examples)(r.AllExamples(other.ID))
		same(t, "Feeds", []Feed(nil))(r.Feeds(f.task.ID))
		same(t, "Rejects", []Reject(nil))(r.Rejects(f.feed.ID, 0, 0))
		same(t, "Versions", []Version(nil))(r.Versions(f.task.ID))
		same(t, "Trials", []Trial{f.trial})(r.Trials(f.search.ID))
		return nil
	})
	trial := f.trial
	trial.Model, trial.HeldOut = "/trials/1/1/model", []byte{1}
	write(t, s, func(tx *Tx) error { return errors.Join(tx.UpdateTrial(trial), tx.ForgetSearch(f.search.ID)) })
	read(t, s, func(r *Reader) error {
		same(t, "Trials", []Trial{f.trial})(r.Trials(f.search.ID))
		none[Search](t, "SearchByKey")(r.SearchByKey(f.search.DatasetVersion, f.search.Metric, f.search.Protocol, f.search.Salt))
		return nil
	})
	write(t, s, func(tx *Tx) error { return tx.DeleteBlob("ab12") })
	read(t, s, func(r *Reader) error {
		none[Blob](t, "Blob")(r.Blob("ab12"))
		same(t, "BlobOwned", false)(r.BlobOwned("ab12", f.user.ID))
		return nil
	})
}
