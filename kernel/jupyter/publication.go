package jupyter

import (
	"encoding/json"
	"sync"
)

// publication is a message on its way to the subscribers of iopub. It is encoded and signed once, when the first of them has its turn.
type publication struct {
	codec   *codec
	topic   string
	header  sent
	parent  json.RawMessage
	content json.RawMessage
	stream  *streamContent // of a stream: its text, to be joined with the next one's
	display string         // of an update: the display_id; a newer one takes its place
	limit   int            // bytes of text in a joined stream

	once    sync.Once
	encoded [][]byte
}

func (p *publication) frames() [][]byte {
	p.once.Do(func() {
		p.encoded = p.codec.encode([][]byte{[]byte(p.topic)}, p.header, p.parent, nil, p.content)
	})
	return p.encoded
}

func (p *publication) size() int { return len(p.content) + len(p.parent) + 512 }

func (p *publication) key() string {
	if p.display == "" {
		return ""
	}
	// An update with another parent is for another reader: a program that runs a notebook takes only those of the cell that it waits for.
	return p.display + "\x00" + string(p.parent)
}

func (p *publication) absorb(next packet) packet {
	n, ok := next.(*publication)
	if !ok || p.stream == nil || n.stream == nil || p.stream.Name != n.stream.Name ||
		len(p.stream.Text)+len(n.stream.Text) > p.limit || string(p.parent) != string(n.parent) {
		return nil
	}
	text := streamContent{p.stream.Name, p.stream.Text + n.stream.Text}
	return &publication{
		codec: p.codec, topic: p.topic, header: n.header, parent: p.parent, content: mustJSON(text), stream: &text, limit: p.limit,
	}
}
