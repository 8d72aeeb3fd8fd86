package jupyter

import (
	"encoding/json"
	"fmt"
)

// The bodies of messages, requests first. Only the fields that are used are read.

type executeRequest struct {
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    *bool             `json:"store_history"` // true if left out, unless silent
	UserExpressions map[string]string `json:"user_expressions"`
	AllowStdin      *bool             `json:"allow_stdin"`   // true if left out
	StopOnError     *bool             `json:"stop_on_error"` // true if left out
}

type completeRequest struct {
	Code   string `json:"code"`
	Cursor int    `json:"cursor_pos"`
}

type inspectRequest struct {
	Code   string `json:"code"`
	Cursor int    `json:"cursor_pos"`
	Detail int    `json:"detail_level"`
}

type isCompleteRequest struct {
	Code string `json:"code"`
}

type historyRequest struct {
	Output  bool   `json:"output"`
	Access  string `json:"hist_access_type"` // tail, range, search
	Session int    `json:"session"`
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"`
	N       *int   `json:"n"`
	Pattern string `json:"pattern"`
	Unique  bool   `json:"unique"`
}

type shutdownRequest struct {
	Restart bool `json:"restart"`
}

type commID struct {
	ID string `json:"comm_id"`
}

type inputReply struct {
	Value string `json:"value"`
}

// ok is the body of replies that have nothing to say.
type ok struct {
	Status string `json:"status"`
}

var okReply = ok{"ok"}

type kernelInfoReply struct {
	Status                string     `json:"status"`
	ProtocolVersion       string     `json:"protocol_version"`
	Implementation        string     `json:"implementation"`
	ImplementationVersion string     `json:"implementation_version"`
	LanguageInfo          Language   `json:"language_info"`
	Banner                string     `json:"banner"`
	HelpLinks             []HelpLink `json:"help_links"`
	SupportedFeatures     []string   `json:"supported_features"`
}

type executeInput struct {
	Code  string `json:"code"`
	Count int    `json:"execution_count"`
}

type executeReply struct {
	Status          string         `json:"status"`
	Count           int            `json:"execution_count"`
	Payload         []any          `json:"payload"`
	UserExpressions map[string]any `json:"user_expressions"`
}

type executeError struct {
	executeReply
	errorContent
}

type abortedReply struct {
	Status string `json:"status"`
	Count  int    `json:"execution_count"`
}

type errorContent struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func (f *Failure) content() errorContent {
	t := f.Traceback
	if len(t) == 0 {
		t = []string{f.Error()}
	}
	return errorContent{f.Name, f.Value, t}
}

type statusError struct {
	Status string `json:"status"`
	errorContent
}

type statusData struct {
	Status   string         `json:"status"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

type completeReply struct {
	Status   string         `json:"status"`
	Matches  []string       `json:"matches"`
	Start    int            `json:"cursor_start"`
	End      int            `json:"cursor_end"`
	Metadata map[string]any `json:"metadata"`
}

// completionType is the form in which JupyterLab and IPython agreed to pass kinds on.
type completionType struct {
	Text      string `json:"text"`
	Type      string `json:"type"`
	Signature string `json:"signature,omitempty"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
}

type inspectReply struct {
	Status   string         `json:"status"`
	Found    bool           `json:"found"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

type isCompleteReply struct {
	Status string  `json:"status"`
	Indent *string `json:"indent,omitempty"`
}

type historyReply struct {
	Status  string   `json:"status"`
	History [][3]any `json:"history"`
}

type connectReply struct {
	Shell   int `json:"shell_port"`
	IOPub   int `json:"iopub_port"`
	Stdin   int `json:"stdin_port"`
	Control int `json:"control_port"`
	HB      int `json:"hb_port"`
}

type commInfoReply struct {
	Status string         `json:"status"`
	Comms  map[string]any `json:"comms"`
}

type commClose struct {
	ID   string         `json:"comm_id"`
	Data map[string]any `json:"data"`
}

type shutdownReply struct {
	Status  string `json:"status"`
	Restart bool   `json:"restart"`
}

type inputRequest struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

// What goes out on iopub.

type statusContent struct {
	State string `json:"execution_state"`
}

type welcomeContent struct {
	Subscription string `json:"subscription"`
}

type streamContent struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type transient struct {
	DisplayID string `json:"display_id,omitempty"`
}

type displayContent struct {
	Data      map[string]any `json:"data"`
	Metadata  map[string]any `json:"metadata"`
	Transient transient      `json:"transient"`
}

type resultContent struct {
	Count    int            `json:"execution_count"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

type clearContent struct {
	Wait bool `json:"wait"`
}

// Payloads of an execute_reply.

type pagePayload struct {
	Source string         `json:"source"`
	Data   map[string]any `json:"data"`
	Start  int            `json:"start"`
}

type nextInputPayload struct {
	Source  string `json:"source"`
	Text    string `json:"text"`
	Replace bool   `json:"replace"`
}

// nonNil keeps null out of the JSON: frontends expect an object.
func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// showable is b, or what can be shown in its place if it has no JSON form (a NaN, a channel).
func showable(b Bundle) Bundle {
	b = Bundle{nonNil(b.Data), nonNil(b.Metadata)}
	_, err := json.Marshal(b)
	if err == nil {
		return b
	}
	b.Metadata = map[string]any{}
	text, _ := b.Data["text/plain"].(string)
	if text == "" {
		text = fmt.Sprintf("This output can't be shown: it has no JSON form (%v).", err)
	}
	b.Data = map[string]any{"text/plain": text}
	return b
}

// mustJSON encodes a body. What a Handler passes in has gone through showable, and the rest is strings, numbers and raw JSON.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("jupyter: a %T can't be encoded: %v", v, err))
	}
	return b
}
