package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// kernel is one running kernel.
type kernel struct {
	info    Info
	handler Handler
	limits  *limits
	log     *slog.Logger
	bad     *rarely // about messages that can't be read
	codec   *codec
	topic   string // start of the topics of iopub
	ports   connectReply
	atRest  func()
	history *history

	sockets []*socket
	stdin   *stdin
	iopub   *publisher
	shell   *queue
	control *queue
	routers struct{ shell, control, stdin *router }

	// out makes the choice of an update's parent one step with sending it, and likewise the start and the end of the running cell.
	out struct {
		sync.Mutex
		running *cell // between its busy and its idle
	}
	started atomic.Bool // "starting" was said, or it is too late to say it
	count   int         // cells counted; only the shell loop uses it

	shellWork sync.WaitGroup
	haltShell context.CancelCauseFunc
	stopped   chan struct{} // closed when a shutdown_request was answered
	once      sync.Once
}

// Serve runs the kernel of the connection file in c until it is asked to shut down, the process that started it is gone, or ctx is done; all
// three return nil. An error means that it could not start: the connection file can't be used or an address is in use. A cell that runs at
// the end has a second to notice that its context is done, then what was said has a second to reach its readers.
func Serve(ctx context.Context, c Config, h Handler) error {
	conn, err := readConnection(c.ConnectionFile)
	if err != nil {
		return err
	}
	if _, err := json.Marshal(c.Info); err != nil {
		return fmt.Errorf("what the kernel says about itself has no JSON form: %w", err)
	}
	k := newKernel(c, conn, h)
	if err := k.bind(conn); err != nil {
		return err
	}
	k.run(ctx, c)
	return nil
}

func newKernel(c Config, conn *connection, h Handler) *kernel {
	k := &kernel{
		info: c.Info, handler: h, limits: c.limits, log: c.Log, codec: newCodec(conn.Key), topic: "kernel." + uuid.NewString() + ".",
		ports: connectReply{conn.Shell, conn.IOPub, conn.Stdin, conn.Control, conn.HB}, shell: newQueue(), control: newQueue(), stopped: make(chan struct{}),
	}
	if k.atRest = c.AtRest; k.atRest == nil {
		k.atRest = func() {}
	}
	if k.limits == nil {
		k.limits = defaultLimits()
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.bad = &rarely{every: 10 * time.Second, log: k.log}
	if conn.Key == "" {
		k.log.Warn("the connection file has no key: messages are not signed, whoever reaches the ports can run cells")
	}
	var err error
	if k.history, err = openHistory(c.HistoryFile); err != nil {
		k.log.Warn("history", "error", err)
	}
	k.routers.shell = newRouter(func(identity string, frames [][]byte) { k.receive(k.shell, k.routers.shell, identity, frames) })
	k.routers.control = newRouter(func(identity string, frames [][]byte) { k.receive(k.control, k.routers.control, identity, frames) })
	k.stdin = &stdin{codec: k.codec, bad: k.bad, limits: k.limits}
	k.routers.stdin = newRouter(k.stdin.receive)
	k.stdin.router = k.routers.stdin
	k.iopub = newPublisher(k.limits, k.welcome)
	return k
}

// bind opens the five sockets, or none.
func (k *kernel) bind(c *connection) error {
	roles := map[string]role{
		"shell": k.routers.shell, "iopub": k.iopub, "stdin": k.routers.stdin, "control": k.routers.control, "hb": heartbeat{},
	}
	for _, p := range c.ports() {
		network, address := c.address(p.number)
		s, err := listen(p.name, network, address, roles[p.name], k.limits, k.log)
		if err != nil {
			k.close()
			return c.refused(p, err)
		}
		k.sockets = append(k.sockets, s)
	}
	return nil
}

// run serves until there is a reason to end.
func (k *kernel) run(ctx context.Context, c Config) {
	base := context.WithoutCancel(ctx)
	shell, haltShell := context.WithCancelCause(base)
	k.haltShell = haltShell
	k.shellWork.Go(func() { k.shellLoop(shell) })
	controls, haltControl := context.WithCancel(base)
	var control sync.WaitGroup
	control.Go(func() { k.controlLoop(controls) })

	watch, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	gone := make(chan struct{})
	parent := findParent()
	watching.Go(func() {
		if parent.awaitEnd(watch, k.limits.parent) {
			close(gone)
		}
	})
	watching.Go(func() {
		for {
			select {
			case <-c.Interrupts:
				k.interrupt()
			case <-watch.Done():
				return
			}
		}
	})
	k.log.Info("ready")

	select {
	case <-k.stopped:
		k.log.Info("ending: a client asked for it")
	case <-gone:
		k.log.Info("ending: the process that started this kernel is gone")
	case <-ctx.Done():
		k.log.Info("ending: stopped from outside")
	}
	unwatch()
	watching.Wait()
	haltControl()
	control.Wait()
	k.endShell()
	k.close()
}

// endShell ends the running cell and the loop, and waits a moment for it.
func (k *kernel) endShell() {
	k.haltShell(ErrShutdown)
	done := make(chan struct{})
	go func() {
		k.shellWork.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(k.limits.stop):
		k.log.Warn("the running cell did not stop in time")
	}
}

func (k *kernel) close() {
	var all sync.WaitGroup
	for _, s := range k.sockets {
		all.Go(s.close)
	}
	all.Wait()
}

// receive reads a message of the shell or control socket and queues it.
func (k *kernel) receive(q *queue, from *router, identity string, frames [][]byte) {
	m, err := k.codec.decode(frames)
	if err != nil {
		k.bad.warn("a message was dropped", "error", err)
		return
	}
	q.add(&request{message: m, from: from, identity: identity})
}

// reply answers a request on the socket that it came from.
func (k *kernel) reply(r *request, kind string, content any) {
	k.replyWith(r, kind, content, nil)
}

func (k *kernel) replyWith(r *request, kind string, content any, metadata json.RawMessage) {
	frames := k.codec.encode(r.idents, k.codec.newHeader(kind), r.header, metadata, mustJSON(content))
	if !r.from.send(r.identity, frames) {
		k.log.Debug("a reply found nobody", "kind", kind)
	}
}

// publish sends a message to all that listen. parent is the header of the request it belongs to, nil if there is none.
func (k *kernel) publish(parent json.RawMessage, kind string, content any) {
	p := k.publication(parent, kind, content)
	k.iopub.publish(p.topic, p)
}

func (k *kernel) publication(parent json.RawMessage, kind string, content any) *publication {
	return &publication{
		codec: k.codec, topic: k.topic + kind, header: k.codec.newHeader(kind), parent: parent, content: mustJSON(content), limit: k.limits.text,
	}
}

// status says busy or idle for a request. running is the cell that runs from now on, nil for none.
func (k *kernel) status(r *request, state string, running *cell) {
	k.started.Store(true)
	k.out.Lock()
	defer k.out.Unlock()
	k.out.running = running
	k.publish(r.header, "status", statusContent{state})
}

// controlStatus is status for requests that are served beside a running cell.
func (k *kernel) controlStatus(r *request, state string) {
	k.started.Store(true)
	k.publish(r.header, "status", statusContent{state})
}

// welcome is what a new subscription is greeted with. The first one also learns that the kernel is starting, unless a request was served
// already: nobody could have heard it before, and after an idle it would mislead.
func (k *kernel) welcome(topic string) []packet {
	greeting := []packet{k.publication(nil, "iopub_welcome", welcomeContent{topic})}
	if k.started.CompareAndSwap(false, true) {
		greeting = append(greeting, k.publication(nil, "status", statusContent{"starting"}))
	}
	return greeting
}
