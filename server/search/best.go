package search

import (
	"encoding/json"
	"sort"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// Estimate is a measured quality with its 95 % interval on N examples;
// Metrics are further figures in their own units.
type Estimate struct {
	Value   float64            `json:"value"`
	Low     float64            `json:"low"`
	High    float64            `json:"high"`
	N       int                `json:"n"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Best is the model that answers for a task. Search is its figure where
// candidates are compared, on dataset version Scored; Test on the part that
// the search never saw, nil where there is none.
type Best struct {
	TrialID   string    `json:"trial_id"`
	Candidate string    `json:"candidate"`
	Label     string    `json:"label"`
	Family    string    `json:"family"`
	Version   int       `json:"version"` // dataset version it was trained on
	Scored    int       `json:"scored"`  // dataset version its figures are of
	Seconds   float64   `json:"seconds"`
	Baseline  bool      `json:"baseline"`
	Search    Estimate  `json:"search"`
	Test      *Estimate `json:"test"`
}

// Served decodes the model that answers for the task; false where there is
// only the guess, or nothing.
func Served(task store.Task) (Best, bool) {
	var b Best
	if len(task.Served) == 0 || json.Unmarshal(task.Served, &b) != nil || b.TrialID == "" {
		return Best{}, false
	}
	return b, true
}

// keptResult is what summary keeps of a trial's result.
type keptResult struct {
	Quality  trial.Number            `json:"quality"`
	Interval *[2]trial.Number        `json:"interval"`
	N        int                     `json:"n"`
	Metrics  map[string]trial.Number `json:"metrics"`
	Test     *trial.Score            `json:"test"`
	Steps    int                     `json:"steps"`
	Sample   *trial.Sample           `json:"sample"`
}

// SampleOf says with how many of the examples a finished trial worked; nil: with
// all of them.
func SampleOf(tr store.Trial) *trial.Sample {
	var k keptResult
	if len(tr.Result) == 0 || json.Unmarshal(tr.Result, &k) != nil {
		return nil
	}
	return k.Sample
}

// Measured returns a finished trial's figure in the search and on the test part.
func Measured(tr store.Trial) (inSearch Estimate, test *Estimate) {
	var k keptResult
	if len(tr.Result) == 0 || json.Unmarshal(tr.Result, &k) != nil {
		return Estimate{}, nil
	}
	inSearch = estimate(trial.Score{Quality: k.Quality, Interval: k.Interval, N: int64(k.N), Metrics: k.Metrics})
	if k.Test != nil {
		e := estimate(*k.Test)
		test = &e
	}
	return inSearch, test
}

func estimate(s trial.Score) Estimate {
	e := Estimate{Value: float64(s.Quality), Low: float64(s.Quality), High: float64(s.Quality), N: int(s.N), Metrics: map[string]float64{}}
	if s.Interval != nil && s.Interval[0].Finite() && s.Interval[1].Finite() {
		e.Low, e.High = float64(s.Interval[0]), float64(s.Interval[1])
	}
	for name, value := range s.Metrics {
		if value.Finite() {
			e.Metrics[name] = float64(value)
		}
	}
	return e
}

// rank orders the trials that have a quality: the highest first, ties by
// seconds, then by id.
func rank(trials []store.Trial) []store.Trial {
	var list []store.Trial
	for _, tr := range trials {
		if tr.Quality != nil && (tr.State == "ok" || tr.State == "stopped") {
			list = append(list, tr)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case *a.Quality != *b.Quality:
			return *a.Quality > *b.Quality
		case a.Seconds != b.Seconds:
			return a.Seconds < b.Seconds
		}
		return a.ID < b.ID
	})
	return list
}

// promote makes a finished trial the task's served model if it is better than
// the present one, and says so with an event.
func promote(tx *store.Tx, taskID string, tr store.Trial) error {
	if tr.Quality == nil || tr.State != "ok" && tr.State != "stopped" {
		return nil
	}
	task, err := tx.TaskByID(taskID)
	if err != nil {
		return err
	}
	candidate, err := candidateOf(&tx.Reader, tr)
	if err != nil || candidate.Baseline {
		return err
	}
	next := Best{
		TrialID: tr.ID, Candidate: candidate.ID, Label: candidate.Label, Family: candidate.Family,
		Version: task.Version, Scored: task.Version, Seconds: tr.Seconds,
	}
	next.Search, next.Test = Measured(tr)
	now, has := Served(task)
	if has && now.Scored == task.Version && !better(next, now) {
		return nil
	}
	if task.Served, err = json.Marshal(next); err != nil {
		return err
	}
	task.Changed = *tr.Ended
	if err := tx.UpdateTask(task); err != nil {
		return err
	}
	n, err := number(tx, taskID, tr.ID)
	if err != nil {
		return err
	}
	var previous *float64
	if has {
		previous = &now.Search.Value
	}
	tied, err := tiedWith(&tx.Reader, tr)
	if err != nil {
		return err
	}
	_, err = tx.Event("task:"+taskID, "best.changed", map[string]any{
		"trial": n, "candidate": next.Candidate, "label": next.Label, "family": next.Family, "quality": next.Search.Value,
		"previous": previous, "test": next.Test, "tied_with": tied,
	})
	return err
}

// tiedWith are the labels of the candidates that can't be told apart from a
// trial's, the best first.
func tiedWith(r *store.Reader, best store.Trial) ([]string, error) {
	trials, err := r.FinishedTrials(best.SearchID)
	if err != nil {
		return nil, err
	}
	labels := []string{}
	tied := Ties(best, trials)
	for _, tr := range rank(trials) {
		if !tied[tr.ID] {
			continue
		}
		candidate, err := candidateOf(r, tr)
		if err != nil {
			return nil, err
		}
		if !candidate.Baseline {
			labels = append(labels, candidate.Label)
		}
	}
	return labels, nil
}

func better(a, b Best) bool {
	switch {
	case a.Search.Value != b.Search.Value:
		return a.Search.Value > b.Search.Value
	case a.Seconds != b.Seconds:
		return a.Seconds < b.Seconds
	}
	return a.TrialID < b.TrialID
}

func candidateOf(r *store.Reader, tr store.Trial) (trial.Candidate, error) {
	rows, err := r.Candidates(tr.SearchID)
	if err != nil {
		return trial.Candidate{}, err
	}
	var c trial.Candidate
	for _, row := range rows {
		if row.ID == tr.Candidate && row.Version == tr.CandidateVersion {
			return c, json.Unmarshal(row.Object, &c)
		}
	}
	return c, store.ErrNotFound
}
