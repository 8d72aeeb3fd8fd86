package cells

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// best reports on the model that answers.
func (c *cell) best(ctx context.Context, s *lang.Best) error {
	task, err := c.session.resolve(ctx, s.Task)
	if err != nil {
		return err
	}
	report, err := call(ctx, &c.session, func(client *api.Client) (api.Report, error) {
		return client.Best(ctx, task.user, task.name)
	})
	if err != nil {
		return c.session.missing(ctx, task, err)
	}
	c.session.use(task)
	d := c.display()
	d.set(show.Best(task.shown, report))
	if more := c.further(ctx, task, report); len(more) > 0 {
		d.set(show.Best(task.shown, report, more...))
	}
	return nil
}

// models shows the leaderboard, or writes it into a file.
func (c *cell) models(ctx context.Context, s *lang.Models) error {
	into, err := c.target(s.Into)
	if err != nil {
		return err
	}
	task, view, _, err := c.view(ctx, s.Task)
	if err != nil {
		return err
	}
	if into == "" {
		c.show(show.Models(task.shown, view))
		return nil
	}
	err = writeTable(into, nil, func(w records) error {
		if err := w.Write([]string{"trial", "candidate", "label", "family", "state", "search", "low", "high", "n", "seconds", "tied", "message"}); err != nil {
			return err
		}
		for _, r := range view.Rows {
			line := []string{"", r.Candidate, r.Label, r.Family, r.State, "", "", "", "", "", strconv.FormatBool(r.Tied), r.Message}
			if r.Trial != nil {
				line[0] = strconv.Itoa(*r.Trial)
			}
			if e := r.Search; e != nil {
				line[5], line[6], line[7], line[8] = digits(e.Value), digits(e.Low), digits(e.High), strconv.Itoa(e.N)
			}
			if r.Seconds != nil {
				line[9] = digits(*r.Seconds)
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.show(show.WroteModels(view, s.Into.File))
	return nil
}

// digits is a figure for other programs.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// tasks lists tasks.
func (c *cell) tasks(ctx context.Context, s *lang.Tasks) error {
	into, err := c.target(s.Into)
	if err != nil {
		return err
	}
	if s.Of != nil {
		return notServed("`tasks of …` is not served yet.", "Say tasks, or tasks all.").at(s.Of.Span)
	}
	get := func(of string) ([]api.Task, error) {
		return call(ctx, &c.session, func(client *api.Client) ([]api.Task, error) { return client.Tasks(ctx, of) })
	}
	kinds := []string{"me", "shared"}
	if s.All {
		kinds = []string{"all"}
	}
	var list []api.Task
	for _, of := range kinds {
		tasks, err := get(of)
		if err != nil {
			return err
		}
		list = append(list, tasks...)
	}
	_, me := c.session.peek()
	c.names.sawAll(list)
	if into == "" {
		c.show(show.Tasks(me, list))
		return nil
	}
	err = writeTable(into, nil, func(w records) error {
		if err := w.Write([]string{"user", "task", "description", "state", "reason", "examples", "metric", "search", "test", "tried", "candidates", "seconds"}); err != nil {
			return err
		}
		for _, t := range list {
			line := []string{t.User, t.Name, t.Description, string(t.State), string(t.Reason), strconv.Itoa(t.Examples), t.Metric.Name, "", "",
				strconv.Itoa(t.Tried), strconv.Itoa(t.Candidates), digits(t.Seconds)}
			if b := t.Best; b != nil && !b.Baseline {
				line[7] = digits(b.Search.Value)
				if b.Test != nil {
					line[8] = digits(b.Test.Value)
				}
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.show(show.Wrote(len(list), "task", s.Into.File))
	return nil
}

// pool lists the devices.
func (c *cell) pool(ctx context.Context, s *lang.Pool) error {
	if s.Action != lang.PoolShow {
		return notServed(fmt.Sprintf("`pool %s` is not served yet.", s.Action), "pool lists the devices.")
	}
	pool, err := call(ctx, &c.session, func(client *api.Client) (api.Pool, error) { return client.Pool(ctx) })
	if err != nil {
		return err
	}
	_, me := c.session.peek()
	c.show(show.Pool(me, pool))
	return nil
}

// server shows the server, or goes to another one.
func (c *cell) server(ctx context.Context, s *lang.Server) error {
	if _, err := c.session.connect(ctx, s.Address, func(url string) (string, error) { return c.askToken(ctx, url) }); err != nil {
		return err
	}
	about, err := call(ctx, &c.session, func(client *api.Client) (api.Server, error) { return client.Server(ctx) })
	if err != nil {
		return err
	}
	found, me := c.session.about()
	why := found.Why
	if found.Started {
		why = "it was started for this notebook"
	}
	c.show(show.Server(found.URL, why, about, me))
	return nil
}

// askToken asks the person for their token of a server. It is shown nowhere and
// kept only as long as the kernel runs.
func (c *cell) askToken(ctx context.Context, url string) (string, error) {
	token, err := c.request.Prompt.Input(ctx, "Your token for "+url+": ", true)
	if errors.Is(err, io.EOF) || err == nil && strings.TrimSpace(token) == "" {
		err = jupyter.ErrNoStdin
	}
	if errors.Is(err, jupyter.ErrNoStdin) {
		return "", fail(notAllowed, "The server at "+url+" wants a token.", "Set EASEML_SERVER and EASEML_TOKEN before the notebook is opened, or ask its admin for one.")
	}
	return strings.TrimSpace(token), err
}

// page shows a text in the frontend's pager.
func (c *cell) page(text string) {
	if c.config.Page != nil {
		c.config.Page(text)
		return
	}
	c.reply.Payload = append(c.reply.Payload, jupyter.Page(jupyter.Text(text)))
}

// help shows a text in the frontend's pager.
func (c *cell) help(s *lang.Help) error {
	text, ok := lang.HelpText(s.Topic)
	if !ok {
		return fail("NoSuchWord", text, "")
	}
	switch {
	case s.Topic == "":
		text += "\n\nNot served yet: " + strings.Join(later, " ")
	case slices.Contains(later, s.Topic):
		text += "\n\nThis statement is not served yet."
	}
	c.page(text)
	return nil
}
