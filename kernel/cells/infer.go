package cells

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// How many answers are shown: few where all of them are in a file.
const (
	shownWithFile    = 5
	shownWithoutFile = 20
	keptRefusals     = 3
)

// infer asks the best model for answers.
func (c *cell) infer(ctx context.Context, s *lang.Infer) error {
	list, err := c.sources(ctx, s.Sources)
	if err != nil {
		return err
	}
	into, err := c.target(s.Into)
	if err != nil {
		return err
	}
	if into != "" && c.isAsked(into, s.Sources, list) {
		return fail(fileError, fmt.Sprintf("%s is a file that is asked about, and would be written over.", s.Into.File), "Name another file for the answers.").at(s.Into.Span)
	}
	task, view, _, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	d := c.display()
	ids, err := c.send(ctx, list, d)
	if err != nil {
		d.fault("Nothing was answered.")
		return err
	}
	if (view.Best == nil || view.Best.Baseline) && view.State == api.TaskSearching {
		d.set(show.WaitingForModel(task.shown, view))
	}
	preview := show.Preview{Name: task.shown, Sources: quoted(c.request.Code, s.Sources), Metric: view.Metric.Name, Doubts: view.Doubts}
	kept := shownWithoutFile
	var file *answerFile
	if into != "" {
		preview.Into, kept = s.Into.File, shownWithFile
		if file, err = newAnswerFile(into, view.Task, len(list) > 1); err != nil {
			return err
		}
		defer file.discard()
	}
	body := api.NewInfer{Uploads: ids, Using: using(s.Using), Options: collected(s.Options), Wait: true}
	done := 0
	inferred, err := call(ctx, &c.session, func(client *api.Client) (api.Inferred, error) {
		done, preview.Answers, preview.Refused = 0, nil, nil
		if file != nil {
			if err := file.restart(); err != nil {
				return api.Inferred{}, err
			}
		}
		return client.Infer(ctx, task.user, task.name, body, func(a api.Answer) error {
			done++
			if len(preview.Answers) < kept {
				short := a
				short.Values, short.Probabilities = nil, nil
				preview.Answers = append(preview.Answers, short)
			}
			if a.Refused != nil && len(preview.Refused) < keptRefusals {
				preview.Refused = append(preview.Refused, a)
			}
			d.progress(func() show.Output { return show.Inferring(task.shown, done) })
			if file != nil {
				return file.add(a)
			}
			return nil
		})
	})
	if err != nil {
		d.fault("Nothing was answered.")
		if errors.Is(context.Cause(ctx), jupyter.ErrInterrupted) {
			return fail(interrupted, "Interrupted; no file was written.", "")
		}
		return err
	}
	if file != nil {
		if err := file.finish(inferred); err != nil {
			return err
		}
		preview.Columns = len(file.columns) > 0
	}
	preview.Inferred = inferred
	d.set(show.Inferred(preview))
	return nil
}

// isAsked tells whether a file is one of those that a statement names.
func (c *cell) isAsked(file string, named []lang.Source, list []source) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	var paths []string
	for _, s := range named {
		if s.Kind == lang.SourceFile {
			paths = append(paths, c.resolve(s.Text))
		}
	}
	for _, one := range list {
		paths = append(paths, one.path)
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		other, err := os.Stat(p)
		return err == nil && os.SameFile(info, other)
	})
}

// target is the file that a table goes to, "" where there is none.
func (c *cell) target(into *lang.Into) (string, error) {
	if into == nil {
		return "", nil
	}
	if into.Variable != "" {
		return "", notServed(fmt.Sprintf("`into %s` needs a Python notebook: this kernel has no variables.", into.Variable),
			fmt.Sprintf("Write into a file: into \"%s.csv\"", into.Variable)).at(into.Span)
	}
	if !slices.Contains(tables, strings.ToLower(path.Ext(into.File))) {
		return "", fail(fileError, fmt.Sprintf("Tables are written as CSV, JSON lines, Parquet, Arrow or Excel, so %s has to end in %s or %s.", into.File,
			strings.Join(tables[:len(tables)-1], ", "), tables[len(tables)-1]), "").at(into.Span)
	}
	return c.resolve(into.File), nil
}
