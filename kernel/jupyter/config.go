package jupyter

import (
	"errors"
	"log/slog"
	"os"
)

// ProtocolVersion is the version of the messaging protocol that is spoken here.
const ProtocolVersion = "5.5"

var (
	// ErrInterrupted is the cause of the end of a cell's context when the person interrupted it.
	ErrInterrupted = errors.New("interrupted")
	// ErrShutdown is the cause when the kernel is shutting down.
	ErrShutdown = errors.New("the kernel is shutting down")
	// ErrNoStdin says that a question could not be asked: the frontend takes none.
	ErrNoStdin = errors.New("this frontend takes no questions while a cell runs (it said allow_stdin = false)")
)

// Config is what [Serve] needs besides the Handler.
type Config struct {
	ConnectionFile string // path of the connection file that Jupyter wrote
	Info           Info
	HistoryFile    string       // where inputs are kept over restarts; "" keeps them in memory only
	Log            *slog.Logger // nil discards
	// Interrupts, if not nil, does what an interrupt message does for each value: pass a channel of signal.Notify with os.Interrupt to make
	// Ctrl+C in a terminal stop the cell and not the kernel.
	Interrupts <-chan os.Signal
	// AtRest, if not nil, is called in a goroutine of its own when nothing has been served on the shell channel for a second: the time to
	// give memory back.
	AtRest func()

	limits *limits // nil: defaultLimits; tests tighten them
}

// Info is what the kernel says about itself.
type Info struct {
	Implementation string // name of the kernel
	Version        string // its version
	Banner         string // greeting of consoles
	Language       Language
	HelpLinks      []HelpLink // for the Help menu; https, and only pages that exist
}

// Language describes the language of the cells to frontends and converters. Empty fields are left out.
type Language struct {
	Name              string `json:"name"`
	Version           string `json:"version"`
	MIMEType          string `json:"mimetype"`
	FileExtension     string `json:"file_extension"` // with the dot
	PygmentsLexer     string `json:"pygments_lexer,omitempty"`
	CodeMirrorMode    any    `json:"codemirror_mode,omitempty"` // a string or {"name": …, "mime": …}
	NBConvertExporter string `json:"nbconvert_exporter,omitempty"`
}

// HelpLink is an entry of the frontend's Help menu.
type HelpLink struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}
