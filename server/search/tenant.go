package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/history"
	"github.com/easeml/easeml/server/store"
)

// tenant is a search that the allocator knows.
type tenant struct {
	row        store.Search
	candidates map[string]trial.Candidate // all that are offered, by id
	setAside   map[string]string          // candidates no device of the pool can run, and why
	tasks      map[string]store.Task      // that point to it, by id
	paused     bool                       // it has settled, every task is stopped, or none points to it
	profile    trial.Profile
	prior      history.Fitted // that it goes by; empty: the allocator's own
	inherited  int            // observations of the version before
	said       *queued        // what was last said about its waiting; nil while it doesn't wait
	wait       *wait          // since when, and what was first said; nil before there is an estimate
}

// weight of a search: one share per task that wants it to go on. Without
// examples nobody can, and one that has settled is not wanted until it is resumed,
// whatever a later prior thinks of what it left.
func (t *tenant) weight() float64 {
	if t.row.Rows == 0 || t.row.State == "settled" {
		return 0
	}
	n := 0
	for _, task := range t.tasks {
		if !task.Stopped {
			n++
		}
	}
	return float64(n)
}

// enlist makes the search known to the allocator, with everything its rows
// say about it. A search that is known already only gets its tasks anew.
func (st *state) enlist(r *store.Reader, row store.Search) (*tenant, error) {
	if t, known := st.tenants[row.ID]; known {
		t.row = row
		return t, st.attach(r, t)
	}
	t := &tenant{row: row, candidates: map[string]trial.Candidate{}, setAside: map[string]string{}, tasks: map[string]store.Task{}}
	if err := json.Unmarshal(row.Profile, &t.profile); err != nil {
		return nil, fmt.Errorf("profile of search %s: %w", row.ID, err)
	}
	rows, err := r.Candidates(row.ID)
	if err != nil {
		return nil, err
	}
	var arms []allocator.Arm
	for _, c := range rows {
		if c.Removed != nil {
			continue
		}
		var candidate trial.Candidate
		if err := json.Unmarshal(c.Object, &candidate); err != nil {
			return nil, fmt.Errorf("candidate %s of search %s: %w", c.ID, row.ID, err)
		}
		t.candidates[c.ID] = candidate
		arm, why := st.arm(candidate)
		if why != "" {
			t.setAside[c.ID] = why
			continue
		}
		arms = append(arms, arm)
	}
	if t.prior, err = st.priorOf(r, row); err != nil {
		return nil, err
	}
	added := allocator.SearchAdded{
		Search: allocator.SearchID(row.ID), Owners: 1, Arms: arms,
		Examples: row.Rows, Features: int(t.profile.Features), Prior: t.prior.Prior,
	}
	if row.Inherits != "" {
		if added.Inherited, err = inherited(r, row.Inherits); err != nil {
			return nil, err
		}
		t.inherited = len(added.Inherited)
	}
	if err := st.alloc.Apply(added); err != nil {
		return nil, err
	}
	st.tenants[row.ID] = t
	if err := st.replay(r, t); err != nil {
		return nil, err
	}
	switch had, err := r.Share(row.ID); {
	case err == nil:
		st.fair[row.ID] = &had
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return t, st.attach(r, t)
}

// arm is how the allocator sees a candidate; why says that nothing in the
// pool can run it.
func (st *state) arm(c trial.Candidate) (arm allocator.Arm, why string) {
	arm = allocator.Arm{
		ID: allocator.CandidateID(c.ID), Version: c.Version, Family: c.Family, Baseline: c.Baseline,
		Estimate: map[string]float64{},
	}
	for class, seconds := range c.Estimate.Seconds {
		if seconds > 0 {
			arm.Estimate[class] = seconds
		}
	}
	anyGPU := c.Estimate.Seconds["gpu"] // of a card of any class
	delete(arm.Estimate, "gpu")
	all := true
	for _, d := range st.pool.Snapshot() {
		if d.Device.Kind == gpu.GPU && anyGPU > 0 && arm.Estimate[d.Device.Class] == 0 {
			arm.Estimate[d.Device.Class] = anyGPU
		}
		if !c.RunsOn(string(d.Device.Kind)) {
			all = false
		} else if !slices.Contains(arm.Classes, d.Device.Class) {
			arm.Classes = append(arm.Classes, d.Device.Class)
		}
	}
	switch {
	case len(arm.Classes) == 0 && c.RunsOn(string(gpu.GPU)):
		return arm, "needs a GPU, and the pool has none"
	case len(arm.Classes) == 0:
		return arm, "runs on none of the pool's devices"
	case all:
		arm.Classes = nil
	}
	return arm, ""
}

// replay tells the allocator what the search's trials cost and taught so far.
func (st *state) replay(r *store.Reader, t *tenant) error {
	trials, err := r.Trials(t.row.ID)
	if err != nil {
		return err
	}
	for _, tr := range trials {
		if _, offered := t.candidates[tr.Candidate]; !offered || t.setAside[tr.Candidate] != "" {
			continue
		}
		class := tr.DeviceClass
		if class == "" {
			class = "cpu1"
		}
		id := allocator.SearchID(t.row.ID)
		candidate := allocator.CandidateID(tr.Candidate)
		switch tr.State {
		case "ok", "stopped", "failed":
			if err := st.alloc.Apply(allocator.TrialStarted{Search: id, Candidate: candidate, Class: class}); err != nil {
				return err
			}
			if err := st.alloc.Apply(ended(tr, class)); err != nil {
				return err
			}
		case "queued", "paused":
			if err := st.alloc.Apply(allocator.TrialStarted{Search: id, Candidate: candidate, Class: class}); err != nil {
				return err
			}
			attempts, err := r.Attempts(tr.ID)
			if err != nil {
				return err
			}
			if err := st.alloc.Apply(back(tr, attempts, id, class)); err != nil {
				return err
			}
		}
	}
	return nil
}

// back is a trial that is queued again, as the allocator hears of it: put
// aside, if one of its attempts ran into its limit.
func back(tr store.Trial, attempts []store.Attempt, id allocator.SearchID, class string) allocator.Event {
	candidate := allocator.CandidateID(tr.Candidate)
	seconds := 0.0
	for _, a := range attempts {
		if a.Kind == kindLate {
			seconds = max(seconds, a.Seconds)
		}
	}
	if seconds > 0 {
		return allocator.TrialOverran{Search: id, Candidate: candidate, Class: class, Seconds: seconds, Charge: tr.Charge}
	}
	return allocator.TrialLost{Search: id, Candidate: candidate, Class: class, Charge: tr.Charge}
}

// ended is a finished trial as the allocator hears of it.
func ended(tr store.Trial, class string) allocator.TrialEnded {
	e := allocator.TrialEnded{
		Search: allocator.SearchID(tr.SearchID), Candidate: allocator.CandidateID(tr.Candidate), Class: class,
		Outcome: allocator.Failed, Seconds: tr.Seconds, Charge: tr.Charge,
	}
	switch {
	case tr.State == "ok" && tr.Quality != nil:
		e.Outcome, e.Quality = allocator.OK, *tr.Quality
	case tr.State == "stopped" && tr.Quality != nil:
		e.Outcome, e.Quality = allocator.Censored, *tr.Quality
	case tr.State == "failed" && (tr.Kind == trial.KindMemory || tr.Kind == trial.KindUnsupported):
		e.Outcome = allocator.Infeasible
	}
	return e
}

// inherited are the observations of the search of the version before.
func inherited(r *store.Reader, id string) ([]allocator.Observation, error) {
	before, err := r.SearchByID(id)
	if err != nil {
		return nil, err
	}
	var profile trial.Profile
	if err := json.Unmarshal(before.Profile, &profile); err != nil {
		return nil, err
	}
	trials, err := r.FinishedTrials(id)
	if err != nil {
		return nil, err
	}
	var list []allocator.Observation
	for _, tr := range trials {
		if tr.State == "ok" && tr.Quality != nil {
			list = append(list, allocator.Observation{
				Candidate: allocator.CandidateID(tr.Candidate), Class: tr.DeviceClass, Quality: *tr.Quality, Seconds: tr.Seconds,
				Examples: before.Rows, Features: int(profile.Features),
			})
		}
	}
	return list, nil
}

// attach reads which tasks point to the search, and pauses or resumes it.
func (st *state) attach(r *store.Reader, t *tenant) error {
	tasks, err := r.TasksOfSearch(t.row.ID)
	if err != nil {
		return err
	}
	t.tasks = map[string]store.Task{}
	for _, task := range tasks {
		if task.State != "dropped" {
			t.tasks[task.ID] = task
		}
	}
	id := allocator.SearchID(t.row.ID)
	weight := t.weight()
	if weight == 0 {
		t.paused = true
		return st.alloc.Apply(allocator.SearchPaused{Search: id})
	}
	if err := st.alloc.Apply(allocator.OwnersChanged{Search: id, Owners: weight}); err != nil {
		return err
	}
	if t.paused {
		t.paused = false
		return st.alloc.Apply(allocator.SearchResumed{Search: id})
	}
	return nil
}

// refresh attaches the search again after a commit that changed its tasks.
func (st *state) refresh(searchID string) error {
	if searchID == "" {
		return nil
	}
	return st.cfg.Store.Read(st.ctx, func(r *store.Reader) error {
		row, err := r.SearchByID(searchID)
		if err != nil {
			return err
		}
		_, err = st.enlist(r, row)
		return err
	})
}

// tellRescored gives the allocator the quality to beat: that of a model of an
// earlier version, measured again on this one.
func (st *state) tellRescored(t *tenant) {
	for _, task := range t.tasks {
		best, ok := Served(task)
		if !ok || best.Version == task.Version || best.Scored != task.Version {
			continue
		}
		if _, offered := t.candidates[best.Candidate]; !offered || t.setAside[best.Candidate] != "" {
			continue
		}
		if err := st.alloc.Apply(allocator.Rescored{
			Search: allocator.SearchID(t.row.ID), Candidate: allocator.CandidateID(best.Candidate), Quality: best.Search.Value,
		}); err != nil {
			st.cfg.Log.Warn("the allocator took no rescored quality", "search", t.row.ID, "error", err)
		}
	}
}
