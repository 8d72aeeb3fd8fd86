package cells

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// redraw is the least time between two drawings of one display, and hold the
// longest a blocking statement stays silent (a notebook server ends kernels that
// seem idle).
const (
	redraw = 500 * time.Millisecond
	hold   = 50 * time.Second
)

// Found says which server is talked to, and how it came.
type Found struct {
	URL     string
	Private bool   // made for one person
	Started bool   // by this very call
	Why     string // how it was found, a sentence part for people; may be ""
}

// Config is what New needs.
type Config struct {
	// Connect finds the server, or starts a private one; address is the one that
	// a statement names, else "". It is called by the first statement that needs
	// a server, and again where that one is lost. Its errors are sentences.
	Connect func(ctx context.Context, address string) (*api.Client, Found, error)
	// Folder is what file names are relative to; "" is the working directory.
	Folder string
	// Notebook is the notebook's path where it is known: it tells the names of
	// bare programs apart.
	Notebook string
	// Page, if not nil, gets the texts of help, which otherwise are a wish to the
	// frontend.
	Page func(text string)
	// Statement, if not nil, gets the first line of each statement before it runs,
	// where there are several.
	Statement func(line string)
	Log       *slog.Logger // nil discards
}

// Cells runs cells. It implements jupyter.Handler; Execute must not be called
// while another Execute runs. Close it at the end.
type Cells struct {
	config  Config
	log     *slog.Logger
	session session
	follow  follower
	watches watches
	names   names

	mu   sync.Mutex
	sink jupyter.Sink // of the newest cell that shows anything
}

var _ jupyter.Handler = (*Cells)(nil)

// New makes the handler of one kernel.
func New(config Config) *Cells {
	c := &Cells{config: config, log: config.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.session.cells = c
	c.follow.init(c)
	c.watches.cells, c.watches.every = c, pictured
	c.names.init(c)
	return c
}

// Close ends everything that goes on in the background. Searches go on at the
// server.
func (c *Cells) Close() {
	c.watches.close()
	c.follow.close()
	c.names.close()
	c.session.close()
}

// cell is one cell that runs.
type cell struct {
	*Cells
	request jupyter.ExecuteRequest
	several bool // more than one statement
	reply   jupyter.ExecuteReply
}

// Execute parses the whole cell, then runs statement after statement and stops at
// the first faulty one.
func (c *Cells) Execute(ctx context.Context, r jupyter.ExecuteRequest) (jupyter.ExecuteReply, error) {
	if !r.Silent {
		c.mu.Lock()
		c.sink = r.Out
		c.mu.Unlock()
	}
	run := &cell{Cells: c, request: r}
	err := run.all(ctx)
	if err != nil {
		c.watches.flush(ctx, false)
		return jupyter.ExecuteReply{}, err
	}
	run.expressions(ctx)
	c.watches.flush(ctx, false)
	return run.reply, nil
}

// all runs the statements.
func (c *cell) all(ctx context.Context) error {
	if lang.HostCell(c.request.Code) {
		return fail(notServedError, "This kernel runs only its own statements, no cells that begin with %%.", "Use a Python notebook for it.").failure()
	}
	parsed, err := lang.Parse(c.request.Code)
	if err != nil {
		return grammar(c.request.Code, err)
	}
	c.several = len(parsed.Statements) > 1
	for _, s := range parsed.Statements {
		if c.several && c.config.Statement != nil {
			c.config.Statement(firstLine(c.request.Code, s.Span()))
		}
		if err := c.statement(ctx, s); err != nil {
			return c.failure(ctx, s, err)
		}
		c.names.refresh()
	}
	return nil
}

// expressions answers the small expressions that came with the cell.
func (c *cell) expressions(ctx context.Context) {
	for key, code := range c.request.UserExpressions {
		parsed, err := lang.Parse(code)
		if err != nil || len(parsed.Statements) != 1 {
			continue
		}
		v, ok := parsed.Statements[0].(*lang.Value)
		if !ok {
			continue
		}
		if c.reply.UserExpressions == nil {
			c.reply.UserExpressions = map[string]jupyter.Expression{}
		}
		text, err := c.text(ctx, v.Operand)
		if err == nil {
			c.reply.UserExpressions[key] = jupyter.Expression{Value: jupyter.Text(text)}
			continue
		}
		if f, ok := errors.AsType[*jupyter.Failure](c.failure(ctx, v, err)); ok {
			c.reply.UserExpressions[key] = jupyter.Expression{Failure: f}
		}
	}
}

// show displays an output that doesn't change.
func (c *cell) show(out show.Output) {
	c.request.Out.Display(bundle(out), "")
}

// newest is where updates of running displays go: the sink of the cell that runs
// or ran last. A frontend that records a notebook takes only what belongs to the
// cell that runs.
func (c *Cells) newest() jupyter.Sink {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sink
}
