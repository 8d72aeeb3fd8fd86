package jupyter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/easeml/easeml/kernel/jupyter/jupytertest"
)

func remember(t *testing.T, h *history, inputs ...string) {
	t.Helper()
	for i, in := range inputs {
		if err := h.add(i+1, in, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "history.jsonl")
	for _, inputs := range [][]string{{"a1", "a2"}, {}, {"show x", "show y\nfeed z", "show x"}} {
		h, err := openHistory(path)
		if err != nil {
			t.Fatal(err)
		}
		remember(t, h, inputs...)
	}
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	remember(t, h, "now", "show [a]")
	for _, x := range []struct{ query, want string }{
		{`{"hist_access_type":"tail","n":3}`, `[[3,3,"show x"],[4,1,"now"],[4,2,"show [a]"]]`},
		{`{"hist_access_type":"tail","n":1,"output":true}`, `[[4,2,["show [a]",null]]]`},
		{`{"hist_access_type":"tail","n":0}`, `[]`},
		{`{"hist_access_type":"tail"}`, `[[1,1,"a1"],[1,2,"a2"],[3,1,"show x"],[3,2,"show y\nfeed z"],[3,3,"show x"],[4,1,"now"],[4,2,"show [a]"]]`},
		{`{"hist_access_type":"range","session":0,"start":1,"stop":2}`, `[[4,1,"now"]]`},
		{`{"hist_access_type":"range","session":-1,"start":2}`, `[[3,2,"show y\nfeed z"],[3,3,"show x"]]`},
		{`{"hist_access_type":"range","session":1,"start":0,"stop":9}`, `[[1,1,"a1"],[1,2,"a2"]]`},
		{`{"hist_access_type":"range","session":9}`, `[]`},
		{`{"hist_access_type":"search","pattern":"show*"}`, `[[3,1,"show x"],[3,2,"show y\nfeed z"],[3,3,"show x"],[4,2,"show [a]"]]`},
		{`{"hist_access_type":"search","pattern":"show ?","unique":true}`, `[[3,3,"show x"]]`},
		{`{"hist_access_type":"search","pattern":"show*","n":2}`, `[[3,3,"show x"],[4,2,"show [a]"]]`},
		{`{"hist_access_type":"search","pattern":"show [[]a]"}`, `[[4,2,"show [a]"]]`},
		{`{"hist_access_type":"search","pattern":"[!a-m]o?"}`, `[[4,1,"now"]]`},
		{`{"hist_access_type":"search","pattern":"show [a"}`, `[]`},
		{`{"hist_access_type":"search","pattern":"*[z-a]*"}`, `[]`},
		{`{"hist_access_type":"search","pattern":"","n":1}`, `[[4,2,"show [a]"]]`},
	} {
		var q historyRequest
		if err := json.Unmarshal([]byte(x.query), &q); err != nil {
			t.Fatal(err)
		}
		if got := string(mustJSON(h.find(q))); got != x.want {
			t.Errorf("%s\n got %s\nwant %s", x.query, got, x.want)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// A broken line costs itself, an unusable file costs the memory over restarts, and neither costs the kernel.
func TestHistoryFileTrouble(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.jsonl")
	if err := os.WriteFile(path, []byte("{\"session\":1,\"line\":1,\"in\":\"a\"}\nnot json\n{\"session\":2,\"line\":1,\"in\":\"b"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := openHistory(path)
	if err != nil || len(h.entries) != 1 || h.session != 2 {
		t.Errorf("%v %v %v", h.entries, h.session, err)
	}
	remember(t, h, "c")
	if again, err := openHistory(path); err != nil || len(again.entries) != 2 || again.entries[1].In != "c" {
		t.Errorf("after a line that was cut off: %v, %v", again.entries, err)
	}

	c := start(t, newTiny(), func(c *Config) { c.HistoryFile = dir }) // a folder is no file
	c.Run("value 1")
	if m := c.Request("history_request", map[string]any{"hist_access_type": "tail", "n": 1}); m.Text("history") != `[[1,1,"value 1"]]` {
		t.Errorf("%v", m)
	}
}

func TestHistoryOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	for range 2 {
		c := start(t, newTiny(), func(c *Config) { c.HistoryFile = path })
		c.Run("value 1")
		c.Send(jupytertest.Control, "shutdown_request", map[string]bool{"restart": true})
		c.Ended()
	}
	c := start(t, newTiny(), func(c *Config) { c.HistoryFile = path })
	m := c.Request("history_request", map[string]any{"hist_access_type": "tail", "n": 5, "output": true})
	if got, want := m.Text("history"), `[[1,1,["value 1","1"]],[2,1,["value 1","1"]]]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat("{\"session\":1,\"line\":1,\"in\":\"a\"}\n", 2*kept+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := openHistory(path)
	if err != nil || len(h.entries) != kept || h.session != 2 {
		t.Errorf("%d entries, session %d, %v", len(h.entries), h.session, err)
	}
	b, err := os.ReadFile(path)
	if n := strings.Count(string(b), "\n"); n != kept+1 || err != nil {
		t.Errorf("%d lines in the file, %v", n, err)
	}
	h.path = ""
	for range kept + 5 {
		remember(t, h, "b")
	}
	if len(h.entries) > 2*kept {
		t.Errorf("%d entries in memory", len(h.entries))
	}
}
