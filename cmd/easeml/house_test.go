package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestOneWayOut: only a program's main ends the process; everywhere else an error goes back to whoever can say it.
func TestOneWayOut(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=Name,Dir,GoFiles,IgnoredGoFiles", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`\b(os\.Exit|log\.Fatal\w*|log\.Panic\w*)\(`)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Name, Dir               string
			GoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(p.GoFiles, p.IgnoredGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if found := ends.Find(text); found != nil && !(p.Name == "main" && name == "main.go") {
				t.Errorf("%s ends the process with %s", filepath.Join(p.Dir, name), found)
			}
		}
	}
}

// TestBugsAreHeld: every test that docs/kernel-bugs.md and docs/data-bugs.md name is there.
func TestBugsAreHeld(t *testing.T) {
	there := map[string]bool{"test_error": true, "test_execute_result": true} // of Jupyter's own suite
	define := regexp.MustCompile(`(?m)^\s*(?:func|def) ((?:Test|Fuzz|test_)\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != ".." || e.Type()&os.ModeSymlink != 0 {
			if err == nil && e.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		if name := e.Name(); strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range define.FindAllSubmatch(text, -1) {
				there[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"kernel-bugs.md": 80, "data-bugs.md": 60} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile("`((?:Test|Fuzz|test_)\\w+)`").FindAllSubmatch(page, -1)
		if len(names) < least {
			t.Errorf("%s names only %d tests", name, len(names))
		}
		for _, m := range names {
			if !there[string(m[1])] {
				t.Errorf("%s: there is no %s", name, m[1])
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
