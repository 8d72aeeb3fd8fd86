package cells

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/show"
)

// Terminal shows outputs in a terminal, the same words as in a notebook. Where it
// can move the cursor, outputs that change are drawn anew in their place; where it
// can't, only what an output came to is printed.
type Terminal struct {
	out, err io.Writer
	moves    bool
	size     func() (columns, rows int)

	mu      sync.Mutex
	blocks  []*block // that stand on the screen without a gap, the last one lowest
	above   []*block // that can't be drawn anew any more
	head    string   // the statement whose first output comes next
	written bool     // something was
}

// block is one output on the screen.
type block struct {
	id      string
	head    string // the statement that it is the first output of
	text    string
	printed string // as it stands on the screen
	waiting bool   // not printed yet: it may still change
}

var _ jupyter.Sink = (*Terminal)(nil)

// NewTerminal makes a Terminal that writes to out, and what warns to err. size
// tells the terminal's size; nil says that the cursor can't be moved, because out
// is a file or a pipe.
func NewTerminal(out, err io.Writer, size func() (columns, rows int)) *Terminal {
	return &Terminal{out: out, err: err, moves: size != nil, size: size}
}

// Statement tells which statement runs now: its line is written above what it
// shows, so that a long output can be read by its statements.
func (t *Terminal) Statement(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := []rune(line); len(r) > show.Width-4 { // examples may be written into the statement
		line = string(r[:show.Width-4]) + " …"
	}
	t.head = "› " + line
	if t.moves { // a person who looks on wants to see what runs
		t.add(&block{})
	}
}

// Stream writes text.
func (t *Terminal) Stream(name, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name == "stderr" {
		t.settle()
		fmt.Fprint(t.err, text)
		// Whether that went to the same screen isn't known.
		t.above, t.blocks = append(t.above, t.blocks...), nil
		return
	}
	t.add(&block{text: strings.TrimSuffix(text, "\n")})
}

// Display shows an output's text.
func (t *Terminal) Display(b jupyter.Bundle, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(&block{id: id, text: textOf(b)})
}

// Result shows a cell's value.
func (t *Terminal) Result(b jupyter.Bundle) { t.Display(b, "") }

// Clear does nothing: what was said in a terminal stays.
func (t *Terminal) Clear(bool) {}

// Update draws an output anew.
func (t *Terminal) Update(b jupyter.Bundle, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := textOf(b)
	for _, k := range t.above {
		if k.id == id {
			k.text = text
		}
	}
	first := -1
	for i, k := range t.blocks {
		if k.id == id && k.text != text {
			k.text = text
			if first < 0 {
				first = i
			}
		}
	}
	if first >= 0 && t.moves {
		t.redraw(first)
	}
}

// Close prints what has not been printed: the last state of what changed.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	for _, k := range append(t.above, t.blocks...) {
		if k.text != k.printed {
			t.print(k)
		}
	}
	t.above, t.blocks = nil, nil
}

// add puts a new block under the others.
func (t *Terminal) add(k *block) {
	k.head, t.head = t.head, ""
	if k.head != "" && k.text == "" {
		k.head, k.text = "", k.head
		if t.written {
			k.text = "\n" + k.text
		}
	}
	if t.moves {
		t.blocks = append(t.blocks, k)
		t.print(k)
		return
	}
	if k.id == "" {
		t.settle()
		t.print(k)
		return
	}
	// A live chart and the wait under it are printed together, as they came to be.
	k.waiting = true
	t.blocks = append(t.blocks, k)
}

// settle prints what was held back because it might have changed.
func (t *Terminal) settle() {
	for _, k := range t.blocks {
		if k.waiting {
			k.waiting = false
			t.print(k)
		}
	}
}

func (t *Terminal) print(k *block) {
	if k.head != "" {
		if t.written {
			fmt.Fprintln(t.out)
		}
		fmt.Fprintln(t.out, k.head)
	}
	t.written = true
	k.printed = k.text
	fmt.Fprintln(t.out, k.text)
}

// redraw draws the block and all under it again, if they are still on the screen;
// what has scrolled away can't be changed, and is printed again at the end.
func (t *Terminal) redraw(first int) {
	columns, rows := t.size()
	up := 0
	for _, k := range t.blocks[first:] {
		up += height(k.printed, columns)
	}
	if up == 0 || up >= rows {
		return
	}
	fmt.Fprintf(t.out, "\x1b[%dA\x1b[J", up)
	for _, k := range t.blocks[first:] {
		t.print(k)
	}
}

// height is how many lines of the screen a text takes.
func height(text string, columns int) int {
	n := 0
	for _, line := range strings.Split(text, "\n") {
		n += max(1, (len([]rune(line))+columns-1)/max(1, columns))
	}
	return n
}

// textOf is an output's plain text.
func textOf(b jupyter.Bundle) string {
	s, _ := b.Data["text/plain"].(string)
	return s
}
