package cells

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
)

// session is the server, the person there, and the current task.
type session struct {
	cells *Cells

	mu      sync.Mutex
	client  *api.Client
	found   Found
	me      api.Me
	suspect bool      // the last request was lost: look for the server again
	named   string    // the server that a statement named; "" is the one that is found
	token   string    // what the person typed as their token there
	current *api.Task // user and name of the task that statements without one mean
	known   []ref     // the tasks that were seen here, for completion
}

// ref is a task by its owner and name.
type ref struct{ user, name string }

// connect gives the client, finding or starting the server first where that is
// needed. address is what a statement names, or "". ask, which may be nil, asks the
// person for their token where a named server wants one.
func (s *session) connect(ctx context.Context, address string, ask func(url string) (string, error)) (*api.Client, error) {
	s.mu.Lock()
	client, suspect, named, token := s.client, s.suspect, s.named, s.token
	s.mu.Unlock()
	if client != nil && !suspect && address == "" {
		return client, nil
	}
	if address != "" && address != named {
		named, token = address, ""
	}
	fresh, found, err := s.cells.config.Connect(ctx, named)
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			return nil, cause
		}
		if client != nil && address == "" {
			return nil, &api.Lost{URL: client.URL(), Err: err}
		}
		return nil, fail(serverAway, sentence(err.Error()), "")
	}
	if token != "" {
		fresh.Close()
		fresh = api.New(found.URL, token)
	}
	me, err := fresh.Me(ctx)
	if api.IsStatus(err, http.StatusUnauthorized) && ask != nil {
		if token, err = ask(found.URL); err != nil {
			return nil, err
		}
		fresh.Close()
		fresh = api.New(found.URL, token)
		me, err = fresh.Me(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	other := s.client != nil && (s.client.URL() != fresh.URL() || s.me.User != me.User)
	if s.client != nil && s.client != fresh {
		s.client.Close()
	}
	s.client, s.found, s.me, s.suspect, s.named, s.token = fresh, found, me, false, named, token
	if other && address != "" {
		s.current, s.known = nil, nil
	}
	s.mu.Unlock()
	if address != "" {
		s.cells.watches.end()
	}
	s.cells.log.Info("server", "url", found.URL, "private", found.Private, "started", found.Started, "user", me.User)
	s.cells.follow.use(fresh)
	return fresh, nil
}

// peek is the client if there is one, and the person.
func (s *session) peek() (*api.Client, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client, s.me.User
}

// about is what is known of the server.
func (s *session) about() (Found, api.Me) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, s.me
}

// lost notes that the server could not be reached.
func (s *session) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspect = true
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
	}
}

// call runs a request. Where the server is lost it is looked for once more, and
// the request repeated: every request of a statement may be.
func call[T any](ctx context.Context, s *session, request func(*api.Client) (T, error)) (T, error) {
	var none T
	client, err := s.connect(ctx, "", nil)
	if err != nil {
		return none, err
	}
	out, err := request(client)
	if !api.IsLost(err) {
		return out, err
	}
	s.lost()
	if client, err = s.connect(ctx, "", nil); err != nil {
		return none, err
	}
	out, err = request(client)
	if api.IsLost(err) {
		s.lost()
	}
	return out, err
}

// taken is a task as a statement means it.
type taken struct {
	user, name string
	shown      string    // as the person writes it: digits, alice/digits
	span       lang.Span // where it is named; zero where it isn't
	named      bool
}

// path is the task's place in messages to the server.
func (t taken) topic() string { return api.TaskTopic(t.user, t.name) }

// resolve finds out which task a statement means: the one it names, else the last
// one that was declared or named here, else the person's only one.
func (s *session) resolve(ctx context.Context, t *lang.Task) (taken, error) {
	if _, err := s.connect(ctx, "", nil); err != nil {
		return taken{}, err
	}
	_, me := s.peek()
	if t != nil {
		user := t.User
		if user == "" {
			user = me
		}
		return taken{user: user, name: t.Name, shown: s.shown(user, t.Name), span: t.Span, named: true}, nil
	}
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil {
		return taken{user: current.User, name: current.Name, shown: s.shown(current.User, current.Name)}, nil
	}
	tasks, err := call(ctx, s, func(c *api.Client) ([]api.Task, error) { return c.Tasks(ctx, "me") })
	if err != nil {
		return taken{}, err
	}
	switch len(tasks) {
	case 0:
		return taken{}, fail(noSuchTask, "You have no task yet.", "Declare one first: help schema")
	case 1:
		return taken{user: tasks[0].User, name: tasks[0].Name, shown: s.shown(tasks[0].User, tasks[0].Name)}, nil
	}
	names := make([]string, len(tasks))
	for i, task := range tasks {
		names[i] = task.Name
	}
	return taken{}, fail(noSuchTask, "Which task is meant?", "Yours: "+enumerate(names)+".")
}

// shown is a task as its user writes it.
func (s *session) shown(user, name string) string {
	_, me := s.peek()
	if user == me {
		return name
	}
	return lang.Task{User: user, Name: name}.String()
}

// use makes a task the current one.
func (s *session) use(t taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = &api.Task{User: t.user, Name: t.name}
	if r := (ref{t.user, t.name}); !slices.Contains(s.known, r) {
		s.known = append(s.known, r)
	}
}

// forget takes a dropped task out.
func (s *session) forget(t taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.User == t.user && s.current.Name == t.name {
		s.current = nil
	}
	s.known = slices.DeleteFunc(s.known, func(r ref) bool { return r == ref{t.user, t.name} })
}

// view resolves a task and gets its view. The task becomes the current one.
func (s *session) view(ctx context.Context, t *lang.Task) (taken, api.View, int64, error) {
	task, err := s.resolve(ctx, t)
	if err != nil {
		return task, api.View{}, 0, err
	}
	view, seq, err := s.look(ctx, task)
	return task, view, seq, err
}

// look gets a task's view. The task becomes the current one.
func (s *session) look(ctx context.Context, task taken) (api.View, int64, error) {
	type both struct {
		view api.View
		seq  int64
	}
	got, err := call(ctx, s, func(c *api.Client) (both, error) {
		v, seq, err := c.Task(ctx, task.user, task.name)
		return both{v, seq}, err
	})
	if err != nil {
		return api.View{}, 0, s.missing(ctx, task, err)
	}
	s.use(task)
	s.cells.names.saw(got.view)
	return got.view, got.seq, nil
}

// missing turns "not found" into a sentence that knows the person's tasks.
func (s *session) missing(ctx context.Context, task taken, err error) error {
	if !api.IsStatus(err, http.StatusNotFound) {
		return err
	}
	s.forget(task)
	p := fail(noSuchTask, fmt.Sprintf("There is no task %s.", task.shown), "")
	if task.named {
		p = p.at(task.span)
	}
	tasks, terr := call(ctx, s, func(c *api.Client) ([]api.Task, error) { return c.Tasks(ctx, "me") })
	if terr != nil {
		return p
	}
	var mine []string
	for _, t := range tasks {
		mine = append(mine, t.Name)
	}
	switch near := lang.Nearest(task.name, mine); {
	case len(mine) == 0:
		p.hint = "You have none yet; help schema tells how to declare one."
	case near != "" && len(mine) == 1:
		p.hint = fmt.Sprintf("Did you mean %s?", near)
	case near != "":
		p.hint = fmt.Sprintf("Did you mean %s?  (yours: %s)", near, enumerate(mine))
	default:
		p.hint = "Yours: " + enumerate(mine) + "."
	}
	return p
}

// enumerate lists names, a few of them.
func enumerate(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + fmt.Sprintf(" and %d more", len(names)-12)
	}
	return strings.Join(names, ", ")
}
