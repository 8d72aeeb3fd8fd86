package jupyter

import (
	"context"
	"strings"
	"sync"
	"time"
)

// cell is one execute_request that runs or has run: the Sink and the Prompter of its Handler.
type cell struct {
	k      *kernel
	r      *request
	ctx    context.Context
	silent bool
	stdin  bool
	count  int

	mu     sync.Mutex
	ended  bool
	name   string // of the stream being gathered
	text   strings.Builder
	timer  *time.Timer
	result *string // text/plain of the result, for the history
}

// Stream implements Sink. A long text goes out in pieces: a single message of many megabytes would block whatever is behind it.
func (c *cell) Stream(name, text string) {
	for text != "" {
		n, flushed := c.write(name, text)
		text = text[n:]
		if flushed {
			c.k.iopub.awaitRoom(c.ctx)
		}
	}
}

// write gathers the beginning of text, n bytes, and sends what is gathered if that is enough for a message.
func (c *cell) write(name, text string) (n int, flushed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.silent {
		return len(text), false
	}
	if c.name != name {
		c.flush()
		c.name = name
	}
	n = runeCut(text, max(c.k.limits.text-c.text.Len(), 4))
	c.text.WriteString(text[:n])
	if c.text.Len() >= c.k.limits.text-4 {
		c.flush()
		return n, true
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(c.k.limits.stream, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.flush()
		})
	}
	return n, false
}

// runeCut is the largest n up to most at which s can be cut without splitting a character.
func runeCut(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	for n := most; n > most-4; n-- {
		if s[n]&0xC0 != 0x80 {
			return n
		}
	}
	return most // not UTF-8 anyway
}

// flush sends the text gathered. c.mu is held.
func (c *cell) flush() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.text.Len() == 0 {
		return
	}
	text := streamContent{c.name, c.text.String()}
	c.text.Reset()
	p := c.k.publication(c.r.header, "stream", text)
	p.stream = &text
	c.k.iopub.publish(p.topic, p)
}

// say sends an output after what was written before it.
func (c *cell) say(kind string, content any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.silent {
		return
	}
	c.flush()
	c.k.publish(c.r.header, kind, content)
}

// Display implements Sink.
func (c *cell) Display(b Bundle, displayID string) {
	b = showable(b)
	c.say("display_data", displayContent{b.Data, b.Metadata, transient{displayID}})
}

// Result implements Sink.
func (c *cell) Result(b Bundle) {
	b = showable(b)
	c.say("execute_result", resultContent{c.count, b.Data, b.Metadata})
	if text, ok := b.Data["text/plain"].(string); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended {
			c.result = &text
		}
	}
}

// Clear implements Sink.
func (c *cell) Clear(wait bool) { c.say("clear_output", clearContent{wait}) }

// Update implements Sink. While a cell runs, the update belongs to that one, whichever it is: programs that run a notebook listen only to the
// cell they wait for, and frontends go by the display_id. At rest it belongs to the cell that made the display.
func (c *cell) Update(b Bundle, displayID string) {
	if c.silent || displayID == "" {
		return
	}
	b = showable(b)
	c.mu.Lock()
	c.flush()
	c.mu.Unlock()
	c.k.out.Lock()
	defer c.k.out.Unlock()
	parent := c.r.header
	if r := c.k.out.running; r != nil && !r.silent {
		parent = r.r.header
	}
	p := c.k.publication(parent, "update_display_data", displayContent{b.Data, b.Metadata, transient{displayID}})
	p.display = displayID
	c.k.iopub.publish(p.topic, p)
}

// Input implements Prompter.
func (c *cell) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if !c.stdin {
		return "", ErrNoStdin
	}
	c.mu.Lock()
	c.flush()
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The question ends with the cell even if the Handler asks in a context of its own.
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	return c.k.stdin.ask(ctx, c.r, prompt, password)
}

// end sends what is left. From now on only Update does something.
func (c *cell) end(f *Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	if f != nil && !c.silent {
		c.k.publish(c.r.header, "error", f.content())
	}
	c.ended = true
}
