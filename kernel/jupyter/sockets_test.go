package jupyter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
	"github.com/go-zeromq/zmq4"
)

func send(t *testing.T, c *zmq4.Conn, frames [][]byte) {
	t.Helper()
	if err := c.SendMsg(zmq4.NewMsgFrom(frames...)); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the kernel to close a connection.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(jupytertest.Patience))
	if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the kernel keeps the connection open")
	}
}

func alwaysAnswers(t *testing.T, c *jupytertest.Client) {
	t.Helper()
	if r := c.Run("print alive"); r.Stdout() != "alive\n" {
		t.Errorf("%v", r.Outputs)
	}
}

// A peer that connects and says nothing stops nobody, and is sent away.
func TestSilentPeer(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.handshake = 300 * time.Millisecond }))
	for _, channel := range []string{"shell", "control", "stdin", "iopub", "hb"} {
		silent := f.Dial(t, channel)
		alwaysAnswers(t, c)
		other := jupytertest.Connect(t, f)
		alwaysAnswers(t, other)
		other.Close()
		ends(t, silent)
	}
}

// More silent peers than there is room for still don't keep a client out.
func TestManySilentPeers(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	startAt(t, f, newTiny(), tight(func(l *limits) { l.pending = 4 }))
	for range 12 {
		defer f.Dial(t, "shell").Close()
	}
	other := jupytertest.Connect(t, f)
	alwaysAnswers(t, other)
}

// Of four connections where three have room one is sent away, whichever comes last; the others stay.
func TestTooManyPeers(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.peers = 3 }))
	alwaysAnswers(t, c) // so its connection is one of the three
	ended := make(chan error, 3)
	for range cap(ended) {
		raw := f.Dial(t, "shell")
		defer raw.Close()
		go func() {
			conn, err := zmq4.Open(raw, nullSecurity, zmq4.Dealer, nil, false, nil)
			if err == nil {
				_, err = conn.RecvMsg() // until it is closed: nobody sends anything
			}
			ended <- err
		}()
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a connection that asked for nothing got a message")
		}
	case <-time.After(jupytertest.Patience):
		t.Fatal("one connection too many is served")
	}
	alwaysAnswers(t, c)
	select {
	case err := <-ended:
		t.Errorf("one that has room was sent away: %v", err)
	default:
	}
}

// What a stranger may write before, in and after a handshake. Each time the connection ends, nothing else.
func TestGarbage(t *testing.T) {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xFF, 0x7F, 3
	copy(greeting[12:], "NULL")
	command := func(name string, body ...byte) []byte {
		b := append([]byte{byte(len(name))}, name...)
		b = append(b, body...)
		return append([]byte{frameCommand, byte(len(b))}, b...)
	}
	property := func(name, value string) []byte {
		b := append([]byte{byte(len(name))}, name...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
		return append(b, value...)
	}
	long := func(flags byte, size uint64) []byte {
		return binary.BigEndian.AppendUint64([]byte{flags | frameLong}, size)
	}
	ready := command("READY", append(property("Socket-Type", "DEALER"), property("Identity", "me")...)...)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny(), tight(func(l *limits) {
		l.handshake = 300 * time.Millisecond
		l.frames = 8
		l.message = 1 << 20
		l.frame = 1 << 16
	}))
	for name, b := range map[string][]byte{
		"http":                   []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + strings.Repeat(" ", 64)),
		"zeros":                  make([]byte, 256),
		"old version":            join(greeting[:10], []byte{1}, greeting[11:]),
		"other mechanism":        join(greeting[:12], []byte("CURVE"), greeting[17:]),
		"unknown socket type":    join(greeting, command("READY", property("Socket-Type", "NONSENSE")...)),
		"incompatible type":      join(greeting, command("READY", property("Socket-Type", "PULL")...)),
		"no socket type":         join(greeting, command("READY")),
		"property cut short":     join(greeting, command("READY", 200, 'x')),
		"property length lies":   join(greeting, command("READY", 1, 'x', 0xFF, 0xFF, 0xFF, 0xFF)),
		"property without value": join(greeting, command("READY", 1, 'x', 0)),
		"error command":          join(greeting, command("ERROR", 0)),
		"huge handshake":         join(greeting, long(frameCommand, 1<<20)),
		"2^45 bytes":             join(greeting, ready, long(0, 1<<45)),
		"2^62 bytes":             join(greeting, ready, long(0, 1<<62)),
		"2^64-1 bytes":           join(greeting, ready, long(0, 1<<64-1)),
		"just over the limit":    join(greeting, ready, long(0, 1<<16+1)),
		"reserved flags":         join(greeting, ready, []byte{0xF0, 0}),
		"endless message":        join(greeting, ready, bytes.Repeat([]byte{frameMore, 0}, 9)),
		"command with more":      join(greeting, ready, []byte{frameCommand | frameMore, 0}),
		"empty command":          join(greeting, ready, []byte{frameCommand, 0}),
		"command length lies":    join(greeting, ready, []byte{frameCommand, 1, 99}),
	} {
		for _, channel := range []string{"shell", "iopub", "hb"} {
			conn := f.Dial(t, channel)
			conn.Write(b) // it may be cut off half way
			t.Run(name+" on "+channel, func(t *testing.T) { ends(t, conn) })
		}
	}
	alwaysAnswers(t, c)
}

// Frames that are fine as ZeroMQ but no messages are dropped, and the connection lives on.
func TestBadMessages(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	c := startAt(t, f, newTiny())
	conn := f.Open(t, "shell", "bad")
	defer conn.Close()
	id, header := jupytertest.Header("bad", "execute_request")
	body := []byte(`{"code":"print x"}`)
	good := jupytertest.Frames(f.Key, header, nil, nil, body)
	for _, frames := range [][][]byte{
		{{}}, {{}, {}, {}}, {[]byte("<IDS|MSG>")}, good[:4], good[1:],
		jupytertest.Frames("wrong key", header, nil, nil, body),
		jupytertest.Frames("", header, nil, nil, body),
		{good[0], []byte("zz"), good[2], good[3], good[4], good[5]},
		jupytertest.Frames(f.Key, []byte(`null`), nil, nil, body),
		jupytertest.Frames(f.Key, []byte(`{"msg_id":7}`), nil, nil, body),
		jupytertest.Frames(f.Key, []byte(`{}`), nil, nil, body),
		jupytertest.Frames(f.Key, []byte(`{"msg_id":"a","msg_type":"execute_request"`), nil, nil, body),
		jupytertest.Frames(f.Key, header, []byte(`[]`), nil, body),
		jupytertest.Frames(f.Key, header, nil, nil, []byte(`"code"`)),
		jupytertest.Frames(f.Key, header, nil, nil, []byte{0xFF, 0xFE}),
	} {
		send(t, conn, frames)
	}
	send(t, conn, good)
	m, err := conn.RecvMsg()
	if err != nil || !strings.Contains(string(m.Bytes()), id) {
		t.Fatalf("%s, %v", m.Bytes(), err)
	}
	c.Take("iopub", "idle", func(m jupytertest.Message) bool { return m.ParentID == id && m.Text("execution_state") == "idle" })
	if r := c.Run("count"); r.Stdout() != "2" {
		t.Errorf("%s cells were run, want only the good one before this", r.Stdout())
	}
	// The good one once more: it was signed, but it isn't run twice.
	send(t, conn, good)
	if r := c.Run("count"); r.Stdout() != "3" {
		t.Errorf("a repeated message was run: %s", r.Stdout())
	}
}

// Messages that arrive frame by frame, and half frames, hold up nobody but their own peer; two at a time don't mix.
func TestInterleavedFrames(t *testing.T) {
	for _, transport := range []string{"ipc", "tcp"} {
		f := jupytertest.NewFile(t, transport)
		c := startAt(t, f, newTiny())
		type slow struct {
			raw  net.Conn
			conn *zmq4.Conn
			wire []byte
			id   string
		}
		var peers []slow
		for _, name := range []string{"one", "two"} {
			raw := f.Dial(t, "shell")
			defer raw.Close()
			conn, err := zmq4.Open(raw, nullSecurity, zmq4.Dealer, zmq4.SocketIdentity(name), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			id, header := jupytertest.Header(name, "execute_request")
			body := []byte(`{"code":"print ` + name + strings.Repeat("x", 100_000) + `"}`)
			var wire []byte
			frames := jupytertest.Frames(f.Key, header, nil, nil, body)
			for i, frame := range frames {
				flags := byte(frameLong | frameMore)
				if i == len(frames)-1 {
					flags = frameLong
				}
				wire = append(binary.BigEndian.AppendUint64(append(wire, flags), uint64(len(frame))), frame...)
			}
			peers = append(peers, slow{raw, conn, wire, id})
		}
		const step = 30_000
		for at := 0; at < len(peers[0].wire); at += step {
			for _, p := range peers {
				p.raw.Write(p.wire[at:min(at+step, len(p.wire))])
			}
			if at == 0 {
				alwaysAnswers(t, c)
			}
		}
		for _, p := range peers {
			m, err := p.conn.RecvMsg()
			if err != nil || !strings.Contains(string(m.Bytes()), p.id) || !strings.Contains(string(m.Bytes()), `"status":"ok"`) {
				t.Errorf("%.300s, %v", m.Bytes(), err)
			}
		}
	}
}

// A Jupyter server asks a kernel that starts every half second, by sockets that it throws away: nothing of them is kept.
func TestNudges(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny())
	nudge := func() {
		for _, channel := range []string{"shell", "control"} {
			conn := f.Open(t, channel, "")
			_, header := jupytertest.Header("nudge", "kernel_info_request")
			send(t, conn, jupytertest.Frames(f.Key, header, nil, nil, nil))
			if _, err := conn.RecvMsg(); err != nil {
				t.Fatal(err)
			}
			conn.Close()
		}
	}
	nudge()
	before := runtime.NumGoroutine()
	for range 60 {
		nudge()
	}
	alwaysAnswers(t, c)
	late := time.Now().Add(jupytertest.Patience)
	for runtime.NumGoroutine() > before+4 { // of the last ones some may be on their way out
		if time.Now().After(late) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

// A peer that stops in the middle of the greeting, the handshake, a frame's head or a frame holds up nobody, and neither does one that
// breaks off there.
func TestStallingPeer(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.handshake = 200 * time.Millisecond }))
	for _, channel := range []string{"shell", "control", "stdin", "iopub", "hb"} {
		for _, b := range []string{"\xff", "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03"} {
			conn := f.Dial(t, channel)
			conn.Write([]byte(b))
			alwaysAnswers(t, c)
			ends(t, conn)
		}
		for _, b := range []string{"\x01", "\x02\x00\x00", "\x00\x7fhalf", "\x03\x00\x00\x00\x00\x00\x10\x00\x00half a megabyte is missing"} {
			raw := f.Dial(t, channel)
			kind := zmq4.Dealer
			switch channel {
			case "iopub":
				kind = zmq4.Sub
			case "hb":
				kind = zmq4.Req
			}
			if _, err := zmq4.Open(raw, nullSecurity, kind, nil, false, nil); err != nil {
				t.Fatal(err)
			}
			raw.Write([]byte(b))
			alwaysAnswers(t, c)
			raw.Close()
			alwaysAnswers(t, c)
		}
	}
}

func TestIdentitiesComeBack(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	startAt(t, f, newTiny())
	conn := f.Open(t, "shell", "")
	defer conn.Close()
	_, header := jupytertest.Header("proxied", "kernel_info_request")
	send(t, conn, append([][]byte{[]byte("hop"), {}}, jupytertest.Frames(f.Key, header, nil, nil, nil)...))
	m, err := conn.RecvMsg()
	if err != nil || len(m.Frames) != 8 || string(m.Frames[0]) != "hop" || len(m.Frames[1]) != 0 || string(m.Frames[2]) != "<IDS|MSG>" {
		t.Errorf("%q, %v", m.Frames, err)
	}
}

// A client that connects anew under its identity gets the answers, the old connection ends.
func TestSameIdentity(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	h := newTiny()
	startAt(t, f, h)
	old := f.Open(t, "shell", "same")
	id, header := jupytertest.Header("same", "execute_request")
	send(t, old, jupytertest.Frames(f.Key, header, nil, nil, []byte(`{"code":"hold"}`)))
	<-h.hold
	anew := f.Open(t, "shell", "same")
	defer anew.Close()
	if _, err := old.RecvMsg(); err == nil {
		t.Error("the old connection still gets messages")
	}
	old.Close()
	h.hold <- "go"
	m, err := anew.RecvMsg()
	if err != nil || !strings.Contains(string(m.Bytes()), id) {
		t.Errorf("%s, %v", m.Bytes(), err)
	}
}

func TestHeartbeat(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	startAt(t, f, newTiny())
	hb := f.Open(t, "hb", "")
	defer hb.Close()
	for _, frames := range [][][]byte{{{}, []byte("ping")}, {{}, {}}, {{}, []byte("a"), []byte("b")}, {[]byte("no delimiter")}, {{}, bytes.Repeat([]byte("x"), 1<<20)}} {
		send(t, hb, frames)
		m, err := hb.RecvMsg()
		if err != nil || len(m.Frames) != len(frames) || !bytes.Equal(bytes.Join(m.Frames, []byte("|")), bytes.Join(frames, []byte("|"))) {
			t.Fatalf("%.100q came back as %.100q, %v", frames, m.Frames, err)
		}
	}
}

// ZMTP's own pings are answered with their context, between messages.
func TestPing(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	startAt(t, f, newTiny())
	raw := f.Dial(t, "shell")
	defer raw.Close()
	conn, err := zmq4.Open(raw, nullSecurity, zmq4.Dealer, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SendCmd("PING", []byte("\x00\x0acontext")); err != nil {
		t.Fatal(err)
	}
	cmd, err := conn.RecvCmd()
	if err != nil || cmd.Name != "PONG" || string(cmd.Body) != "context" {
		t.Errorf("%s %q, %v", cmd.Name, cmd.Body, err)
	}
}

func TestWelcome(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	c := startAt(t, f, newTiny())
	if c.Welcome.ParentID != "" || string(c.Welcome.Parent) != "{}" || c.Welcome.Text("subscription") != "" {
		t.Errorf("%v, parent %s", c.Welcome, c.Welcome.Parent)
	}
	if m := c.Next("iopub"); m.Text("execution_state") != "starting" || m.ParentID != "" {
		t.Errorf("the first message after the welcome is %v", m)
	}
	// Others are welcomed as well, but the kernel starts only once.
	other := jupytertest.Connect(t, f)
	id := other.Execute("")
	if m := other.Next("iopub"); m.ParentID != id || m.Text("execution_state") != "busy" {
		t.Errorf("%v", m)
	}
	// A subscription to some topics gets those only, a cancelled one nothing.
	sub := f.Open(t, "iopub", "")
	defer sub.Close()
	send(t, sub, [][]byte{[]byte("\x01kernel.")})
	if m, err := sub.RecvMsg(); err != nil || !strings.Contains(string(m.Bytes()), `{"subscription":"kernel."}`) {
		t.Errorf("%s, %v", m.Bytes(), err)
	}
	c.Run("print a")
	if m, err := sub.RecvMsg(); err != nil || !strings.HasSuffix(string(m.Frames[0]), ".status") {
		t.Errorf("%q, %v", m.Frames, err)
	}
}

// A client that comes when work is under way isn't told that the kernel starts.
func TestNoLateStarting(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	h := newTiny()
	jupytertest.StartAt(t, f, func(ctx context.Context, file string) error { return Serve(ctx, config(t, file), h) })
	shell := f.Open(t, "shell", "x")
	defer shell.Close()
	_, header := jupytertest.Header("x", "kernel_info_request")
	send(t, shell, jupytertest.Frames(f.Key, header, nil, nil, nil))
	if _, err := shell.RecvMsg(); err != nil {
		t.Fatal(err)
	}
	c := jupytertest.Connect(t, f)
	id := c.Execute("")
	if m := c.Next("iopub"); m.ParentID != id {
		t.Errorf("%v", m)
	}
}

// subscribe subscribes to everything and reads no more than the welcome.
func subscribe(t *testing.T, f *jupytertest.File) (net.Conn, *zmq4.Conn) {
	t.Helper()
	c := f.Dial(t, "iopub")
	conn, err := zmq4.Open(c, nullSecurity, zmq4.Sub, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, [][]byte{{1}})
	if _, err := conn.RecvMsg(); err != nil {
		t.Fatal(err)
	}
	return c, conn
}

// A subscriber that reads nothing slows nobody down, and is sent away once too much waits for it.
func TestStalledSubscriber(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.outbox, l.patience = 4<<20, 50*time.Millisecond }))
	stalled, _ := subscribe(t, f)
	for range 10 { // about 9 MB
		if r := c.Run("long"); len(r.Stdout()) != 900_000 {
			t.Fatalf("the good subscriber got %d bytes", len(r.Stdout()))
		}
	}
	ends(t, stalled)
	alwaysAnswers(t, c)
}

// A reader that is slow but reads gets everything: the cell is slowed down to it, and what waits for it stays bounded.
func TestSlowSubscriber(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.outbox = 1 << 20; l.patience = jupytertest.Patience }))
	raw, slow := subscribe(t, f)
	defer raw.Close()
	id := c.Execute("long\nlong\nlong\nlong")
	bytes := 0
	for {
		time.Sleep(time.Millisecond) // that is what makes it slow
		m, err := slow.RecvMsg()
		if err != nil {
			t.Fatalf("after %d bytes: %v", bytes, err)
		}
		bytes += len(m.Frames[len(m.Frames)-1])
		if strings.Contains(string(m.Bytes()), `"idle"`) {
			break
		}
	}
	if bytes < 4*900_000 {
		t.Errorf("only %d bytes came", bytes)
	}
	if r := c.Wait(id); len(r.Stdout()) != 4*900_000 {
		t.Errorf("the fast one got %d bytes", len(r.Stdout()))
	}
}

// What is queued when the kernel ends still reaches a reader that takes its time.
func TestDrain(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.drain = jupytertest.Patience }))
	raw, late := subscribe(t, f)
	defer raw.Close()
	for range 10 {
		c.Run("long")
	}
	c.Reply("control", c.Send("control", "shutdown_request", map[string]bool{"restart": false}))
	bytes, last := 0, ""
	for {
		m, err := late.RecvMsg()
		if err != nil {
			break
		}
		bytes += len(m.Frames[len(m.Frames)-1])
		last = string(m.Frames[len(m.Frames)-1])
	}
	if bytes < 10*900_000 || !strings.Contains(last, "idle") {
		t.Errorf("%d bytes came, at last %s", bytes, last)
	}
	raw.Close()
	c.Close()
	c.Ended()
}

// The same by time: it reads nothing for longer than the deadline of a write.
func TestSubscriberThatStops(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	log := &lines{come: make(chan string, 100)}
	c := startAt(t, f, newTiny(), tight(func(l *limits) { l.write = 200 * time.Millisecond }),
		func(c *Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	stalled, _ := subscribe(t, f)
	for range 5 {
		c.Run("long")
	}
	log.await(t, "it stopped reading")
	ends(t, stalled)
	alwaysAnswers(t, c)
}

// lines is a log to wait for.
type lines struct{ come chan string }

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(jupytertest.Patience)
	for {
		select {
		case line := <-l.come:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("the log doesn't say %q", text)
		}
	}
}

func (l *lines) Write(p []byte) (int, error) {
	l.come <- string(p)
	return len(p), nil
}

func TestAddressInUse(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Stdin)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	err = Serve(t.Context(), config(t, f.Path), newTiny())
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(f.Stdin)) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	// The ports bound before it are free again.
	shell, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Shell)))
	if err != nil {
		t.Fatal(err)
	}
	shell.Close()
}

func TestSocketFiles(t *testing.T) {
	f := jupytertest.NewFile(t, "ipc")
	// One left behind by a kernel that was killed.
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.IP + "-1", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	ctx, stop := context.WithCancel(t.Context())
	c := jupytertest.StartAt(t, f, func(_ context.Context, file string) error { return Serve(ctx, config(t, file), newTiny()) })
	alwaysAnswers(t, c)
	st, err := os.Stat(f.IP + "-1")
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	// A second kernel there is refused, and takes nothing from the first.
	if err := Serve(t.Context(), config(t, f.Path), newTiny()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	alwaysAnswers(t, c)
	stop()
	c.Ended()
	if _, err := os.Stat(f.IP + "-1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file is left: %v", err)
	}
	// A file that is no socket is not ours to remove.
	if err := os.WriteFile(f.IP+"-1", []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), config(t, f.Path), newTiny()); err == nil {
		t.Error("a file was taken for a socket")
	}
	if b, err := os.ReadFile(f.IP + "-1"); string(b) != "notes" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestConnectionFiles(t *testing.T) {
	for name, change := range map[string]func(*jupytertest.File){
		"transport":        func(f *jupytertest.File) { f.Transport = "udp" },
		"ip":               func(f *jupytertest.File) { f.IP = "" },
		"signature scheme": func(f *jupytertest.File) { f.Scheme = "hmac-md5" },
		"control_port":     func(f *jupytertest.File) { f.Control = 0 },
		"hb_port":          func(f *jupytertest.File) { f.Transport, f.IP, f.HB = "tcp", "127.0.0.1", 70000 },
	} {
		f := jupytertest.NewFile(t, "ipc")
		change(f)
		f.Write(t)
		if err := Serve(t.Context(), config(t, f.Path), newTiny()); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"", "/no/such/file"} {
		if err := Serve(t.Context(), config(t, path), newTiny()); err == nil {
			t.Errorf("%q is served", path)
		}
	}
	f := jupytertest.NewFile(t, "ipc")
	os.WriteFile(f.Path, []byte("not json"), 0o600)
	if err := Serve(t.Context(), config(t, f.Path), newTiny()); err == nil || !strings.Contains(err.Error(), f.Path) {
		t.Errorf("%v", err)
	}
}

func TestWithoutKey(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	f.Key = ""
	f.Write(t)
	alwaysAnswers(t, startAt(t, f, newTiny()))
}

func TestTwoClients(t *testing.T) {
	f := jupytertest.NewFile(t, "tcp")
	h := newTiny()
	a := startAt(t, f, h)
	b := jupytertest.Connect(t, f)
	id := a.Execute("print from a\nhold")
	<-h.hold
	other := b.Execute("print from b")
	h.hold <- "go"
	if r := a.Wait(id); r.Stdout() != "from a\n" {
		t.Errorf("%v", r.Outputs)
	}
	if r := b.Wait(other); r.Stdout() != "from b\n" {
		t.Errorf("%v", r.Outputs)
	}
	if out := b.Outputs(id); len(out) != 2 {
		t.Errorf("b sees of a's cell %v", out)
	}
	if w := b.Waiting("shell"); len(w) != 0 {
		t.Errorf("b got a's reply: %v", w)
	}
}
