package cells

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// pictured is the least time between two pictures of a chart that goes on
// changing. Between them it carries the last one, so that a notebook that is saved
// at any time shows a chart wherever it is read.
const pictured = 10 * time.Second

// lookWithin bounds one look of a watch at the server, so that a cell never hangs
// on it.
const lookWithin = 10 * time.Second

// watch shows tasks live; it returns at once.
func (c *cell) watch(ctx context.Context, s *lang.Watch) error {
	var list []*lang.Task
	switch {
	case s.All:
		tasks, err := call(ctx, &c.session, func(client *api.Client) ([]api.Task, error) { return client.Tasks(ctx, "me") })
		if err != nil {
			return err
		}
		if len(tasks) == 0 {
			return fail(noSuchTask, "You have no task yet.", "Declare one first: help schema")
		}
		for _, t := range tasks {
			list = append(list, &lang.Task{User: t.User, Name: t.Name})
		}
	case len(s.Tasks) == 0:
		list = []*lang.Task{nil}
	default:
		for i := range s.Tasks {
			list = append(list, &s.Tasks[i])
		}
	}
	for _, t := range list {
		task, view, seq, err := c.view(ctx, t)
		if err != nil {
			return err
		}
		c.watches.attach(c.request.Out, task, view, seq)
	}
	return nil
}

// watches are the tasks that are watched, each with two displays that go on
// changing while other cells run.
type watches struct {
	cells *Cells
	every time.Duration // between two pictures

	mu     sync.Mutex
	list   map[string]*watch // by topic
	closed bool
	work   sync.WaitGroup
}

// watch draws one task again and again.
type watch struct {
	cells  *Cells
	task   taken
	ids    [2]string // of the chart and of the table
	dirty  bell
	cancel context.CancelFunc // nil before it draws

	drawing sync.Mutex // held while it is looked and drawn
	view    api.View
	chart   string // as drawn last
	table   string
	picture []byte    // of the chart as it was then
	at      time.Time // of the picture
	stale   bool      // the chart has changed since
	gone    bool
	back    string // when the server came back and what had happened, as long as that is shown

	news     sync.Mutex
	pending  bool
	lostAt   time.Time
	before   *api.View // as it was when the server was lost
	cameBack time.Time
}

// attach shows a task in the running cell. Where it is watched already, all its
// displays go on together.
func (l *watches) attach(out jupyter.Sink, task taken, view api.View, seq int64) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	w := l.list[task.topic()]
	fresh := w == nil
	if fresh {
		id := uuid.NewString()
		w = &watch{cells: l.cells, task: task, dirty: newBell(), ids: [2]string{"easeml-chart-" + id, "easeml-table-" + id}}
		if l.list == nil {
			l.list = map[string]*watch{}
		}
		l.list[task.topic()] = w
	}
	l.mu.Unlock()
	w.drawing.Lock()
	w.begin(out, view)
	w.drawing.Unlock()
	if fresh {
		l.start(w, seq)
	}
}

// start lets a watch draw in the background.
func (l *watches) start(w *watch, seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	leave := l.cells.follow.add(w.task.topic(), seq, w.heard)
	l.work.Go(func() {
		defer cancel()
		w.run(ctx)
		leave()
		l.mu.Lock()
		defer l.mu.Unlock()
		if topic := w.task.topic(); l.list[topic] == w {
			delete(l.list, topic)
		}
	})
}

// flush draws what is pending, or with final all, and only then returns: what a
// recording frontend is to keep must come before the cell's end.
func (l *watches) flush(ctx context.Context, final bool) {
	l.mu.Lock()
	all := make([]*watch, 0, len(l.list))
	for _, w := range l.list {
		all = append(all, w)
	}
	l.mu.Unlock()
	if len(all) == 0 {
		return
	}
	// Also for a cell that was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	for _, w := range all {
		if final || w.isPending() {
			w.refresh(ctx, final)
		}
	}
}

// end leaves all displays as they are, because the person goes to another server.
func (l *watches) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for topic, w := range l.list {
		if w.cancel != nil {
			w.cancel()
		}
		delete(l.list, topic)
	}
}

// close ends all watches; charts get the pictures that they lack.
func (l *watches) close() {
	l.mu.Lock()
	l.closed = true
	all := make([]*watch, 0, len(l.list))
	for _, w := range l.list {
		if w.cancel != nil {
			w.cancel()
		}
		all = append(all, w)
	}
	l.mu.Unlock()
	l.work.Wait()
	for _, w := range all {
		w.drawing.Lock()
		if w.stale {
			w.drawChart(w.view, true)
		}
		w.drawing.Unlock()
	}
}

// heard notes that something happened.
func (w *watch) heard(f api.Frame) {
	w.news.Lock()
	switch f.Type {
	case api.FrameLost:
		w.lostAt = f.Time
	case api.FrameBack:
		w.lostAt, w.cameBack = time.Time{}, f.Time
	}
	w.pending = true
	w.news.Unlock()
	w.dirty.ring()
}

func (w *watch) isPending() bool {
	w.news.Lock()
	defer w.news.Unlock()
	return w.pending
}

// run draws when something has happened, at most twice a second.
func (w *watch) run(ctx context.Context) {
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		case <-w.lacks():
			due = true
		}
		within, cancel := context.WithTimeout(ctx, lookWithin)
		again := w.refresh(within, due)
		cancel()
		if w.ended() {
			return
		}
		pause := redraw
		if again {
			pause = 2 * time.Second
		}
		if !sleep(ctx, pause) {
			return
		}
		if again {
			w.dirty.ring()
		}
	}
}

// lacks tells when the chart's picture is due, where it is older than the chart;
// else never.
func (w *watch) lacks() <-chan time.Time {
	w.drawing.Lock()
	defer w.drawing.Unlock()
	if !w.stale {
		return nil
	}
	return time.After(time.Until(w.at.Add(w.cells.watches.every)))
}

func (w *watch) ended() bool {
	w.drawing.Lock()
	defer w.drawing.Unlock()
	return w.gone
}

// refresh looks at the task and draws what is new. It tells whether to look again
// soon, because the server could not be reached.
func (w *watch) refresh(ctx context.Context, picture bool) (again bool) {
	w.drawing.Lock()
	defer w.drawing.Unlock()
	if w.gone {
		return false
	}
	w.news.Lock()
	w.pending = false
	lostAt, cameBack := w.lostAt, w.cameBack
	w.cameBack = time.Time{}
	w.news.Unlock()

	client, _ := w.cells.session.peek()
	if client == nil {
		return false
	}
	view, _, err := client.Task(ctx, w.task.user, w.task.name)
	switch {
	case err == nil:
		w.cells.names.saw(view)
		switch before := w.before; {
		case !cameBack.IsZero() && before != nil:
			w.before, w.back = nil, show.BackWords(cameBack, *before, view)
		case view.State == api.TaskSettled && w.view.State == api.TaskSearching:
			w.back = "" // it stays until there is something final to say
		}
		w.draw(view, picture, show.WatchBack(w.task.shown, view, w.back))
		return false
	case api.IsStatus(err, http.StatusNotFound):
		w.gone = true
		w.view.State = api.TaskDropped
		w.draw(w.view, false, show.WatchTable(w.task.shown, w.view))
		return false
	case errors.Is(err, context.Canceled):
		return false
	}
	if !lostAt.IsZero() {
		if w.before == nil {
			before := w.view
			w.before = &before
		}
		w.draw(w.view, false, show.WatchLost(w.task.shown, w.view, lostAt))
		return false // the stream goes on trying, and rings when it is back
	}
	w.news.Lock()
	w.pending = true
	if !cameBack.IsZero() {
		w.cameBack = cameBack
	}
	w.news.Unlock()
	return true
}

// begin shows both displays for the first time in a cell; drawing is held.
func (w *watch) begin(out jupyter.Sink, view api.View) {
	w.view, w.back = view, ""
	chart := show.WatchChart(w.task.shown, view, true)
	table := show.WatchTable(w.task.shown, view)
	w.chart, w.table, w.picture, w.at, w.stale = chart.Text, table.Text, chart.PNG, time.Now(), false
	out.Display(bundle(chart), w.ids[0])
	out.Display(bundle(table), w.ids[1])
}

// draw updates what has changed; drawing is held.
func (w *watch) draw(view api.View, picture bool, table show.Output) {
	w.view = view
	out := w.cells.newest()
	if out == nil {
		return
	}
	w.drawChart(view, picture || view.State == api.TaskSettled || view.State == api.TaskDropped)
	if table.Text != w.table {
		w.table = table.Text
		out.Update(bundle(table), w.ids[1])
	}
}

// drawChart updates the chart, if it has changed. Its picture is made anew where
// that is asked for, and else now and then.
func (w *watch) drawChart(view api.View, picture bool) {
	out := w.cells.newest()
	if out == nil {
		return
	}
	chart := show.WatchChart(w.task.shown, view, false)
	changed := chart.Text != w.chart
	if !changed && !(picture && w.stale) {
		return
	}
	if picture || time.Since(w.at) >= w.cells.watches.every {
		chart = show.WatchChart(w.task.shown, view, true)
		w.picture, w.at, w.stale = chart.PNG, time.Now(), false
	} else {
		chart.PNG, w.stale = w.picture, true
	}
	w.chart = chart.Text
	out.Update(bundle(chart), w.ids[0])
}
