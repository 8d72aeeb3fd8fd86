package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/store"
)

// changes are what waits to move one task to its next version: one at a time,
// so that numbers and parts are given in order.
type changes struct {
	queue   []func(ctx context.Context)
	reading int           // number of the feed being read, 0 = none
	latest  feed.Progress // of it
	cancel  context.CancelFunc
}

// enqueue runs f after the task's earlier changes, in the background.
func (st *state) enqueue(taskID string, f func(ctx context.Context)) {
	c, busy := st.changes[taskID]
	if busy {
		c.queue = append(c.queue, f)
		return
	}
	ctx, cancel := context.WithCancel(st.ctx)
	c = &changes{cancel: cancel}
	st.changes[taskID] = c
	st.work.Go(func() {
		defer cancel()
		for f != nil {
			f(ctx)
			done := make(chan struct{})
			next := func(st *state) {
				defer close(done)
				c.reading = 0
				if f = nil; len(c.queue) > 0 && ctx.Err() == nil {
					f, c.queue = c.queue[0], c.queue[1:]
					return
				}
				delete(st.changes, taskID)
			}
			select {
			case st.inbox <- next:
				<-done
			case <-st.done:
				return
			}
		}
	})
}

// FeedRequest is one feed: files the owner has uploaded, and how to read them.
type FeedRequest struct {
	Sources []feed.Source       `json:"sources"`
	Output  []string            `json:"output,omitempty"`
	Using   map[string]string   `json:"using,omitempty"`
	Options map[string][]string `json:"options,omitempty"`
	Hidden  bool                `json:"hidden,omitempty"`
	By      string              `json:"by,omitempty"` // the name of whoever feeds
}

// key is equal for feeds of the same content to the same program, whatever
// the files are called.
func (r FeedRequest) key(program string) string {
	h := sha256.New()
	fmt.Fprintln(h, program)
	for _, s := range r.Sources {
		fmt.Fprintf(h, "%s %s\n", s.SHA256, filepath.Ext(s.Name))
	}
	fmt.Fprintf(h, "%s", encode([]any{r.Output, r.Using, r.Options, r.Hidden}))
	return hex.EncodeToString(h.Sum(nil))
}

// Feed starts reading a feed in the background. The same content as an
// earlier feed is that feed again, and nothing is read.
func (s *Service) Feed(ctx context.Context, task store.Task, r FeedRequest) (f store.Feed, earlier bool, err error) {
	if len(r.Sources) == 0 {
		return f, false, refuse(http.StatusUnprocessableEntity, "", "There is nothing to feed: no file was named.")
	}
	err = s.ask(ctx, func(st *state) error {
		_, err := st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			now, err := tx.TaskByID(task.ID)
			if err != nil {
				return err
			}
			if f, err = tx.FeedByKey(now.ID, r.key(now.Program)); err == nil {
				earlier = true
				return nil
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			f = store.Feed{
				ID: id.String(), TaskID: now.ID, Number: now.NextFeed, Key: r.key(now.Program), State: "running", Request: encode(r),
				Folder: filepath.Join(st.cfg.Root, "feeds", now.ID, strconv.Itoa(now.NextFeed)), Created: st.now(),
			}
			now.NextFeed++
			if err := tx.UpdateTask(now); err != nil {
				return err
			}
			return tx.InsertFeed(f)
		})
		if err != nil || earlier {
			return err
		}
		st.enqueueFeed(f)
		return nil
	})
	return f, earlier, err
}

func (st *state) enqueueFeed(f store.Feed) {
	s := st.Service
	st.enqueue(f.TaskID, func(ctx context.Context) {
		if err := s.read(ctx, f); err != nil && ctx.Err() == nil {
			s.failFeed(ctx, f, err)
		}
	})
}

// resumeFeeds starts again what was being read when the server ended.
func (st *state) resumeFeeds() {
	var feeds []store.Feed
	err := st.cfg.Store.Read(st.ctx, func(r *store.Reader) (err error) {
		feeds, err = r.RunningFeeds()
		return err
	})
	if err != nil {
		st.cfg.Log.Error("feeds could not be taken up again", "error", err)
	}
	for _, f := range feeds {
		st.enqueueFeed(f)
	}
}

// read ingests a feed and moves its task to the version it makes.
func (s *Service) read(ctx context.Context, f store.Feed) error {
	var request FeedRequest
	if err := json.Unmarshal(f.Request, &request); err != nil {
		return err
	}
	for i, src := range request.Sources {
		path, err := s.cfg.Blobs.Path(src.SHA256)
		if err != nil {
			return err
		}
		request.Sources[i].Path = path
	}
	task, err := s.load(ctx, f.TaskID)
	if err != nil {
		return err
	}
	options := settingsOf(task)
	job := feed.Job{
		Folder: f.Folder, Program: programJSON(task.Program), Template: task.Template, Sources: request.Sources,
		Output: request.Output, Using: request.Using, Options: request.Options,
		FirstNumber: task.NextExample, Folds: options.Folds, Test: options.Test, Metric: options.Metric,
	}
	if task.NextExample > 1 {
		job.Known = s.examples(ctx, task, &version{})
	}
	if len(task.Target) > 0 {
		if err := json.Unmarshal(task.Target, &job.Target); err != nil {
			return err
		}
	}
	s.tell(func(st *state) {
		if c := st.changes[task.ID]; c != nil {
			c.reading = f.Number
		}
	})
	batch, err := feed.Read(ctx, s, job, func(p feed.Progress) {
		s.tell(func(st *state) {
			if c := st.changes[task.ID]; c != nil {
				c.latest = p
			}
			st.hub.put(Transient{Topic: "task:" + task.ID, Type: "feed.progress", Key: strconv.Itoa(f.Number), Time: st.now()},
				map[string]any{"feed": f.Number, "phase": p.Phase, "rows": p.Rows, "of": p.Of})
		})
	})
	if err != nil {
		return err
	}
	f.Read, f.Accepted = int(batch.Profile.Examples.Read), int(batch.Profile.Examples.Accepted)
	f.Known, f.Rejected = int(batch.Profile.Examples.Known), int(batch.Profile.Examples.Rejected)
	f.Profile, f.Seconds = batch.Raw, batch.Seconds
	next := &version{cause: "feed", by: request.By, feed: &f, rejects: batch.Rejects, index: batch.Index}
	labels := map[int]string{} // that a file of examples corrects
	if batch.Profile.Changed != nil {
		for _, c := range batch.Profile.Changed.Corrected {
			labels[c.Number] = c.To
		}
	}
	if f.Accepted+len(labels) > 0 {
		// A feed may bring labels that the first one had not, where the program leaves room for them: they come last.
		target := batch.Profile.Target
		if target == nil {
			target = job.Target
		}
		if target == nil {
			return errors.New("the trainer accepted examples without a target")
		}
		corrected, err := s.refined(ctx, task, *target, Refinement{Labels: labels})
		if err != nil {
			return err
		}
		if corrected != nil {
			next.labels, next.changes = corrected.labels, corrected.changes
		}
		profile, raw := batch.Profile, batch.Raw
		if f.Accepted == 0 { // what it says is of the new examples
			profile, raw = trial.Profile{}, task.Profile
			if err := json.Unmarshal(raw, &profile); err != nil {
				return err
			}
		}
		if f.Accepted > 0 || corrected != nil {
			if err := s.prepare(ctx, task, *target, profile, raw, next); err != nil {
				return err
			}
			if err := s.arrive(ctx, task, next); err != nil {
				return err
			}
		}
	}
	return s.ask(ctx, func(st *state) error { return st.move(task.ID, next) })
}

func (s *Service) load(ctx context.Context, taskID string) (task store.Task, err error) {
	err = s.cfg.Store.Read(ctx, func(r *store.Reader) error {
		task, err = r.TaskByID(taskID)
		return err
	})
	return task, err
}

// examples are those of a task as they will be with v.
func (s *Service) examples(ctx context.Context, task store.Task, v *version) feed.Examples {
	return func(yield func(store.Example, error) bool) {
		on := make(map[int]bool, len(v.on)+len(v.off))
		for _, n := range v.on {
			on[n] = true
		}
		for _, n := range v.off {
			on[n] = false
		}
		labels := make(map[int]store.Example, len(v.labels))
		for _, e := range v.labels {
			labels[e.Number] = e
		}
		enough := errors.New("enough")
		err := s.cfg.Store.Read(ctx, func(r *store.Reader) error {
			for e, err := range r.EachExample(task.ID) {
				if err != nil {
					return err
				}
				if now, switched := on[e.Number]; switched {
					e.On = now
				}
				if now, corrected := labels[e.Number]; corrected {
					e.Label, e.Fed = now.Label, now.Fed
				}
				if !yield(e, nil) {
					return enough
				}
			}
			return nil
		})
		if err == nil {
			for e, ferr := range v.fresh(task) {
				if !yield(e, ferr) {
					return
				}
			}
		} else if !errors.Is(err, enough) {
			yield(store.Example{}, err)
		}
	}
}

// failFeed commits that a feed could not be read: nothing was accepted.
func (s *Service) failFeed(ctx context.Context, f store.Feed, cause error) {
	problem := &Refusal{Status: http.StatusInternalServerError, Detail: "The files could not be read because of a fault of the server; its log tells more.", Hint: "Nothing was fed."}
	var refused *feed.Refusal
	if errors.As(cause, &refused) {
		problem = fromFeed(refused)
	} else {
		s.cfg.Log.Error("a feed failed", "feed", f.ID, "error", cause)
	}
	now := s.now()
	f.State, f.Ended = "failed", &now
	f.Error = encode(map[string]any{"status": problem.Status, "detail": problem.Detail, "hint": problem.Hint, "where": problem.Where})
	if _, err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.UpdateFeed(f); err != nil {
			return err
		}
		_, err := tx.Event("task:"+f.TaskID, "feed.ended", map[string]any{"feed": f.Number, "state": f.State, "error": f.Error})
		return err
	}); err != nil {
		s.cfg.Log.Error("a feed's failure could not be written", "feed", f.ID, "error", err)
	}
	s.hub.forget("task:"+f.TaskID, "feed.progress", strconv.Itoa(f.Number))
}

// version is a prepared move of a task to its next dataset version. Without
// fresh or switched examples only the feed is committed.
type version struct {
	cause   string // feed | refine | options
	feed    *store.Feed
	rejects []trial.Reject
	index   string // path of the index.arrow of fresh examples; empty: there are none
	next    int    // the number after the last of them, once their rows are written
	on, off []int
	labels  []store.Example // with the labels that they have now
	by      string          // who makes it
	changes *Changes        // of a refinement, or of the labels that a feed corrects

	search     *store.Search // as it would be made; nil: no new version
	candidates []trial.Candidate
	rescored   *Best
	count      struct{ on, off int }
}

// fresh are the examples that a version's feed brings to its task.
func (v *version) fresh(task store.Task) feed.Examples {
	return func(yield func(store.Example, error) bool) {
		if v.index == "" {
			return
		}
		for row, err := range trial.Index(v.index) {
			if !yield(store.Example{
				Number: int(row.Number), ExampleHash: row.ExampleHash, InputHash: row.InputHash, Group: row.Group, Label: row.Label, Part: row.Part,
				Feed: v.feed.Number, Version: task.Version + 1, Source: row.Source, Row: row.Row, On: true,
			}, err) {
				return
			}
		}
	}
}

// rowsAtOnce is how many rows of examples one transaction writes: a tenth of a
// second, in which nobody else's results and commands can be written.
const rowsAtOnce = 10_000

// arrive writes the rows of the examples that a version's feed brings, in many short
// transactions. Nobody sees them before the version is committed; those of an attempt
// that never got there are removed first.
func (s *Service) arrive(ctx context.Context, task store.Task, v *version) error {
	for removed := rowsAtOnce; removed == rowsAtOnce; {
		if _, err := s.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
			removed, err = tx.DiscardExamples(task.ID, rowsAtOnce)
			return err
		}); err != nil {
			return err
		}
	}
	some := make([]store.Example, 0, rowsAtOnce)
	write := func() error {
		_, err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error { return tx.InsertExamples(task.ID, some) })
		some = some[:0]
		return err
	}
	for e, err := range v.fresh(task) {
		if err != nil {
			return err
		}
		v.next = max(v.next, e.Number+1)
		if some = append(some, e); len(some) == rowsAtOnce {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write()
}

// prepare does the slow part of a move: the version's folder, the candidates,
// and the served model's figures on the new version.
func (s *Service) prepare(ctx context.Context, task store.Task, target trial.Target, profile trial.Profile, raw json.RawMessage, v *version) error {
	options := settingsOf(task)
	examples := s.examples(ctx, task, v)
	sum, err := feed.SumOf(task.Program, target, examples)
	if err != nil {
		return err
	}
	v.count.on, v.count.off = sum.On, sum.Off
	protocol := feed.Protocol(sum.Parts, options.Folds)
	metric := options.Metric
	inherits := ""
	if task.SearchID != "" {
		if err := s.cfg.Store.Read(ctx, func(r *store.Reader) error {
			before, err := r.SearchByID(task.SearchID)
			if metric == "" {
				metric = before.Metric
			}
			if before.Metric == metric { // what was measured otherwise says nothing here
				inherits = before.ID
			}
			return err
		}); err != nil {
			return err
		}
	}
	if metric == "" {
		metric = profile.Metric.Name
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	row := &store.Search{
		ID: id.String(), DatasetVersion: sum.Hash, Metric: metric, Protocol: encode(protocol),
		Salt: task.UserID, Program: task.Program, Template: task.Template, Target: encode(target), Profile: raw, Rows: sum.On,
		Parts: encode(sum.Parts), Seed: options.Seed, Inherits: inherits, State: "open", Created: s.now(),
	}
	row.DataPath = filepath.Join(s.cfg.Root, "data", task.ID, row.DatasetVersion[len("sha256:"):][:32])
	paths, err := s.exampleFiles(ctx, task, v)
	if err != nil {
		return err
	}
	if err := feed.Freeze(row.DataPath, paths, examples); err != nil {
		return err
	}
	if !sum.Learnable { // nothing to try, and hardly anything to measure the served model on
		now := s.now()
		row.State, row.Reason, row.Settled = "settled", "no_data", &now
		v.search = row
		return nil
	}
	all, err := s.cfg.Trainer.Candidates(ctx, programJSON(task.Program), raw, task.Template)
	if err != nil {
		return fmt.Errorf("ask the trainer for candidates: %w", err)
	}
	v.candidates = slices.DeleteFunc(all, func(c trial.Candidate) bool { return len(c.Missing) > 0 })
	if best, ok := Served(task); ok && best.Scored == task.Version {
		v.rescored = s.rescore(ctx, task, best, *row)
	}
	v.search = row
	return nil
}

// exampleFiles lists the examples.arrow of every feed of the task that
// accepted something, the present one last.
func (s *Service) exampleFiles(ctx context.Context, task store.Task, v *version) (paths []string, err error) {
	err = s.cfg.Store.Read(ctx, func(r *store.Reader) error {
		feeds, err := r.Feeds(task.ID)
		if err != nil {
			return err
		}
		for _, f := range feeds {
			if f.State == "ended" && f.Accepted > 0 {
				paths = append(paths, filepath.Join(f.Folder, trial.ExamplesFile))
			}
		}
		return nil
	})
	if v.index != "" {
		paths = append(paths, filepath.Join(v.feed.Folder, trial.ExamplesFile))
	}
	return paths, err
}

// rescore measures the served model on the new version; a model that can't be
// measured goes on answering with its old figures.
func (s *Service) rescore(ctx context.Context, task store.Task, best Best, row store.Search) *Best {
	var tr store.Trial
	err := s.cfg.Store.Read(ctx, func(r *store.Reader) (err error) {
		tr, err = r.TrialByID(best.TrialID)
		return err
	})
	if err == nil && tr.Model != "" {
		validation, test, err := s.cfg.Trainer.Rescore(ctx, tr.Model, dataOf(row), row.Metric)
		if err == nil && validation != nil {
			best.Search, best.Test, best.Scored = estimate(*validation), nil, task.Version+1
			if test != nil {
				e := estimate(*test)
				best.Test = &e
			}
			return &best
		}
		s.cfg.Log.Warn("the served model could not be scored on the new version", "task", task.ID, "error", err)
	}
	return nil
}

// move commits a prepared change and points the task to its search.
func (st *state) move(taskID string, v *version) error {
	var before string
	var target store.Search
	moved := false
	_, err := st.cfg.Store.Write(st.ctx, func(tx *store.Tx) error {
		task, err := tx.TaskByID(taskID)
		if err != nil {
			return err
		}
		if task.State == "dropped" {
			return nil
		}
		before = task.SearchID
		if v.search != nil {
			if target, err = st.createVersion(tx, &task, v); err != nil {
				return err
			}
			moved = true
		}
		if v.feed != nil {
			return st.endFeed(tx, &task, v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if v.feed != nil {
		st.hub.forget("task:"+taskID, "feed.progress", strconv.Itoa(v.feed.Number))
	}
	if !moved {
		return nil
	}
	if err := st.refresh(target.ID); err != nil {
		return err
	}
	if target.ID != before {
		st.tellRescored(st.tenants[target.ID])
	}
	if before != "" && before != target.ID {
		if err := st.leave(before); err != nil {
			return err
		}
	}
	st.schedule()
	return nil
}

// leave stops what runs in a search that nobody wants any more.
func (st *state) leave(searchID string) error {
	if _, known := st.tenants[searchID]; !known {
		return nil
	}
	if err := st.refresh(searchID); err != nil {
		return err
	}
	if t := st.tenants[searchID]; t.paused {
		for _, r := range st.runs {
			if r.trial.SearchID == searchID {
				st.dismiss(r, leaveAway)
			}
		}
	}
	return st.retire(searchID)
}

// retire forgets a search that no task points to, once nothing of it runs. Its
// rows stay; whoever points to it again makes it known again.
func (st *state) retire(searchID string) error {
	t, known := st.tenants[searchID]
	if !known || len(t.tasks) > 0 {
		return nil
	}
	for _, r := range st.runs {
		if r.trial.SearchID == searchID {
			return nil
		}
	}
	delete(st.tenants, searchID)
	if err := st.alloc.Apply(allocator.SearchRemoved{Search: allocator.SearchID(searchID)}); err != nil {
		return err
	}
	st.erase() // its last trial has ended: if its task was dropped, it can go
	return nil
}

// createVersion writes the version and the search, points the task to it, and makes
// the examples that arrived the task's. The search may be there already: equal data, equal search.
func (st *state) createVersion(tx *store.Tx, task *store.Task, v *version) (store.Search, error) {
	now := st.now()
	task.NextExample = max(task.NextExample, v.next) // from here on its rows are the task's
	if _, err := tx.SetExamplesOn(task.ID, v.on, true); err != nil {
		return store.Search{}, err
	}
	if _, err := tx.SetExamplesOn(task.ID, v.off, false); err != nil {
		return store.Search{}, err
	}
	if err := tx.SetLabels(task.ID, v.labels); err != nil {
		return store.Search{}, err
	}
	row, err := tx.SearchByKey(v.search.DatasetVersion, v.search.Metric, v.search.Protocol, v.search.Salt)
	existed := err == nil
	switch {
	case errors.Is(err, store.ErrNotFound):
		row = *v.search
		if err := tx.InsertSearch(row); err != nil {
			return row, err
		}
		rows := make([]store.Candidate, len(v.candidates))
		for i, c := range v.candidates {
			rows[i] = store.Candidate{SearchID: row.ID, ID: c.ID, Version: c.Version, Ordinal: i, Object: encode(c)}
		}
		if err := tx.InsertCandidates(rows); err != nil {
			return row, err
		}
	case err != nil:
		return row, err
	}
	task.Version++
	task.SearchID, task.Target, task.Profile, task.Changed = row.ID, row.Target, v.search.Profile, now
	task.State, task.Reason, task.Settled = "searching", "", nil
	if task.Stopped {
		task.State, task.Reason, task.Settled = "settled", "stopped", &now
	} else if row.State == "settled" {
		task.State, task.Reason, task.Settled = "settled", row.Reason, row.Settled
	}
	if v.rescored != nil {
		task.Served = encode(v.rescored)
	}
	made := store.Version{
		TaskID: task.ID, Number: task.Version, Hash: row.DatasetVersion, On: v.count.on, Off: v.count.off, Parts: row.Parts,
		Cause: v.cause, Feed: feedNumber(v), SearchID: row.ID, By: v.by, Created: now,
	}
	if v.changes != nil {
		made.Changes = encode(v.changes)
	}
	if err := tx.InsertVersion(made); err != nil {
		return row, err
	}
	if err := tx.UpdateTask(*task); err != nil {
		return row, err
	}
	if _, err := tx.Event("task:"+task.ID, "version.created", map[string]any{
		"version": task.Version, "on": v.count.on, "off": v.count.off, "parts": row.Parts, "cause": v.cause, "rescored": v.rescored,
	}); err != nil {
		return row, err
	}
	if existed {
		if err := adopt(tx, task.ID, row.ID); err != nil {
			return row, err
		}
	} else {
		added := make([]string, len(v.candidates))
		for i, c := range v.candidates {
			added[i] = c.ID
		}
		if _, err := tx.Event("task:"+task.ID, "candidates.changed", map[string]any{"added": added, "removed": []string{}, "why": "a new version of the data"}); err != nil {
			return row, err
		}
	}
	fresh, err := tx.TaskByID(task.ID) // adopt may have given numbers and a model
	if err != nil {
		return row, err
	}
	*task = fresh
	_, err = tx.Event("task:"+task.ID, "task.changed", taskRow(*task))
	return row, err
}

func feedNumber(v *version) *int {
	if v.feed == nil {
		return nil
	}
	return &v.feed.Number
}

// adopt gives a task its numbers for the trials of a search that was there
// before it, and the best of their models.
func adopt(tx *store.Tx, taskID, searchID string) error {
	trials, err := tx.Trials(searchID)
	if err != nil {
		return err
	}
	for _, tr := range trials {
		if _, err := number(tx, taskID, tr.ID); err != nil {
			return err
		}
		if tr.Ended != nil && tr.Model != "" {
			if err := promote(tx, taskID, tr); err != nil {
				return err
			}
		}
	}
	return nil
}

// endFeed commits what a feed brought.
func (st *state) endFeed(tx *store.Tx, task *store.Task, v *version) error {
	f, now := *v.feed, st.now()
	f.State, f.Ended = "ended", &now
	if v.search != nil {
		f.Version = task.Version
	}
	if err := tx.UpdateFeed(f); err != nil {
		return err
	}
	rows := make([]store.Reject, len(v.rejects))
	for i, r := range v.rejects {
		rows[i] = store.Reject{Source: r.Source, Row: r.Row, Column: r.Column, Value: r.Value, Reason: r.Reason, Remedy: r.Remedy}
		if r.Line >= 0 {
			line := r.Line
			rows[i].Line = &line
		}
	}
	if err := tx.InsertRejects(f.ID, rows); err != nil {
		return err
	}
	first := make([]map[string]any, 0, 20)
	for _, r := range rows[:min(len(rows), 20)] {
		first = append(first, map[string]any{
			"source": r.Source, "row": r.Row, "line": r.Line, "column": r.Column, "value": r.Value, "reason": r.Reason, "remedy": r.Remedy,
		})
	}
	_, err := tx.Event("task:"+task.ID, "feed.ended", map[string]any{
		"feed": f.Number, "state": f.State, "accepted": f.Accepted, "known": f.Known, "rejected": f.Rejected,
		"rejects": first, "version": f.Version, "seconds": f.Seconds,
	})
	return err
}

// removeFolders clears what a dropped task leaves on disk.
func removeFolders(paths ...string) error {
	var errs []error
	for _, p := range paths {
		errs = append(errs, os.RemoveAll(p))
	}
	return errors.Join(errs...)
}
