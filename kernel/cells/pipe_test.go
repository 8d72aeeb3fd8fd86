package cells

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/kernel/jupyter"
)

// other is the program at the far end of a Pipe.
type other struct {
	t    *testing.T
	to   *io.PipeWriter
	come chan map[string]any
	kept []map[string]any
	done chan struct{}
}

func talk(t *testing.T, h jupyter.Handler, stop <-chan os.Signal) *other {
	in, to := io.Pipe()
	from, out := io.Pipe()
	o := &other{t: t, to: to, come: make(chan map[string]any, 1000), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		p := Pipe{Handler: h, Version: "1.2", Stop: stop}
		p.Serve(t.Context(), in, out)
		out.Close()
	}()
	go func() {
		defer close(o.come)
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<26)
		for lines.Scan() {
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Errorf("%s: %v", lines.Text(), err)
			}
			o.come <- m
		}
	}()
	t.Cleanup(func() {
		to.Close()
		<-o.done
	})
	if m := o.take("ready", nil); m["version"] != "1.2" {
		t.Errorf("%v", m)
	}
	return o
}

func (o *other) say(line string) {
	o.t.Helper()
	if _, err := io.WriteString(o.to, line+"\n"); err != nil {
		o.t.Fatal(err)
	}
}

// take gives the next line of a type and a request; others are kept.
func (o *other) take(kind string, request any) map[string]any {
	o.t.Helper()
	fits := func(m map[string]any) bool { return m["type"] == kind && m["request"] == request }
	for i, m := range o.kept {
		if fits(m) {
			o.kept = append(o.kept[:i:i], o.kept[i+1:]...)
			return m
		}
	}
	late := time.After(30 * time.Second)
	for {
		select {
		case m, more := <-o.come:
			switch {
			case !more:
				o.t.Fatalf("it ended before a %s of %v; there is %v", kind, request, o.kept)
			case fits(m):
				return m
			}
			o.kept = append(o.kept, m)
		case <-late:
			o.t.Fatalf("no %s of %v; there is %v", kind, request, o.kept)
		}
	}
}

// slow is a handler whose cells do what they say.
type slow struct{ began chan string }

func (s *slow) Execute(ctx context.Context, r jupyter.ExecuteRequest) (jupyter.ExecuteReply, error) {
	word, rest, _ := strings.Cut(r.Code, " ")
	switch word {
	case "say":
		r.Out.Stream("stdout", rest)
	case "hold":
		s.began <- rest
		<-ctx.Done()
		return jupyter.ExecuteReply{}, &jupyter.Failure{Name: "Interrupted", Value: fmt.Sprint(context.Cause(ctx))}
	case "panic":
		panic("secret")
	case "ask", "password":
		text, err := r.Prompt.Input(ctx, rest, word == "password")
		if err != nil {
			return jupyter.ExecuteReply{}, err
		}
		r.Out.Stream("stdout", text)
	case "next":
		return jupyter.ExecuteReply{Payload: []jupyter.Payload{jupyter.SetNextInput(rest, false)}}, nil
	}
	return jupyter.ExecuteReply{}, nil
}

func (s *slow) Complete(_ context.Context, code string, cursor int) jupyter.Completion {
	if code == "panic" {
		panic("secret")
	}
	return jupyter.Completion{Matches: []string{code}, Start: 0, End: cursor, Types: []jupyter.CompletionType{{Text: code, Type: "word", Signature: "doc"}}}
}

func (s *slow) Inspect(_ context.Context, code string, cursor, detail int) (jupyter.Bundle, bool) {
	return jupyter.Text(fmt.Sprint(cursor, detail)), code != ""
}

func (s *slow) IsComplete(string) (string, string) { return "incomplete", "    " }

func TestPipe(t *testing.T) {
	s := &slow{began: make(chan string)}
	o := talk(t, s, nil)
	// What is asked beside a cell that runs is answered at once; a second cell waits.
	o.say(`{"type": "execute", "request": 1, "code": "hold one"}`)
	<-s.began
	o.say(`{"type": "execute", "request": 2, "code": "say two"}`)
	o.say(`{"type": "complete", "request": 3, "code": "wä😀", "cursor": 2}`)
	m := o.take("done", 3.0)
	if text := fmt.Sprint(m["start"], m["end"], m["matches"]); text != "0 2 [map[doc:doc kind:word text:wä😀]]" {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "inspect", "request": "i", "code": "wä😀", "detail": 1}`)
	if m := o.take("done", "i"); m["found"] != true || fmt.Sprint(m["data"]) != "map[text/plain:3 1]" {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "is_complete", "request": 5, "code": "{"}`)
	if m := o.take("done", 5.0); m["status"] != "incomplete" || m["indent"] != "    " {
		t.Errorf("%v", m)
	}
	// An interrupt of one leaves the others alone.
	o.say(`{"type": "interrupt", "request": 6, "of": 1}`)
	if m := o.take("done", 6.0); m["status"] != "ok" {
		t.Errorf("%v", m)
	}
	if m := o.take("error", 1.0); m["name"] != "Interrupted" || m["text"] != "interrupted" {
		t.Errorf("%v", m)
	}
	if m := o.take("done", 1.0); m["status"] != "error" {
		t.Errorf("%v", m)
	}
	if m := o.take("stream", 2.0); m["text"] != "two" {
		t.Errorf("%v", m)
	}
	if m := o.take("done", 2.0); m["status"] != "ok" {
		t.Errorf("%v", m)
	}
	// One of all ends those that wait too, which are not begun.
	o.say(`{"type": "execute", "request": 7, "code": "hold seven"}`)
	<-s.began
	o.say(`{"type": "execute", "request": 8, "code": "say eight"}`)
	o.say(`{"type": "interrupt", "request": 9}`)
	o.take("error", 7.0)
	if m := o.take("done", 8.0); m["status"] != "aborted" {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "execute", "request": 10, "code": "next feed"}`)
	if m := o.take("done", 10.0); fmt.Sprint(m["payload"]) != "[map[replace:false source:set_next_input text:feed]]" {
		t.Errorf("%v", m)
	}
}

func TestPipeAsks(t *testing.T) {
	o := talk(t, &slow{}, nil)
	o.say(`{"type": "execute", "request": 1, "code": "ask sure?"}`)
	if m := o.take("error", 1.0); m["text"] != jupyter.ErrNoStdin.Error() {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "answer", "text": "to nobody"}`)
	o.say(`{"type": "execute", "request": 2, "code": "ask sure?", "ask": true}`)
	if m := o.take("question", 2.0); m["text"] != "sure?" || m["password"] != nil {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "answer", "text": "yes"}`)
	if m := o.take("stream", 2.0); m["text"] != "yes" {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "execute", "request": 3, "code": "password word?", "ask": true}`)
	if m := o.take("question", 3.0); m["password"] != true {
		t.Errorf("%v", m)
	}
	o.say(`{"type": "answer", "text": null}`)
	if m := o.take("error", 3.0); m["text"] != "EOF" {
		t.Errorf("%v", m)
	}
	// An interrupt ends the question.
	o.say(`{"type": "execute", "request": 4, "code": "ask sure?", "ask": true}`)
	o.take("question", 4.0)
	o.say(`{"type": "interrupt"}`)
	if m := o.take("done", 4.0); m["status"] != "error" {
		t.Errorf("%v", m)
	}
}

// A line that can't be served costs one error and nothing else.
func TestPipeOfNonsense(t *testing.T) {
	o := talk(t, &slow{}, nil)
	for _, x := range []struct {
		line    string
		request any
		text    string
	}{
		{"nonsense", nil, "Line 1 is no request"},
		{"[1]", nil, "Line 2 is no request"},
		{`{"type": "execute", "request": 3, "code": 7}`, 3.0, "Line 3 is no request"},
		{`{"type": "excute", "request": 4}`, 4.0, `Line 4 has the type "excute"; there are execute,`},
		{`{}`, nil, `Line 5 has the type ""`},
		{`{"type": "execute", "code": "` + strings.Repeat("x", longestLine) + `"}`, nil, "Line 6 is longer than 64 MB"},
		{"\xff\xfe", nil, "Line 7 is no request"},
		{`{"type": "complete", "request": 8, "code": "panic"}`, 8.0, "Something went wrong inside easeml"},
		{`{"type": "execute", "request": 9, "code": "panic"}`, 9.0, "Something went wrong inside easeml"},
	} {
		o.say(x.line)
		m := o.take("error", x.request)
		if text := m["text"].(string); !strings.HasPrefix(text, x.text) || strings.Contains(text, "secret") {
			t.Errorf("%.80s: %s", x.line, text)
		}
		if x.request != nil {
			o.take("done", x.request)
		}
	}
	o.say("")
	o.say(`{"type": "execute", "request": 10, "code": "say on it goes"}`)
	o.take("done", 10.0)
	if len(o.kept) != 1 {
		t.Errorf("there is also %v", o.kept)
	}
}

func TestPipeEnds(t *testing.T) {
	s := &slow{began: make(chan string)}
	o := talk(t, s, nil)
	o.say(`{"type": "execute", "request": 1, "code": "hold on"}`)
	<-s.began
	o.say(`{"type": "execute", "request": 2, "code": "say never"}`)
	o.to.Close()
	if m := o.take("error", 1.0); m["text"] != jupyter.ErrShutdown.Error() {
		t.Errorf("%v", m)
	}
	o.take("done", 1.0)
	<-o.done
	if m, more := <-o.come; more {
		t.Errorf("after the end: %v", m)
	}
}

// Ctrl+C in the terminal that both programs share ends the cell.
func TestPipeInterruptedBySignal(t *testing.T) {
	s := &slow{began: make(chan string)}
	stop := make(chan os.Signal, 1)
	o := talk(t, s, stop)
	o.say(`{"type": "execute", "request": 1, "code": "hold on"}`)
	<-s.began
	stop <- os.Interrupt
	o.take("error", 1.0)
	o.say(`{"type": "execute", "request": 2, "code": "say on"}`)
	o.take("stream", 2.0)
}

// FuzzPipe: whatever comes in, what goes out are whole lines, and it ends.
func FuzzPipe(f *testing.F) {
	f.Add(`{"type": "execute", "request": 1, "code": "say x"}` + "\n" + `{"type": "interrupt", "of": 1}`)
	f.Add("{\"type\": \"complete\", \"cursor\": -7, \"code\": \"\xff\"}\n\n{}")
	f.Add(`{"type": "execute", "code": "ask", "ask": true}` + "\n" + `{"type": "answer", "text": null}`)
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "hold") {
			return
		}
		var out strings.Builder
		p := Pipe{Handler: &slow{}}
		p.Serve(t.Context(), strings.NewReader(in), &out)
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Fatalf("%q", line)
			}
		}
	})
}
