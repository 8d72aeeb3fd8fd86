package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/store"
)

// Outcomes of Declare.
const (
	Created  = "created"
	Same     = "same"     // equal to what is declared: nothing was changed
	Replaced = "replaced" // another program, and there were no examples yet
	Changed  = "changed"  // other options: a new search measures by them
)

// Declare declares a task. It is idempotent; another program on a task that
// has examples is refused.
func (s *Service) Declare(ctx context.Context, user store.User, name, program string, options map[string]any) (outcome string, task store.Task, err error) {
	p, err := schema.Parse(program)
	if err != nil {
		var fault *schema.Error
		if errors.As(err, &fault) {
			return "", task, &Refusal{Status: http.StatusUnprocessableEntity, Detail: fault.Message, Hint: fault.Hint}
		}
		return "", task, err
	}
	wanted, err := checkOptions(options)
	if err != nil {
		return "", task, err
	}
	template, ok := schema.Match(p)
	if !ok {
		return "", task, refuse(http.StatusUnprocessableEntity, "", "No kind of task has inputs and outputs of these shapes.")
	}
	canonical := schema.Format(p)
	err = s.ask(ctx, func(st *state) error {
		outcome, task, err = st.declare(ctx, user, name, canonical, string(template), wanted)
		return err
	})
	if err == nil && outcome == Changed {
		err = s.remeasure(ctx, task.ID)
	}
	return outcome, task, err
}

func (st *state) declare(ctx context.Context, user store.User, name, program, template string, options map[string]any) (outcome string, task store.Task, err error) {
	_, err = st.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		now := st.now()
		task, err = tx.TaskByName(user.ID, name)
		if errors.Is(err, store.ErrNotFound) {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			task = store.Task{
				ID: id.String(), UserID: user.ID, User: user.Name, Name: name, Program: program, Template: template,
				Options: encode(options), State: "declared", NextExample: 1, NextTrial: 1, NextFeed: 1, Created: now, Changed: now,
			}
			if err := tx.InsertTask(task); err != nil {
				return err
			}
			outcome = Created
			_, err = tx.Event("task:"+task.ID, "task.declared", taskRow(task))
			return err
		}
		if err != nil {
			return err
		}
		_, busy := st.changes[task.ID]
		switch {
		case task.Program == program && (len(options) == 0 || bytes.Equal(encode(options), task.Options)):
			outcome = Same
			return nil
		case task.Program == program && task.Version == 0 && !busy, task.Version == 0 && task.NextExample == 1 && !busy:
			outcome = Replaced
			task.Program, task.Template, task.Options, task.Changed = program, template, encode(options), now
			if err := tx.UpdateTask(task); err != nil {
				return err
			}
			_, err = tx.Event("task:"+task.ID, "task.changed", taskRow(task))
			return err
		case task.Program == program:
			outcome = Changed
			_, err = st.setOptions(tx, &task, options)
			return err
		}
		counts, err := tx.ExampleCounts(task.ID)
		if err != nil {
			return err
		}
		return refuse(http.StatusConflict,
			fmt.Sprintf("Keep both: declare it under another name, such as %s2. Start over: drop %s.", name, name),
			"%s exists already, with another program and %s examples. Nothing was changed.", name, thousands(counts.On+counts.Off))
	})
	return outcome, task, err
}

// taskRow is the task as its events carry it.
func taskRow(t store.Task) map[string]any {
	return map[string]any{
		"user": t.User, "name": t.Name, "program": t.Program, "template": t.Template, "options": t.Options,
		"state": t.State, "reason": t.Reason, "stopped": t.Stopped, "version": t.Version,
	}
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v) // maps sort their keys: equal options are equal bytes
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// checkOptions takes a declaration's options in the forms that cells and
// clients write them, and returns them typed.
func checkOptions(options map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for name, value := range options {
		text := strings.TrimSpace(fmt.Sprint(value))
		bad := func(want string) error {
			return refuse(http.StatusUnprocessableEntity, "", "The option %s is %s; it must be %s.", name, text, want)
		}
		switch name {
		case "metric":
			if !slices.Contains(Metrics, text) {
				return nil, refuse(http.StatusUnprocessableEntity, "There are "+strings.Join(Metrics, ", ")+".", "There is no metric %s.", text)
			}
			out[name] = text
		case "seed":
			n, err := strconv.ParseInt(text, 10, 31)
			if err != nil || n < 0 {
				return nil, bad("a whole number from 0 up")
			}
			out[name] = n
		case "folds":
			n, err := strconv.Atoi(text)
			if err != nil || n < 2 || n > 20 {
				return nil, bad("a whole number from 2 to 20")
			}
			out[name] = n
		case "test":
			share, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
			if strings.HasSuffix(text, "%") {
				share /= 100
			}
			if err != nil || !(share >= 0 && share <= 0.9) {
				return nil, bad("a share from 0 to 0.9")
			}
			out[name] = share
		default:
			return nil, refuse(http.StatusUnprocessableEntity, "There are folds, metric, seed, test.", "A task has no option %s.", name)
		}
	}
	return out, nil
}

// Metrics are the names that the option metric takes; the trainer measures them.
var Metrics = []string{
	"accuracy", "average_precision", "balanced_accuracy", "f1", "iou", "log_loss", "mae", "r2", "rmse", "roc_auc", "token_accuracy",
}

// kindsOf says which kinds of targets a metric measures.
var kindsOf = map[string][]string{
	"accuracy": {"classes"}, "average_precision": {"classes"}, "balanced_accuracy": {"classes"}, "f1": {"classes"}, "log_loss": {"classes"}, "roc_auc": {"classes"},
	"mae": {"numbers", "series"}, "r2": {"numbers", "series"}, "rmse": {"numbers", "series"},
	"iou": {"masks"}, "token_accuracy": {"tokens"},
}

// kindInWords names kinds of targets for people.
func kindInWords(kinds ...string) string {
	words := map[string]string{"tokens": "series of labels", "series": "series of numbers"}
	out := make([]string, len(kinds))
	for i, kind := range kinds {
		if out[i] = words[kind]; out[i] == "" {
			out[i] = kind
		}
	}
	return strings.Join(out, " and ")
}

func metricsFor(kind string) string {
	var names []string
	for _, name := range Metrics {
		if slices.Contains(kindsOf[name], kind) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// settings are a task's options as the rooms below use them.
type settings struct {
	Metric string   `json:"metric"`
	Seed   int      `json:"seed"`
	Folds  *int     `json:"folds"`
	Test   *float64 `json:"test"`
}

func settingsOf(task store.Task) settings {
	var s settings
	_ = json.Unmarshal(task.Options, &s) // checked when they were declared
	return s
}

// programJSON is a canonical program in the form of the trainer's files.
func programJSON(canonical string) json.RawMessage {
	p, err := schema.Parse(canonical)
	if err != nil {
		return json.RawMessage("null") // the trainer refuses it by name; what is stored was printed by Format
	}
	return encode(p)
}
