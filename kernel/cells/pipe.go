package cells

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/easeml/easeml/kernel/jupyter"
)

// longestLine is the most bytes that a request may have.
const longestLine = 64 << 20

// Pipe serves cells to another program, such as the magics of a Python notebook:
// requests come as JSON, one a line, and what becomes of them goes out likewise.
// docs/cells.md says how.
//
// Cells run one after the other, in the order in which they came. All other
// requests are served at once, beside the cell that runs.
type Pipe struct {
	Handler jupyter.Handler
	Version string           // of the program, for its greeting
	Stop    <-chan os.Signal // each does what an interrupt without `of` does; may be nil
	Log     *slog.Logger

	lines *Lines
	work  sync.WaitGroup

	mu      sync.Mutex
	waiting []*execution
	running *execution
	came    chan struct{} // of capacity 1: a cell was added
	ended   bool
}

// execution is one cell that is to run, or runs.
type execution struct {
	asked
	out    *Lines
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	answered chan answer // of the question being asked, else nil
}

type answer struct{ text *string }

// asked is a request as it comes.
type asked struct {
	Type    string          `json:"type"`
	Request json.RawMessage `json:"request"`
	Code    string          `json:"code"`
	Cursor  *int            `json:"cursor"` // code points; the code's end where it is left out
	Detail  int             `json:"detail"`
	Ask     bool            `json:"ask"`  // the cell may ask questions
	Of      json.RawMessage `json:"of"`   // which cell to interrupt
	Text    *string         `json:"text"` // an answer; null ends the input
}

// Serve reads requests from in until it ends or ctx does, then ends what runs.
func (p *Pipe) Serve(ctx context.Context, in io.Reader, out io.Writer) {
	p.lines, p.came = NewLines(out), make(chan struct{}, 1)
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancelCause(ctx)
	p.lines.write(line{Type: "ready", Version: p.Version})
	p.work.Go(func() { p.runAll(ctx) })
	p.work.Go(func() {
		for {
			select {
			case <-p.Stop:
				p.interrupt(nil)
			case <-ctx.Done():
				return
			}
		}
	})
	// Reading can't be broken off; at the end of ctx it is left behind with the process.
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.readAll(ctx, in)
	}()
	select {
	case <-read:
	case <-ctx.Done():
	}
	end(jupyter.ErrShutdown)
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.work.Wait()
}

func (p *Pipe) readAll(ctx context.Context, in io.Reader) {
	r := bufio.NewReader(in)
	for n := 1; ctx.Err() == nil; n++ {
		text, long, err := readLine(r)
		if err != nil && len(text) == 0 && !long {
			return
		}
		switch {
		case long:
			p.refuse(nil, fmt.Sprintf("Line %d is longer than %d MB; it was left out.", n, longestLine>>20))
		case len(bytes.TrimSpace(text)) > 0:
			p.take(ctx, n, text)
		}
	}
}

// readLine reads up to the next end of a line. Of one that is too long nothing is
// given.
func readLine(r *bufio.Reader) (text []byte, long bool, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		if len(text)+len(piece) > longestLine {
			text, long = nil, true
		} else if !long {
			text = append(text, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, long, err
		}
	}
}

// take serves one line, or sees to it that it is served.
func (p *Pipe) take(ctx context.Context, n int, text []byte) {
	var a asked
	if err := json.Unmarshal(text, &a); err != nil {
		// Which request it was can often be told all the same.
		var only struct {
			Request json.RawMessage `json:"request"`
		}
		_ = json.Unmarshal(text, &only)
		p.refuse(only.Request, fmt.Sprintf("Line %d is no request: %v. One is a JSON object such as "+
			`{"type": "execute", "request": 1, "code": "tasks"}`+" on a line of its own.", n, err))
		return
	}
	out := p.lines.of(a.Request)
	look := func(f func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended {
			return
		}
		p.work.Go(func() {
			if !p.careful(out, f) {
				out.write(line{Type: "done", Status: "error"})
			}
		})
	}
	switch a.Type {
	case "execute":
		p.add(ctx, &execution{asked: a, out: out})
	case "complete":
		look(func() { p.complete(ctx, out, a) })
	case "inspect":
		look(func() { p.inspect(ctx, out, a) })
	case "is_complete":
		look(func() {
			status, indent := p.Handler.IsComplete(a.Code)
			out.write(line{Type: "done", Status: status, Indent: indent})
		})
	case "interrupt":
		p.interrupt(a.Of)
		out.write(line{Type: "done", Status: "ok"})
	case "answer":
		p.answer(answer{a.Text})
	default:
		p.refuse(a.Request, fmt.Sprintf("Line %d has the type %q; there are execute, complete, inspect, is_complete, interrupt and answer.", n, a.Type))
	}
}

// refuse says what is wrong with a line. One that names its request is done with.
func (p *Pipe) refuse(request json.RawMessage, sentence string) {
	out := p.lines.of(request)
	out.write(line{Type: "error", Name: "BadRequest", Text: sentence})
	if len(request) > 0 {
		out.write(line{Type: "done", Status: "error"})
	}
}

func (p *Pipe) complete(ctx context.Context, out *Lines, a asked) {
	found := p.Handler.Complete(ctx, a.Code, a.at())
	matches := make([]match, len(found.Matches))
	for i, text := range found.Matches {
		matches[i].Text = text
		if j := slices.IndexFunc(found.Types, func(t jupyter.CompletionType) bool { return t.Text == text }); j >= 0 {
			matches[i].Kind, matches[i].Doc = found.Types[j].Type, found.Types[j].Signature
		}
	}
	out.write(line{Type: "done", Status: "ok", Start: &found.Start, End: &found.End, Matches: matches})
}

func (p *Pipe) inspect(ctx context.Context, out *Lines, a asked) {
	b, found := p.Handler.Inspect(ctx, a.Code, a.at(), a.Detail)
	out.write(line{Type: "done", Status: "ok", Found: &found, Data: b.Data})
}

// at is the cursor, kept inside the code.
func (a asked) at() int {
	n := len([]rune(a.Code))
	if a.Cursor == nil {
		return n
	}
	return min(max(*a.Cursor, 0), n)
}

// add puts a cell behind those that wait.
func (p *Pipe) add(ctx context.Context, e *execution) {
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	p.waiting = append(p.waiting, e)
	p.mu.Unlock()
	select {
	case p.came <- struct{}{}:
	default:
	}
}

// next is the cell whose turn it is, nil at the end.
func (p *Pipe) next(ctx context.Context) *execution {
	for {
		p.mu.Lock()
		p.running = nil
		if len(p.waiting) > 0 && ctx.Err() == nil {
			p.running = p.waiting[0]
			p.waiting = p.waiting[1:]
		}
		e := p.running
		p.mu.Unlock()
		if e != nil {
			return e
		}
		select {
		case <-p.came:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *Pipe) runAll(ctx context.Context) {
	for e := p.next(ctx); e != nil; e = p.next(ctx) {
		p.run(e)
		e.cancel(nil)
	}
}

// run runs one cell. One that was interrupted while it waited is not begun.
func (p *Pipe) run(e *execution) {
	if e.ctx.Err() != nil {
		e.out.write(line{Type: "done", Status: "aborted"})
		return
	}
	done := line{Type: "done", Status: "error"}
	p.careful(e.out, func() {
		reply, err := p.Handler.Execute(e.ctx, jupyter.ExecuteRequest{
			Code: e.Code, StoreHistory: true, AllowStdin: e.Ask, Out: e.out, Prompt: e,
		})
		if f, ok := errors.AsType[*jupyter.Failure](err); ok {
			e.out.Failure(f)
		} else if err != nil {
			e.out.Failure(&jupyter.Failure{Name: "Error", Value: err.Error()})
		} else {
			done.Status, done.Payload = "ok", reply.Payload
		}
	})
	e.out.write(done)
}

// interrupt ends a cell that runs or waits, all of them where none is named.
func (p *Pipe) interrupt(of json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range append([]*execution{p.running}, p.waiting...) {
		if e != nil && (len(of) == 0 || bytes.Equal(of, e.Request)) {
			e.cancel(jupyter.ErrInterrupted)
		}
	}
}

// Input asks the other program's person.
func (e *execution) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if !e.Ask {
		return "", jupyter.ErrNoStdin
	}
	come := make(chan answer, 1)
	set := func(c chan answer) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.answered = c
	}
	set(come)
	defer set(nil)
	e.out.write(line{Type: "question", Text: prompt, Password: password})
	select {
	case a := <-come:
		if a.text == nil {
			return "", io.EOF
		}
		return *a.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// answer goes to the question that is being asked; if there is none it is late,
// and nobody's.
func (p *Pipe) answer(a answer) {
	p.mu.Lock()
	e := p.running
	p.mu.Unlock()
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered != nil {
		select {
		case e.answered <- a:
		default: // answered already
		}
	}
}

// careful calls f and says whether it came back without a panic, which is told
// and logged.
func (p *Pipe) careful(out *Lines, f func()) (fine bool) {
	defer func() {
		if v := recover(); v != nil {
			id := uuid.NewString()[:8]
			p.Log.Error("a request ended in a panic", "id", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			out.Failure(&jupyter.Failure{Name: "InternalError", Value: "Something went wrong inside easeml, which goes on. Its log has the details under " + id + "."})
		}
	}()
	f()
	return true
}
