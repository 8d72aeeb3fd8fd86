package jupytertest

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Message is one that came from the kernel.
type Message struct {
	Topic    string // of iopub messages
	ID       string
	Kind     string // msg_type
	Session  string
	Version  string
	ParentID string // "" if it has no parent
	Parent   json.RawMessage
	Metadata map[string]any
	Content  map[string]any
	Body     json.RawMessage // Content as it came
}

// String is the message in one line, for failing tests.
func (m Message) String() string { return fmt.Sprintf("%s %s", m.Kind, m.Body) }

// Text is the content's value under a path of keys, as text: a string as it is, a number or bool as JSON writes it, "" if there is nothing.
func (m Message) Text(path ...string) string {
	var at any = m.Content
	for _, key := range path {
		object, _ := at.(map[string]any)
		at = object[key]
	}
	switch v := at.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(at)
	if err != nil {
		return ""
	}
	return string(b)
}

// Decode reads the content into a struct.
func (m Message) Decode(into any) error { return json.Unmarshal(m.Body, into) }

func sign(key string, parts [][]byte) string {
	if key == "" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Header makes the header of a request.
func Header(session, kind string) (id string, header json.RawMessage) {
	id = rand.Text()
	header, _ = json.Marshal(map[string]string{ // a map of strings always encodes
		"msg_id": id, "msg_type": kind, "session": session, "username": "test", "version": "5.4",
		"date": time.Now().UTC().Format(time.RFC3339Nano), "a_field_of_the_future": "<kept>",
	})
	return id, header
}

// Frames puts a message together and signs it. parent may be nil.
func Frames(key string, header, parent, metadata, content []byte) [][]byte {
	parts := [][]byte{header, parent, metadata, content}
	for i := range parts {
		if len(parts[i]) == 0 {
			parts[i] = []byte("{}")
		}
	}
	return append([][]byte{[]byte("<IDS|MSG>"), []byte(sign(key, parts))}, parts...)
}

type header struct {
	ID       string `json:"msg_id"`
	Kind     string `json:"msg_type"`
	Session  string `json:"session"`
	Version  string `json:"version"`
	Username string `json:"username"`
	Date     string `json:"date"`
}

// parse checks and reads a message from the kernel.
func parse(key string, frames [][]byte) (m Message, err error) {
	at := -1
	for i, f := range frames {
		if bytes.Equal(f, []byte("<IDS|MSG>")) {
			at = i
			break
		}
	}
	if at < 0 || len(frames) < at+6 {
		return m, fmt.Errorf("a message without delimiter, or cut short: %q", frames)
	}
	parts := frames[at+2 : at+6]
	if got, want := string(frames[at+1]), sign(key, parts); got != want {
		return m, fmt.Errorf("signature %s, want %s", got, want)
	}
	var h, parent header
	if err := errors.Join(
		json.Unmarshal(parts[0], &h), json.Unmarshal(parts[1], &parent), json.Unmarshal(parts[2], &m.Metadata), json.Unmarshal(parts[3], &m.Content),
	); err != nil {
		return m, err
	}
	if h.ID == "" || h.Kind == "" || h.Session == "" || h.Version == "" || h.Username == "" || h.Date == "" {
		return m, fmt.Errorf("a header lacks a field: %s", parts[0])
	}
	var topic []string
	for _, f := range frames[:at] {
		topic = append(topic, string(f))
	}
	m.Topic, m.ID, m.Kind, m.Session, m.Version = strings.Join(topic, " "), h.ID, h.Kind, h.Session, h.Version
	m.ParentID, m.Parent, m.Body = parent.ID, json.RawMessage(parts[1]), json.RawMessage(parts[3])
	return m, nil
}
