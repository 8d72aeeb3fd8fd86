package jupyter

import "time"

// limits are the numbers that keep one peer from hurting the others. Tests tighten them; users get defaultLimits.
type limits struct {
	handshake time.Duration // from accept to the end of the ZMTP handshake
	write     time.Duration // for a write to make any progress; then the reader counts as gone
	patience  time.Duration // for a reader that is behind to read at all, while the text of a cell waits for it
	drain     time.Duration // at the end, for what is queued to reach the readers
	stop      time.Duration // at the end, for the running cell to return; with drain it stays below the 2.5 s Jupyter waits
	stream    time.Duration // how long written text waits for more
	// quiet is how long no new request may come after an error until the queue counts as complete. A Jupyter server passes the cells of a "Run
	// All" on one by one, about 4 ms apart.
	quiet    time.Duration
	settle   time.Duration // the most to wait for that
	stdin    time.Duration // for the frontend's stdin connection to appear
	complete time.Duration // for a completion or inspection; JupyterLab waits a second
	parent   time.Duration // between two looks at the parent process
	rest     time.Duration // without a request until the kernel counts as at rest

	frame    int // bytes of one frame
	message  int // bytes of one message
	frames   int // frames of one message
	greeting int // bytes of a frame before the handshake is through
	peers    int // connections a socket serves
	pending  int // connections in their handshake
	outbox   int // bytes that may wait for one reader
	text     int // bytes of text in one stream message
	topics   int // subscriptions of one peer
}

func defaultLimits() *limits {
	return &limits{
		handshake: 5 * time.Second,
		write:     30 * time.Second,
		patience:  time.Second,
		drain:     time.Second,
		stop:      time.Second,
		stream:    50 * time.Millisecond,
		quiet:     25 * time.Millisecond,
		settle:    75 * time.Millisecond,
		stdin:     5 * time.Second,
		complete:  time.Second,
		parent:    time.Second,
		rest:      time.Second,
		frame:     64 << 20,
		message:   128 << 20,
		frames:    1024,
		greeting:  8 << 10,
		peers:     256,
		pending:   64,
		outbox:    64 << 20,
		text:      64 << 10,
		topics:    256,
	}
}
