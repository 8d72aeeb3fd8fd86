package search

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/store"
)

// Refinement is what somebody wants of a task's examples: numbers to be
// switched on and off, and labels by the numbers that they are right for.
type Refinement struct {
	On, Off  []int
	Labels   map[int]string
	Gone     bool   // also off: what is no longer in the file that it came from
	Suspects bool   // Off are all of the task's suspects
	By       string // the name of whoever asks
}

// Changes is what a refinement changed, or the labels that a file fed again
// corrected; it is kept with the version it made.
type Changes struct {
	On       []int       `json:"on,omitempty"`
	Off      []int       `json:"off,omitempty"`
	Labels   []Relabel   `json:"labels,omitempty"`
	Suspects bool        `json:"suspects,omitempty"` // Off were the suspects
	Parts    trial.Parts `json:"parts"`              // of the examples that changed
}

// Relabel is a label that was corrected.
type Relabel struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// ChangesOf decodes what a version changed; zero for one that a feed made which
// corrected nothing.
func ChangesOf(v store.Version) (c Changes) {
	if len(v.Changes) > 0 {
		_ = json.Unmarshal(v.Changes, &c) // written by createVersion
	}
	return c
}

// Refine changes examples: a new version, unless nothing changes.
func (s *Service) Refine(ctx context.Context, task store.Task, r Refinement) (number int, err error) {
	done := make(chan error, 1)
	err = s.ask(ctx, func(st *state) error {
		st.enqueue(task.ID, func(ctx context.Context) {
			var err error
			number, err = s.refine(ctx, task.ID, r)
			done <- err
		})
		return nil
	})
	if err != nil {
		return 0, err
	}
	select {
	case err := <-done:
		return number, err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-s.done:
		return 0, ErrClosed
	}
}

func (s *Service) refine(ctx context.Context, taskID string, r Refinement) (int, error) {
	task, err := s.load(ctx, taskID)
	if err != nil {
		return 0, err
	}
	if task.Version == 0 {
		return 0, refuse(http.StatusConflict, "Feed some first.", "%s has no examples yet.", task.Name)
	}
	var profile trial.Profile
	if err := json.Unmarshal(task.Profile, &profile); err != nil {
		return 0, err
	}
	var target trial.Target
	if err := json.Unmarshal(task.Target, &target); err != nil {
		return 0, err
	}
	if r.Gone {
		if err := s.cfg.Store.Read(ctx, func(rows *store.Reader) error {
			feeds, err := rows.Feeds(taskID)
			if err != nil {
				return err
			}
			examples, err := rows.ExamplesOf(taskID, everGone(feeds))
			r.Off = append(slices.Clip(r.Off), gone(feeds, examples)...)
			return err
		}); err != nil {
			return 0, err
		}
	}
	v, err := s.refined(ctx, task, target, r)
	if err != nil || v == nil {
		return task.Version, err
	}
	if err := s.prepare(ctx, task, target, profile, task.Profile, v); err != nil {
		return 0, err
	}
	err = s.ask(ctx, func(st *state) error { return st.move(taskID, v) })
	return task.Version + 1, err
}

// wholeOutput names the outputs that no single label or number says.
var wholeOutput = map[string]string{"masks": "picture", "tokens": "series", "series": "series"}

// refined returns the version that follows from a refinement; nil where nothing
// changes.
func (s *Service) refined(ctx context.Context, task store.Task, target trial.Target, r Refinement) (*version, error) {
	named := slices.Concat(r.On, r.Off, slices.Collect(maps.Keys(r.Labels)))
	slices.Sort(named)
	var examples []store.Example
	if err := s.cfg.Store.Read(ctx, func(rows *store.Reader) (err error) {
		examples, err = rows.ExamplesOf(task.ID, slices.Compact(named))
		return err
	}); err != nil {
		return nil, err
	}
	changes := &Changes{Suspects: r.Suspects}
	v := &version{cause: "refine", by: r.By, changes: changes}
	at := make(map[int]int, len(examples))
	for i, e := range examples {
		at[e.Number] = i
	}
	find := func(n int) (*store.Example, error) {
		i, there := at[n]
		if !there {
			return nil, refuse(http.StatusUnprocessableEntity, fmt.Sprintf("There are 1 to %d.", task.NextExample-1),
				"%s has no example %d. Nothing was changed.", task.Name, n)
		}
		return &examples[i], nil
	}
	if what := wholeOutput[target.Kind]; what != "" && len(r.Labels) > 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "Switch the example off and feed it anew.",
			"%s predicts a whole %s, which can't be corrected in a word. Nothing was changed.", task.Name, what)
	}
	if p, err := schema.Parse(task.Program); err == nil && len(r.Labels) > 0 && target.Kind != "classes" {
		if out := p.Output.Fields; len(out) != 1 || out[0].Size() != 1 {
			return nil, refuse(http.StatusUnprocessableEntity, "Switch the example off and feed it anew.",
				"%s predicts several numbers at once, which can't be corrected one by one. Nothing was changed.", task.Name)
		}
	}
	touched := map[int]bool{}
	for _, change := range []struct {
		numbers []int
		to      bool
		list    *[]int
	}{{r.On, true, &v.on}, {r.Off, false, &v.off}} {
		for _, n := range change.numbers {
			e, err := find(n)
			if err != nil {
				return nil, err
			}
			if e.On != change.to {
				e.On = change.to
				*change.list = append(*change.list, n)
				touched[n] = true
			}
		}
	}
	numbers := make([]int, 0, len(r.Labels))
	for n := range r.Labels {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		e, err := find(n)
		if err != nil {
			return nil, err
		}
		label, err := labelOf(task, target, r.Labels[n])
		if err != nil {
			return nil, err
		}
		if sameLabel(target, e.Label, label) {
			continue
		}
		changes.Labels = append(changes.Labels, Relabel{Number: n, From: e.Label, To: label})
		if e.Fed == "" {
			e.Fed = e.Label
		}
		if e.Label = label; sameLabel(target, e.Fed, label) {
			e.Label, e.Fed = e.Fed, "" // it says again what was fed
		}
		v.labels = append(v.labels, *e)
		touched[n] = true
	}
	if len(touched) == 0 {
		return nil, nil
	}
	changes.On, changes.Off = v.on, v.off
	for n := range touched {
		switch examples[at[n]].Part {
		case trial.Train:
			changes.Parts.Train++
		case trial.Validation:
			changes.Parts.Validation++
		case trial.Test:
			changes.Parts.Test++
		}
	}
	return v, nil
}

// labelOf is a label as the task has it: one of its classes, however it is
// written, or a number.
func labelOf(task store.Task, target trial.Target, text string) (string, error) {
	text = strings.TrimSpace(text)
	if target.Kind != "classes" {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return "", refuse(http.StatusUnprocessableEntity, "For example: refine "+task.Name+" 17 as 2.5",
				"%s predicts numbers, and %q is none. Nothing was changed.", task.Name, text)
		}
		return number64(x), nil
	}
	if slices.Contains(target.Labels, text) {
		return text, nil
	}
	var alike []string
	x, err := strconv.ParseFloat(text, 64)
	for _, label := range target.Labels {
		y, lerr := strconv.ParseFloat(label, 64)
		if strings.EqualFold(label, text) || err == nil && lerr == nil && x == y {
			alike = append(alike, label)
		}
	}
	if len(alike) == 1 {
		return alike[0], nil
	}
	shown := target.Labels[:min(len(target.Labels), 12)]
	more := ""
	if len(shown) < len(target.Labels) {
		more = fmt.Sprintf(" and %d more", len(target.Labels)-len(shown))
	}
	return "", refuse(http.StatusUnprocessableEntity, "Its classes: "+strings.Join(shown, ", ")+more+".",
		"%q is none of the classes of %s. Nothing was changed.", text, task.Name)
}

// number64 writes a number as the trainer writes labels that are numbers.
func number64(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func sameLabel(target trial.Target, a, b string) bool {
	if target.Kind != "classes" {
		x, xerr := strconv.ParseFloat(a, 64)
		y, yerr := strconv.ParseFloat(b, 64)
		return xerr == nil && yerr == nil && x == y
	}
	return a == b
}
