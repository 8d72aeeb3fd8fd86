package jupyter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
	"go.uber.org/goleak"
)

// TestMain also lets the test program be a kernel, for tests that need one in a process of its own.
func TestMain(m *testing.M) {
	if file := os.Getenv("TINY_KERNEL"); file != "" {
		beKernel(os.Args[len(os.Args)-1], file)
	}
	goleak.VerifyTestMain(m)
}

// tiny is a language for tests: a line is a command, "" does nothing.
type tiny struct {
	// hold is sent to when the command "hold" runs, and then received from.
	hold chan string
	// kept is the Sink of the newest cell that said "keep".
	kept chan Sink
}

func newTiny() *tiny { return &tiny{hold: make(chan string), kept: make(chan Sink, 8)} }

func (h *tiny) Execute(ctx context.Context, r ExecuteRequest) (ExecuteReply, error) {
	reply := ExecuteReply{UserExpressions: map[string]Expression{}}
	for _, line := range strings.Split(r.Code, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "print":
			r.Out.Stream("stdout", rest+"\n")
		case "warn":
			r.Out.Stream("stderr", rest+"\n")
		case "repeat":
			for i := range 200 {
				r.Out.Stream("stdout", fmt.Sprintf("%s %d\n", rest, i))
			}
		case "long":
			r.Out.Stream("stdout", strings.Repeat("ä€𝄞", 100_000))
		case "value":
			r.Out.Result(Text(rest))
		case "nan":
			r.Out.Result(Bundle{Data: map[string]any{"application/json": func() {}}})
		case "show":
			r.Out.Display(Text(rest), "")
		case "chart":
			r.Out.Display(Text("v0"), rest)
		case "update":
			id, text, _ := strings.Cut(rest, " ")
			r.Out.Update(Text(text), id)
		case "clear":
			r.Out.Clear(rest == "wait")
		case "page":
			reply.Payload = append(reply.Payload, Page(Text(rest)))
		case "next":
			reply.Payload = append(reply.Payload, SetNextInput(rest, true))
		case "fail":
			return reply, &Failure{Name: "Oops", Value: rest, Traceback: []string{"line 1", "Oops: " + rest}}
		case "error":
			return reply, fmt.Errorf("wrapped: %w", errors.New(rest))
		case "panic":
			panic(rest)
		case "keep":
			h.kept <- r.Out
		case "revive":
			id, text, _ := strings.Cut(rest, " ")
			(<-h.kept).Update(Text(text), id)
		case "hold":
			h.hold <- "held"
			select {
			case <-h.hold:
			case <-ctx.Done():
				return reply, context.Cause(ctx)
			}
		case "forever":
			h.hold <- "running"
			<-ctx.Done()
			return reply, ctx.Err()
		case "stubborn":
			h.hold <- "running"
			<-h.hold
		case "ask", "password":
			a, err := r.Prompt.Input(ctx, rest, word == "password")
			if errors.Is(err, io.EOF) {
				a, err = "end of input", nil
			}
			if err != nil {
				return reply, err
			}
			r.Out.Stream("stdout", a)
		case "count":
			r.Out.Stream("stdout", fmt.Sprint(r.Count))
		case "metadata":
			r.Out.Stream("stdout", string(r.Metadata))
		default:
			return reply, &Failure{Name: "SyntaxError", Value: "unknown " + word}
		}
	}
	for key, code := range r.UserExpressions {
		switch {
		case strings.HasPrefix(code, "fail"):
			reply.UserExpressions[key] = Expression{Failure: &Failure{Name: "Oops", Value: code}}
		case code != "skip":
			reply.UserExpressions[key] = Expression{Value: Text(code)}
		}
	}
	return reply, nil
}

func (h *tiny) Complete(_ context.Context, code string, cursor int) Completion {
	if code == "panic" {
		panic("completing")
	}
	before := []rune(code)[:cursor]
	start := cursor
	for start > 0 && before[start-1] != ' ' {
		start--
	}
	c := Completion{Start: start, End: cursor}
	for _, w := range []string{"print", "warn", "value"} {
		if strings.HasPrefix(w, string(before[start:])) {
			c.Matches = append(c.Matches, w)
			c.Types = append(c.Types, CompletionType{Text: w, Type: "keyword"})
		}
	}
	return c
}

func (h *tiny) Inspect(_ context.Context, code string, cursor, detail int) (Bundle, bool) {
	if !strings.HasPrefix(code, "print") {
		return Bundle{}, false
	}
	return Text(fmt.Sprintf("print at %d detail %d", cursor, detail)), true
}

func (h *tiny) IsComplete(code string) (status, indent string) {
	switch {
	case strings.HasSuffix(code, "{"):
		return "incomplete", "    "
	case strings.HasSuffix(code, "}"):
		return "invalid", ""
	case code == "?":
		return "", ""
	}
	return "complete", ""
}

// config is that of tests, at a connection file.
func config(t testing.TB, file string) Config {
	return Config{
		ConnectionFile: file,
		Info: Info{
			Implementation: "tiny", Version: "0.1", Banner: "tiny!",
			Language: Language{Name: "tiny", Version: "1", MIMEType: "text/x-tiny", FileExtension: ".tiny", CodeMirrorMode: map[string]string{"name": "tiny"}},
		},
	}
}

// start serves h and connects to it.
func start(t testing.TB, h Handler, change ...func(*Config)) *jupytertest.Client {
	t.Helper()
	return startAt(t, jupytertest.NewFile(t, "ipc"), h, change...)
}

func startAt(t testing.TB, f *jupytertest.File, h Handler, change ...func(*Config)) *jupytertest.Client {
	t.Helper()
	return jupytertest.StartAt(t, f, func(ctx context.Context, file string) error {
		c := config(t, file)
		for _, f := range change {
			f(&c)
		}
		return Serve(ctx, c, h)
	})
}

// tight sets limits of a test.
func tight(set func(*limits)) func(*Config) {
	return func(c *Config) {
		c.limits = defaultLimits()
		set(c.limits)
	}
}
