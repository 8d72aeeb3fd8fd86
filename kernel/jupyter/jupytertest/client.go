package jupytertest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// Patience is how long a test waits for something that should come at once.
const Patience = 20 * time.Second

// Client is a frontend, connected to the shell, control, stdin and iopub channels of a kernel.
type Client struct {
	File    *File
	Session string // it is also the identity of the connections
	// Welcome is the iopub_welcome that greeted this client.
	Welcome Message

	t        testing.TB
	channels map[string]*channel
	mu       sync.Mutex
	headers  map[string]json.RawMessage
	kernel   *kernel
}

// kernel is one that runs in this process.
type kernel struct {
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// Start runs serve, which should serve a kernel at the connection file until ctx is done or it is told to shut down, and connects to it. A
// kernel that doesn't end with the test, or ends in an error, fails it.
func Start(t testing.TB, serve func(ctx context.Context, connectionFile string) error) *Client {
	t.Helper()
	return StartAt(t, NewFile(t, "ipc"), serve)
}

// StartAt is Start with a given connection file.
func StartAt(t testing.TB, f *File, serve func(ctx context.Context, connectionFile string) error) *Client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	k := &kernel{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.err = serve(ctx, f.Path)
	}()
	t.Cleanup(func() {
		stop()
		if err, ended := k.wait(); !ended {
			t.Error("the kernel doesn't end")
		} else if err != nil {
			t.Errorf("the kernel ended: %v", err)
		}
	})
	c := Connect(t, f)
	c.kernel = k
	return c
}

func (k *kernel) wait() (err error, ended bool) {
	select {
	case <-k.done:
		return k.err, true
	case <-time.After(Patience):
		return nil, false
	}
}

// Connect connects to a kernel that runs or is about to, and waits until its outputs would be heard.
func Connect(t testing.TB, f *File) *Client {
	t.Helper()
	c := &Client{File: f, Session: rand.Text(), t: t, channels: map[string]*channel{}, headers: map[string]json.RawMessage{}}
	decode := func(frames [][]byte) (Message, error) {
		m, err := parse(f.Key, frames)
		if err == nil {
			if fault := m.Check(); fault != nil {
				t.Error(fault)
			}
		}
		return m, err
	}
	for _, name := range []string{IOPub, Shell, Control, Stdin} {
		c.channels[name] = newChannel(f.Open(t, name, c.Session), decode, func(err error) { t.Errorf("%s: %v", name, err) })
	}
	t.Cleanup(c.Close)
	if err := c.channels[IOPub].conn.SendMsg(zmq4.NewMsg([]byte{1})); err != nil {
		t.Fatalf("no subscription: %v", err)
	}
	c.Welcome = c.Take(IOPub, "the welcome", func(m Message) bool { return m.Kind == "iopub_welcome" })
	return c
}

// Close ends the connections. The end of the test does it too.
func (c *Client) Close() {
	for _, ch := range c.channels {
		ch.close()
	}
}

// Ended waits until the kernel that Start started has ended.
func (c *Client) Ended() {
	c.t.Helper()
	if _, ended := c.kernel.wait(); !ended {
		c.t.Fatal("the kernel doesn't end")
	}
}

// Send sends a message and returns its id. content is what JSON makes of it.
func (c *Client) Send(channel, kind string, content any) (id string) {
	c.t.Helper()
	return c.SendWith(channel, kind, content, nil, nil)
}

// SendWith is Send with a parent header and metadata.
func (c *Client) SendWith(channel, kind string, content any, parent, metadata json.RawMessage) (id string) {
	c.t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		c.t.Fatal(err)
	}
	id, header := Header(c.Session, kind)
	c.mu.Lock()
	c.headers[id] = header
	c.mu.Unlock()
	if err := c.channels[channel].conn.SendMsg(zmq4.NewMsgFrom(Frames(c.File.Key, header, parent, metadata, body)...)); err != nil {
		c.t.Fatalf("%s was not sent: %v", kind, err)
	}
	return id
}

// HeaderOf is the header with which a message was sent, byte for byte.
func (c *Client) HeaderOf(id string) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers[id]
}

// Take waits for the first message of a channel that fits and takes it out; others stay for later. what says what it is, for the failure.
func (c *Client) Take(channel, what string, fits func(Message) bool) Message {
	c.t.Helper()
	m, ok := c.channels[channel].take(fits)
	if !ok {
		c.t.Fatalf("%s did not come on %s; there is %v", what, channel, c.channels[channel].waiting())
	}
	return m
}

// Next takes the next message of a channel, whatever it is.
func (c *Client) Next(channel string) Message {
	c.t.Helper()
	return c.Take(channel, "a message", func(Message) bool { return true })
}

// Waiting is what has come on a channel so far and was not taken.
func (c *Client) Waiting(channel string) []Message { return c.channels[channel].waiting() }

// Reply takes the reply to a request.
func (c *Client) Reply(channel, id string) Message {
	c.t.Helper()
	return c.Take(channel, "the reply", func(m Message) bool { return m.ParentID == id })
}

// Outputs takes what belongs to a request on iopub, from its busy to its idle, and returns what lies between.
func (c *Client) Outputs(id string) []Message {
	c.t.Helper()
	mine := func(m Message) bool { return m.ParentID == id }
	if m := c.Take(IOPub, "busy", mine); m.Kind != "status" || m.Text("execution_state") != "busy" {
		c.t.Fatalf("the first message of a request is %v, not busy", m)
	}
	var all []Message
	for {
		m := c.Take(IOPub, "idle", mine)
		if m.Kind == "status" {
			if m.Text("execution_state") != "idle" {
				c.t.Fatalf("%v within a request", m)
			}
			return all
		}
		all = append(all, m)
	}
}

// Request sends a request other than a cell on the shell channel, takes its busy and idle and returns its reply.
func (c *Client) Request(kind string, content any) Message {
	c.t.Helper()
	return c.RequestOn(Shell, kind, content)
}

// RequestOn is Request on a channel.
func (c *Client) RequestOn(channel, kind string, content any) Message {
	c.t.Helper()
	id := c.Send(channel, kind, content)
	m := c.Reply(channel, id)
	if want := strings.TrimSuffix(kind, "_request") + "_reply"; m.Kind != want {
		c.t.Fatalf("a %s was answered by a %s", kind, m.Kind)
	}
	c.Outputs(id)
	return m
}

// Option changes the content of an execute_request.
type Option func(content map[string]any)

// With sets a field of an execute_request.
func With(field string, value any) Option {
	return func(content map[string]any) { content[field] = value }
}

// Execute sends a cell and doesn't wait for anything.
func (c *Client) Execute(code string, options ...Option) (id string) {
	c.t.Helper()
	content := map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]string{}, "allow_stdin": false, "stop_on_error": true,
	}
	for _, o := range options {
		o(content)
	}
	return c.Send(Shell, "execute_request", content)
}

// Result is what a cell left.
type Result struct {
	Reply   Message
	Outputs []Message // between busy and idle, execute_input included
}

// Run runs a cell to its end.
func (c *Client) Run(code string, options ...Option) Result {
	c.t.Helper()
	return c.Wait(c.Execute(code, options...))
}

// Wait waits for the end of a cell that Execute has sent.
func (c *Client) Wait(id string) Result {
	c.t.Helper()
	return Result{c.Reply(Shell, id), c.Outputs(id)}
}

// Status is that of the reply: "ok", "error" or "aborted".
func (r Result) Status() string { return r.Reply.Text("status") }

// Kinds is the types of the outputs, joined by spaces.
func (r Result) Kinds() string {
	var kinds []string
	for _, m := range r.Outputs {
		kinds = append(kinds, m.Kind)
	}
	return strings.Join(kinds, " ")
}

// Stdout is the text written to stdout.
func (r Result) Stdout() string { return r.stream("stdout") }

// Stderr is the text written to stderr.
func (r Result) Stderr() string { return r.stream("stderr") }

func (r Result) stream(name string) string {
	var b strings.Builder
	for _, m := range r.Outputs {
		if m.Kind == "stream" && m.Text("name") == name {
			b.WriteString(m.Text("text"))
		}
	}
	return b.String()
}

// First is the first output of a kind; the zero Message if there is none.
func (r Result) First(kind string) Message {
	for _, m := range r.Outputs {
		if m.Kind == kind {
			return m
		}
	}
	return Message{}
}

// Interrupt interrupts by message and takes the reply.
func (c *Client) Interrupt() Message {
	c.t.Helper()
	return c.RequestOn(Control, "interrupt_request", struct{}{})
}

// Question takes the next input_request.
func (c *Client) Question() Message {
	c.t.Helper()
	return c.Take(Stdin, "a question", func(m Message) bool { return m.Kind == "input_request" })
}

// Answer answers a question.
func (c *Client) Answer(question Message, value string) {
	c.t.Helper()
	parent, err := json.Marshal(map[string]string{"msg_id": question.ID})
	if err != nil {
		c.t.Fatal(err)
	}
	c.SendWith(Stdin, "input_reply", map[string]string{"status": "ok", "value": value}, parent, nil)
}
