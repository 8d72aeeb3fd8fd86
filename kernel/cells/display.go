package cells

import (
	"time"

	"github.com/google/uuid"

	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/show"
)

// patience is how long a statement may take before its progress is shown: what
// ends sooner shows only its result.
const patience = 300 * time.Millisecond

// display is an output of a running statement that changes in place: progress,
// which the result replaces.
type display struct {
	out   jupyter.Sink
	id    string
	began time.Time
	last  time.Time
	shown bool
}

func (c *cell) display() *display {
	return &display{out: c.request.Out, id: "easeml-" + uuid.NewString(), began: time.Now()}
}

// progress shows how far a statement is, not too often. make is called only when
// it is shown.
func (d *display) progress(make func() show.Output) {
	now := time.Now()
	if now.Sub(d.began) < patience || now.Sub(d.last) < redraw/2 {
		return
	}
	d.set(make())
}

// set shows an output at once.
func (d *display) set(o show.Output) {
	d.last = time.Now()
	if !d.shown {
		d.shown = true
		d.out.Display(bundle(o), d.id)
		return
	}
	d.out.Update(bundle(o), d.id)
}

// fault leaves a word in place of progress that came to nothing; where none was
// shown, the error says it all.
func (d *display) fault(words string) {
	if d.shown {
		d.out.Update(bundle(show.Plain(words)), d.id)
	}
}
