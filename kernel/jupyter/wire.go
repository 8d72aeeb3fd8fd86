package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// delimiter ends the identities of a message on the wire.
const delimiter = "<IDS|MSG>"

var (
	errDelimiter = errors.New("no " + delimiter + " among the first frames")
	errShort     = errors.New("frames are missing after " + delimiter)
	errSignature = errors.New("the signature is wrong")
	errReplayed  = errors.New("the same signed message has come before")
	errJSON      = errors.New("a part is not a JSON object")
	errHeader    = errors.New("the header names no message")
)

// message is one that came in. The parts are kept as they came: the header goes back byte for byte as the parent of every answer.
type message struct {
	idents   [][]byte // between the peer's identity and the delimiter; usually none
	id       string
	kind     string // msg_type
	header   json.RawMessage
	parent   json.RawMessage
	metadata json.RawMessage
	content  json.RawMessage
	buffers  [][]byte
}

// codec reads and writes the messages of one kernel: it holds the key and names the kernel's session. It is safe for concurrent use.
type codec struct {
	key     []byte // empty: nothing is signed
	session string
	count   atomic.Uint64
	seen    replays
}

func newCodec(key string) *codec {
	return &codec{key: []byte(key), session: uuid.NewString()}
}

// decode reads a message: idents… <IDS|MSG> signature header parent_header metadata content buffers….
func (c *codec) decode(frames [][]byte) (*message, error) {
	const most = 8 // identities; a message has one, unless it passed through proxies
	at := -1
	for i := 0; i < len(frames) && i <= most; i++ {
		if string(frames[i]) == delimiter {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, errDelimiter
	}
	rest := frames[at+1:]
	if len(rest) < 5 {
		return nil, errShort
	}
	parts := rest[1:5]
	if len(c.key) > 0 {
		got, err := hex.DecodeString(string(rest[0]))
		if err != nil || !hmac.Equal(got, c.mac(parts)) {
			return nil, errSignature
		}
		if c.seen.add([sha256.Size]byte(got)) {
			return nil, errReplayed
		}
	}
	for _, p := range parts {
		if t := bytes.TrimLeft(p, " \t\r\n"); len(t) == 0 || t[0] != '{' || !json.Valid(p) {
			return nil, errJSON
		}
	}
	var h struct {
		ID   string `json:"msg_id"`
		Kind string `json:"msg_type"`
	}
	if err := json.Unmarshal(parts[0], &h); err != nil || h.ID == "" || h.Kind == "" {
		return nil, errHeader
	}
	return &message{
		idents: frames[:at], id: h.ID, kind: h.Kind,
		header: parts[0], parent: parts[1], metadata: parts[2], content: parts[3], buffers: rest[5:],
	}, nil
}

// parentID is the msg_id of the message that m answers, or "".
func (m *message) parentID() string {
	var h struct {
		ID string `json:"msg_id"`
	}
	_ = json.Unmarshal(m.parent, &h) // decode has seen an object; one without an id has none
	return h.ID
}

func (c *codec) mac(parts [][]byte) []byte {
	h := hmac.New(sha256.New, c.key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// sent is the header of a message that goes out.
type sent struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Kind     string `json:"msg_type"`
	Version  string `json:"version"`
}

func (c *codec) newHeader(kind string) sent {
	return sent{
		ID: c.session + "_" + strconv.FormatUint(c.count.Add(1), 10), Session: c.session, Username: "kernel",
		Date: stamp(time.Now()), Kind: kind, Version: ProtocolVersion,
	}
}

// stamp writes a time as the protocol wants it: ISO 8601, with a zone.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// encode makes the frames of a message. parent and metadata are JSON objects, nil for {}.
func (c *codec) encode(idents [][]byte, h sent, parent, metadata, content json.RawMessage) [][]byte {
	header, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("jupyter: a header of strings can't be encoded: %v", err))
	}
	parts := [][]byte{header, object(parent), object(metadata), object(content)}
	var signature []byte
	if len(c.key) > 0 {
		signature = hex.AppendEncode(nil, c.mac(parts))
	}
	frames := make([][]byte, 0, len(idents)+6)
	frames = append(frames, idents...)
	frames = append(frames, []byte(delimiter), signature)
	return append(frames, parts...)
}

func object(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("{}")
	}
	return b
}

// replays remembers the newest signatures: a message recorded on its way must not run a cell a second time.
type replays struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]struct{}
	ring [][sha256.Size]byte
	next int
}

// add says whether sig was known already.
func (r *replays) add(sig [sha256.Size]byte) bool {
	const most = 1 << 14
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.seen[sig]; ok {
		return true
	}
	if r.seen == nil {
		r.seen = map[[sha256.Size]byte]struct{}{}
	}
	if len(r.ring) < most {
		r.ring = append(r.ring, sig)
	} else {
		delete(r.seen, r.ring[r.next])
		r.ring[r.next] = sig
		r.next = (r.next + 1) % most
	}
	r.seen[sig] = struct{}{}
	return false
}
