package cells

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
	"github.com/easeml/easeml/schema"
)

// fresh is how old the list of tasks may be before it is fetched again, in the
// background.
const fresh = 2 * time.Second

// names is what completion and inspection know. It never waits for the server:
// what was seen last is the answer, and a look for newer things goes on behind it.
type names struct {
	cells *Cells

	mu     sync.Mutex
	tasks  []api.Task
	views  map[ref]api.View
	at     time.Time // when tasks were fetched
	seen   int       // how often a cell has seen something since: what is on its way from before is older
	busy   bool
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	heads  heads
}

var _ lang.Names = (*names)(nil)

func (n *names) init(c *Cells) {
	n.cells = c
	n.views = map[ref]api.View{}
	n.ctx, n.cancel = context.WithCancel(context.Background())
}

func (n *names) close() {
	n.cancel()
	n.work.Wait()
}

// saw keeps the newest view of a task.
func (n *names) saw(v api.View) {
	if v.Name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen++
	n.views[ref{v.User, v.Name}] = v
	i := slices.IndexFunc(n.tasks, func(t api.Task) bool { return t.User == v.User && t.Name == v.Name })
	if i < 0 {
		n.tasks = append(n.tasks, v.Task)
	} else {
		n.tasks[i] = v.Task
	}
}

// sawAll keeps a list of tasks.
func (n *names) sawAll(tasks []api.Task) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tasks, n.at = slices.Clone(tasks), time.Now()
	n.seen++
}

func (n *names) dropped(t taken) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen++
	delete(n.views, ref{t.user, t.name})
	n.tasks = slices.DeleteFunc(n.tasks, func(x api.Task) bool { return x.User == t.user && x.Name == t.name })
}

// refresh fetches the list of tasks in the background, unless it is new or nobody
// has looked for a server yet.
func (n *names) refresh() {
	client, _ := n.cells.session.peek()
	n.mu.Lock()
	defer n.mu.Unlock()
	if client == nil || n.busy || time.Since(n.at) < fresh || n.ctx.Err() != nil {
		return
	}
	n.busy = true
	seen := n.seen
	n.work.Go(func() {
		ctx, cancel := context.WithTimeout(n.ctx, lookWithin)
		defer cancel()
		tasks, err := client.Tasks(ctx, "me")
		if shared, serr := client.Tasks(ctx, "shared"); serr == nil {
			tasks = append(tasks, shared...)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.busy = false
		if seen != n.seen {
			return // a cell was faster: the next look fetches again
		}
		n.at = time.Now()
		if err == nil {
			n.tasks = tasks
		}
	})
}

// List gives the names of a kind that fit the context.
func (n *names) List(kind lang.ItemKind, at lang.Context) []string {
	switch kind {
	case lang.KindFile:
		return n.cells.listFiles(at.Prefix)
	case lang.KindColumn:
		var out []string
		for _, f := range at.Files {
			for _, column := range n.heads.of(n.cells.resolve(f)) {
				if !slices.Contains(out, column) {
					out = append(out, column)
				}
			}
		}
		return out
	}
	n.refresh()
	_, me := n.cells.session.peek()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch kind {
	case lang.KindTask:
		var out []string
		for _, t := range n.tasks {
			if t.User == me {
				out = append(out, t.Name)
			} else {
				out = append(out, lang.Task{User: t.User, Name: t.Name}.String())
			}
		}
		return out
	case lang.KindUser:
		var out []string
		for _, t := range n.tasks {
			if !slices.Contains(out, t.User) {
				out = append(out, t.User)
			}
		}
		return out
	}
	task, view := n.find(at.Task, me)
	switch kind {
	case lang.KindField:
		if task == nil {
			return nil
		}
		p, err := schema.Parse(task.Program)
		if err != nil {
			return nil
		}
		return append(p.Names(schema.Input), p.Names(schema.Output)...)
	case lang.KindLabel:
		if task == nil {
			return nil
		}
		if len(task.Labels) > 0 {
			return task.Labels
		}
		return labelsIn(task.Program)
	case lang.KindCandidate, lang.KindTrial:
		if view == nil {
			return nil
		}
		var out []string
		for _, r := range view.Rows {
			if kind == lang.KindCandidate {
				out = append(out, r.Candidate)
			} else if r.Trial != nil {
				out = append(out, strconv.Itoa(*r.Trial))
			}
		}
		return out
	}
	return nil
}

// labelsIn are the classes that a program's outputs name.
func labelsIn(program string) (labels []string) {
	p, err := schema.Parse(program)
	if err != nil {
		return nil
	}
	for _, f := range p.Output.Fields {
		if f.Classes != nil {
			labels = append(labels, f.Classes.Labels...)
		}
	}
	return labels
}

// find looks up a task as it is typed, "" being the current one; mu is held.
func (n *names) find(typed, me string) (*api.Task, *api.View) {
	user, name := me, typed
	if u, rest, ok := strings.Cut(typed, "/"); ok {
		user, name = strings.Trim(u, `"`), rest
	}
	if typed == "" {
		s := &n.cells.session
		s.mu.Lock()
		if s.current != nil {
			user, name = s.current.User, s.current.Name
		}
		s.mu.Unlock()
	}
	var task *api.Task
	for i, t := range n.tasks {
		if t.User == user && t.Name == name {
			task = &n.tasks[i]
		}
	}
	if v, ok := n.views[ref{user, name}]; ok {
		return task, &v
	}
	return task, nil
}

// candidate finds the task that was seen here, the current one first, with a
// candidate of this name.
func (n *names) candidate(name string) (ref, string, bool) {
	n.cells.session.mu.Lock()
	current := n.cells.session.current
	known := slices.Clone(n.cells.session.known)
	n.cells.session.mu.Unlock()
	if current != nil {
		known = append([]ref{{current.User, current.Name}}, known...)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range known {
		for _, row := range n.views[r].Rows {
			if id, _, _ := strings.Cut(row.Candidate, "+"); id == name || row.Candidate == name {
				return r, row.Candidate, true
			}
		}
	}
	return ref{}, "", false
}

// Complete proposes what may stand at the cursor.
func (c *Cells) Complete(_ context.Context, code string, cursor int) jupyter.Completion {
	found := lang.Complete(code, cursor, &c.names)
	out := jupyter.Completion{Start: found.Start, End: found.End}
	for _, i := range found.Items {
		if i.Kind == lang.KindWord && (slices.Contains(later, i.Text) || slices.Contains(laterWords, i.Text)) {
			continue // it would only be refused
		}
		out.Matches = append(out.Matches, i.Text)
		out.Types = append(out.Types, jupyter.CompletionType{Text: i.Text, Type: string(i.Kind), Signature: i.Doc})
	}
	return out
}

// Inspect describes what stands at the cursor; for a task, its state as it was
// seen last.
func (c *Cells) Inspect(_ context.Context, code string, cursor, detail int) (jupyter.Bundle, bool) {
	t, ok := lang.At(code, cursor)
	if !ok {
		return jupyter.Bundle{}, false
	}
	text := t.Doc
	switch t.Kind {
	case lang.KindTask:
		text = c.names.aboutTask(t.Text, detail)
	case lang.KindCandidate:
		text = c.names.aboutCandidate(t.Task, t.Text)
	case lang.KindAttribute:
		text = c.names.aboutAttribute(t)
	case lang.KindFile:
		text = c.aboutFile(t.Text)
	}
	if text == "" {
		return jupyter.Bundle{}, false
	}
	return jupyter.Bundle{Data: map[string]any{"text/plain": text, "text/markdown": "```text\n" + strings.ReplaceAll(text, "```", "'''") + "\n```"}}, true
}

// aboutTask is a task's state, with its program where all is asked for.
func (n *names) aboutTask(typed string, detail int) string {
	n.refresh()
	_, me := n.cells.session.peek()
	n.mu.Lock()
	defer n.mu.Unlock()
	task, view := n.find(typed, me)
	text := ""
	if view != nil && task != nil && (task.Changed.After(view.Changed) || task.Tried != view.Tried) {
		view = nil // the list is newer
	}
	switch {
	case view != nil:
		text = show.WatchTable(typed, *view).Text
	case task != nil:
		text = show.WatchTable(typed, api.View{Task: *task, Now: task.Changed}).Text
	default:
		return fmt.Sprintf("%s is a task's name; nothing has been seen of it here.", typed)
	}
	if task != nil && detail > 0 {
		if p, err := schema.Parse(task.Program); err == nil {
			text += "\n\n" + schema.Print(p)
		}
	}
	return text
}

// aboutAttribute is what a figure means, and what it was when the task was seen
// last.
func (n *names) aboutAttribute(t lang.Token) string {
	n.refresh()
	typed, name := t.Task, t.Text
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		typed, name = name[:i], name[i+1:]
	}
	_, me := n.cells.session.peek()
	n.mu.Lock()
	defer n.mu.Unlock()
	task, view := n.find(typed, me)
	if view == nil && task != nil {
		view = &api.View{Task: *task}
	}
	if view == nil {
		return t.Doc
	}
	if v := attributeOf(*view, name); v != nil {
		return fmt.Sprintf("%s\nNow %s for %s.", t.Doc, plainValue(v), view.Name)
	}
	return fmt.Sprintf("%s\n%s has none yet: %s.", t.Doc, view.Name, noValueReason(*view, name))
}

// aboutCandidate is a candidate's row on the leaderboard.
func (n *names) aboutCandidate(typed, candidate string) string {
	_, me := n.cells.session.peek()
	n.mu.Lock()
	defer n.mu.Unlock()
	_, view := n.find(typed, me)
	if view == nil {
		return ""
	}
	for _, r := range view.Rows {
		if r.Candidate == candidate {
			return show.Candidate(*view, r).Text
		}
	}
	return ""
}

// IsComplete tells a console whether Enter runs the text.
func (c *Cells) IsComplete(code string) (status, indent string) {
	s, indent := lang.IsComplete(code)
	return string(s), indent
}
