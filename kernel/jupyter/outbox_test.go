package jupyter

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func pub(kind, parent, text string) *publication {
	p := &publication{codec: &codec{}, topic: kind, parent: json.RawMessage(parent), limit: 100}
	switch kind {
	case "stream":
		p.stream = &streamContent{"stdout", text}
		p.content = mustJSON(p.stream)
	case "update":
		p.display = "x"
		p.content = mustJSON(text)
	default:
		p.content = mustJSON(text)
	}
	return p
}

func drain(o *outbox) (all []*publication) {
	for {
		p, ok := o.pop()
		if !ok {
			return all
		}
		all = append(all, p.(*publication))
	}
}

func TestOutbox(t *testing.T) {
	for _, x := range []struct {
		name string
		in   []*publication
		want string
	}{
		{"streams join", []*publication{pub("stream", "1", "a"), pub("stream", "1", "b"), pub("stream", "1", "c")}, `stream{"name":"stdout","text":"abc"} `},
		{"not over another message", []*publication{pub("stream", "1", "a"), pub("status", "1", "s"), pub("stream", "1", "b")},
			`stream{"name":"stdout","text":"a"} status"s" stream{"name":"stdout","text":"b"} `},
		{"not of two cells", []*publication{pub("stream", "1", "a"), pub("stream", "2", "b")}, `stream{"name":"stdout","text":"a"} stream{"name":"stdout","text":"b"} `},
		{"the newest update, in its place", []*publication{pub("update", "1", "v1"), pub("status", "1", "s"), pub("update", "1", "v2")}, `status"s" update"v2" `},
		{"updates of two parents", []*publication{pub("update", "1", "v1"), pub("update", "2", "v2"), pub("update", "1", "v3")}, `update"v2" update"v3" `},
	} {
		o := newOutbox(1 << 20)
		for _, p := range x.in {
			if !o.push(p) {
				t.Fatal("full")
			}
		}
		got := ""
		for _, p := range drain(o) {
			got += p.topic + string(p.content) + " "
		}
		if got != x.want {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
		if o.bytes != 0 || len(o.keys) != 0 {
			t.Errorf("%s: %d bytes and %v left", x.name, o.bytes, o.keys)
		}
	}
}

func TestOutboxIsBounded(t *testing.T) {
	o := newOutbox(10_000)
	n := 0
	for ; o.push(pub("status", "1", "s")); n++ {
	}
	if n < 5 || n > 20 {
		t.Errorf("%d messages fit", n)
	}
	o = newOutbox(10_000)
	for i := range 10_000 {
		if !o.push(pub("update", "1", fmt.Sprint(i))) {
			t.Fatal("updates pile up")
		}
	}
}

// Whatever is pushed and popped in whatever order: no message that stands for itself is lost or overtaken, the text of streams is whole, the
// newest update arrives, and the weight is that of what waits.
func TestOutboxProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOutbox(1 << 30)
		var out []*publication
		var statuses, text, lastUpdate string
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch kind := rapid.SampledFrom([]string{"status", "stream", "update", "pop"}).Draw(t, "step"); kind {
			case "pop":
				if p, ok := o.pop(); ok {
					out = append(out, p.(*publication))
				}
			default:
				s := fmt.Sprintf("%d,", i)
				switch kind {
				case "status":
					statuses += s
				case "stream":
					text += s
				default:
					lastUpdate = s
				}
				o.push(pub(kind, "1", s))
			}
			weight := 0
			for _, p := range o.items {
				if p != nil {
					weight += p.size()
				}
			}
			if weight != o.bytes {
				t.Fatalf("weight %d, counted %d", weight, o.bytes)
			}
		}
		out = append(out, drain(o)...)
		var gotStatuses, gotText, gotUpdate string
		for _, p := range out {
			var s string
			switch p.topic {
			case "status":
				json.Unmarshal(p.content, &s)
				gotStatuses += s
			case "stream":
				gotText += p.stream.Text
			case "update":
				json.Unmarshal(p.content, &gotUpdate)
			}
		}
		if gotStatuses != statuses || gotText != text || gotUpdate != lastUpdate {
			t.Fatalf("%q %q %q, want %q %q %q", gotStatuses, gotText, gotUpdate, statuses, text, lastUpdate)
		}
	})
}
