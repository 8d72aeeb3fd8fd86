package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Health asks whether a server answers at all; it needs no token.
func (c *Client) Health(ctx context.Context) (health Health, err error) {
	_, err = c.get(ctx, "/healthz", nil, &health)
	return health, err
}

// Me says who the token belongs to.
func (c *Client) Me(ctx context.Context) (me Me, err error) {
	_, err = c.get(ctx, prefix+"/me", nil, &me)
	return me, err
}

// Server describes the server.
func (c *Client) Server(ctx context.Context) (server Server, err error) {
	_, err = c.get(ctx, prefix+"/server", nil, &server)
	return server, err
}

// Tasks lists tasks: of "me" (also ""), "shared", or "all" that the caller may see.
func (c *Client) Tasks(ctx context.Context, of string) (tasks []Task, err error) {
	query := url.Values{}
	if of != "" {
		query.Set("of", of)
	}
	_, err = c.get(ctx, prefix+"/tasks", query, &tasks)
	return tasks, err
}

// Task is the whole view of a task, with the event it is current to: a Stream
// opened since that one misses nothing.
func (c *Client) Task(ctx context.Context, user, name string) (view View, seq int64, err error) {
	seq, err = c.get(ctx, taskPath(user, name), nil, &view)
	return view, seq, err
}

// Declare declares a task. Its Outcome is created, same, replaced or changed; a task that
// has examples and another program is a Problem with status 409.
func (c *Client) Declare(ctx context.Context, user, name string, d Declare) (declared Declared, err error) {
	_, err = c.call(ctx, request{method: http.MethodPut, path: taskPath(user, name), body: d}, &declared)
	return declared, err
}

// Patch stops or resumes a task, or changes its options.
func (c *Client) Patch(ctx context.Context, user, name string, p PatchTask) (view View, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: taskPath(user, name), body: p}, &view)
	return view, err
}

// Drop drops a task.
func (c *Client) Drop(ctx context.Context, user, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: taskPath(user, name)}, nil)
	return err
}

// Feed feeds complete uploads to a task. The server reads them after it has
// answered: follow the task's events until feed.ended, or ask GetFeed. Where the
// same content was fed before, that feed is returned, with Earlier set.
func (c *Client) Feed(ctx context.Context, user, name string, f NewFeed) (feed Feed, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: taskPath(user, name, "feeds"), body: f}, &feed)
	return feed, err
}

// Feeds lists the feeds of a task, the first one first.
func (c *Client) Feeds(ctx context.Context, user, name string) (feeds []Feed, err error) {
	_, err = c.get(ctx, taskPath(user, name, "feeds"), nil, &feeds)
	return feeds, err
}

// GetFeed is one feed by the task's number for it.
func (c *Client) GetFeed(ctx context.Context, user, name string, number int) (feed Feed, err error) {
	_, err = c.get(ctx, taskPath(user, name, "feeds", strconv.Itoa(number)), nil, &feed)
	return feed, err
}

// Rejects lists rows of a feed that were not accepted: at most limit (0: the
// server's own limit), leaving out the first offset.
func (c *Client) Rejects(ctx context.Context, user, name string, feed, offset, limit int) (rejects []Reject, err error) {
	query := url.Values{}
	setInt(query, "offset", offset)
	setInt(query, "limit", limit)
	_, err = c.get(ctx, taskPath(user, name, "feeds", strconv.Itoa(feed), "rejects"), query, &rejects)
	return rejects, err
}

// Examples lists accepted examples in order of their numbers, without their
// content unless the query asks for it. A page that is shorter than the limit is the last one.
func (c *Client) Examples(ctx context.Context, user, name string, q ExamplesQuery) (examples []Example, err error) {
	query := url.Values{}
	setInt(query, "after", q.After)
	setInt(query, "limit", q.Limit)
	setText(query, "part", q.Part)
	setText(query, "state", q.State)
	if q.Content {
		query.Set("content", "true")
	}
	_, err = c.get(ctx, taskPath(user, name, "examples"), query, &examples)
	return examples, err
}

// Refine switches examples on and off and returns the dataset version that is
// in force then: a new one, or the present one where nothing changed.
func (c *Client) Refine(ctx context.Context, user, name string, p PatchExamples) (version Version, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: taskPath(user, name, "examples"), body: p}, &version)
	return version, err
}

// Versions lists the dataset versions of a task, the first one first.
func (c *Client) Versions(ctx context.Context, user, name string) (versions []Version, err error) {
	_, err = c.get(ctx, taskPath(user, name, "versions"), nil, &versions)
	return versions, err
}

// Candidates is the leaderboard with what the allocator expects of the untried.
func (c *Client) Candidates(ctx context.Context, user, name string) (rows []Row, err error) {
	_, err = c.get(ctx, taskPath(user, name, "candidates"), nil, &rows)
	return rows, err
}

// Trials lists the trials of a task's present search by their numbers.
func (c *Client) Trials(ctx context.Context, user, name string) (trials []Trial, err error) {
	_, err = c.get(ctx, taskPath(user, name, "trials"), nil, &trials)
	return trials, err
}

// Trial is one trial by the task's number for it.
func (c *Client) Trial(ctx context.Context, user, name string, number int) (trial Trial, err error) {
	_, err = c.get(ctx, taskPath(user, name, "trials", strconv.Itoa(number)), nil, &trial)
	return trial, err
}

// StopTrial ends a running trial; its best so far counts.
func (c *Client) StopTrial(ctx context.Context, user, name string, number int) error {
	path := taskPath(user, name, "trials", strconv.Itoa(number), "stop")
	_, err := c.call(ctx, request{method: http.MethodPost, path: path}, nil)
	return err
}

// Decisions says why trials were started, the newest first: of one trial
// (0: all), of one candidate ("": all).
func (c *Client) Decisions(ctx context.Context, user, name string, trial int, candidate string) (decisions []Decision, err error) {
	query := url.Values{}
	setInt(query, "trial", trial)
	setText(query, "candidate", candidate)
	_, err = c.get(ctx, taskPath(user, name, "decisions"), query, &decisions)
	return decisions, err
}

// Best reports on the model that answers.
func (c *Client) Best(ctx context.Context, user, name string) (report Report, err error) {
	_, err = c.get(ctx, taskPath(user, name, "best"), nil, &report)
	return report, err
}

// Pool shows the devices.
func (c *Client) Pool(ctx context.Context) (pool Pool, err error) {
	_, err = c.get(ctx, prefix+"/pool", nil, &pool)
	return pool, err
}

// Catalogue counts the candidates that a program would have before any data.
func (c *Client) Catalogue(ctx context.Context, program string) (count CatalogCount, err error) {
	_, err = c.get(ctx, prefix+"/catalogue", url.Values{"program": {program}}, &count)
	return count, err
}

func setInt(query url.Values, name string, n int) {
	if n != 0 {
		query.Set(name, strconv.Itoa(n))
	}
}

func setText(query url.Values, name, text string) {
	if text != "" {
		query.Set(name, text)
	}
}
