package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/easeml/easeml/"

// arrows says which of our rooms each room may import; a room that isn't
// listed may not exist. "*" is every room, "server/*" every room below server.
var arrows = map[string][]string{
	"schema":                     {},
	"api":                        {},
	"api/connect":                {"api"},
	"allocator":                  {},
	"allocator/replay":           {"allocator"},
	"allocator/replay/bench":     {"allocator", "allocator/replay"},
	"gpu":                        {},
	"gpu/trial":                  {},
	"gpu/probe":                  {"gpu"},
	"gpu/engine":                 {"gpu", "gpu/trial"},
	"kernel/jupyter":             {},
	"kernel/jupyter/jupytertest": {"kernel/jupyter"},
	"kernel/lang":                {"schema"},
	"kernel/show":                {"api"},
	"kernel/cells":               {"api", "schema", "kernel/lang", "kernel/show", "kernel/jupyter"},
	"server/store":               {},
	"server/blob":                {},
	"server/account":             {"server/store"},
	"server/history":             {"server/store", "allocator"},
	"server/feed":                {"server/store", "server/blob", "gpu/trial", "gpu/engine", "schema"},
	"server/answer":              {"server/store", "server/blob", "gpu/trial", "gpu/engine", "schema"},
	"server/search":              {"allocator", "gpu", "gpu/trial", "gpu/engine", "schema", "server/store", "server/blob", "server/history", "server/feed"},
	"server/http":                {"api", "schema", "server/*"},
	"server":                     {"allocator", "gpu", "gpu/trial", "gpu/probe", "gpu/engine", "server/*"},
	"install":                    {},
	"cmd/easeml":                 {"*"},
}

func TestArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		room := strings.TrimPrefix(p.ImportPath, module)
		may, listed := arrows[room]
		if !listed {
			t.Errorf("room %s is not in the house; put it into DESIGN's table and this test, or its lines into a room that is", room)
			continue
		}
		for _, imported := range p.Imports {
			if to, ours := strings.CutPrefix(imported, module); ours && !allowed(may, to) {
				t.Errorf("%s may not import %s", room, to)
			}
		}
	}
}

func allowed(may []string, to string) bool {
	for _, m := range may {
		below, wild := strings.CutSuffix(m, "*")
		if m == to || m == "*" || wild && strings.HasPrefix(to, below) {
			return true
		}
	}
	return false
}
