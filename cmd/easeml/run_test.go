package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun goes the whole way that a notebook goes: statements of a file, a
// private server that the first of them starts, real trainings, a file of answers.
func TestRun(t *testing.T) {
	trainer := python(t)
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	var fed, asked strings.Builder
	fed.WriteString("id,width,height,kind\n")
	asked.WriteString("id,height,width\n")
	for i := range 160 {
		kind, shift := "long", 2.0
		if i%2 == 0 {
			kind, shift = "short", -2.0
		}
		w, h := random.NormFloat64()+shift, random.NormFloat64()
		fmt.Fprintf(&fed, "%d,%.3f,%.3f,%s\n", i, w, h, kind)
		if i < 10 {
			fmt.Fprintf(&asked, "%d,%.3f,%.3f\n", 1000+i, h, w)
		}
	}
	write("fed.csv", fed.String())
	write("new.csv", asked.String())
	write("site.json", "{}")
	environment := append(os.Environ(), "EASEML_SITE="+filepath.Join(folder, "site.json"), "EASEML_STATE="+filepath.Join(folder, "state"),
		"EASEML_PYTHON="+trainer, "EASEML_SERVER=", "EASEML_TOKEN=")
	run := func(code string, arguments ...string) (stdout, stderr string, status int) {
		t.Helper()
		write("cell.easeml", code)
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"run", "cell.easeml"}, arguments...)...)
		cmd.Dir, cmd.Env = folder, environment
		var out, err bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &err
		if e := cmd.Run(); e != nil {
			exit, ok := errors.AsType[*exec.ExitError](e)
			if !ok {
				t.Fatal(e)
			}
			status = exit.ExitCode()
		}
		return out.String(), err.String(), status
	}
	t.Cleanup(func() {
		stop := exec.Command(binary, "server", "stop")
		stop.Env = environment
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%s%v", out, err)
		}
	})
	contains := func(text string, wanted ...string) {
		t.Helper()
		for _, s := range wanted {
			if !strings.Contains(text, s) {
				t.Errorf("%q is not in\n%s", s, text)
			}
		}
	}

	const declared = `schema boxes { input: {[width :: Tensor[1], height :: Tensor[1]], []}, output: {[kind :: Class["short", "long"]], []} }
feed boxes "fed.csv"
`
	out, errs, status := run(declared + `watch boxes
wait boxes until quality >= 0.8 or final or 5m
best boxes; models boxes into "board.csv"
why boxes trial 2; why boxes
infer boxes "new.csv" into "answers.csv"
assert boxes.test >= 0.5
print boxes.examples, "examples"`)
	if status != 0 || errs != "" {
		t.Fatalf("exit status %d: %s\n%s", status, errs, out)
	}
	contains(out, "boxes · ", "160 examples taken, 0 rejected · version 1", " holds, after ", "examples that the search never saw",
		" went to ", "(trial 2): ", " candidate ", "Expected from: ", "Your turn, because: ", "10 answers in answers.csv", "160 examples\n")
	file, err := os.Open(filepath.Join(folder, "answers.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 11 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := strings.Join(rows[0], ","); got != "id,height,width,kind,sure,check" {
		t.Errorf("the file has the columns %s", got)
	}
	for i, r := range rows[1:] {
		if r[0] != fmt.Sprint(1000+i) || (r[3] != "short" && r[3] != "long") {
			t.Errorf("row %d is %v", i, r)
		}
	}

	// All of it again changes nothing.
	out, _, status = run(declared)
	if status != 0 {
		t.Errorf("again: exit status %d", status)
	}
	contains(out, "boxes · as before: 160 examples", "fed.csv: all 160 examples are here already. Nothing changed.")

	// The first failing statement ends it, with the place and what to do.
	out, errs, status = run("best boxes\nwatch box\ntasks")
	if status != 1 || strings.Contains(out, "device time") {
		t.Errorf("exit status %d\n%s", status, out)
	}
	contains(errs, "watch box", "      ^^^", "There is no task box. Did you mean boxes?")

	// For programs: one output a line.
	out, _, status = run("tasks\nboxes.examples\nboxes.nothing", "--json")
	if status != 1 {
		t.Errorf("exit status %d", status)
	}
	var types []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var o struct {
			Type string         `json:"type"`
			Data map[string]any `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		types = append(types, o.Type)
	}
	if got := strings.Join(types, " "); got != "error" {
		t.Errorf("a cell with a fault ran: %s", got)
	}
	out, _, _ = run("tasks\nboxes.examples", "--json")
	contains(out, `"type":"display"`, `"type":"result","data":{"text/plain":"160"}`)

	// A new version of the examples, with the model of before scored again.
	out, errs, status = run("refine boxes off 1, 3..6; refine boxes off 3\nrefine boxes; assert boxes.examples == 155")
	if status != 0 {
		t.Errorf("exit status %d: %s", status, errs)
	}
	contains(out, "5 examples off · version 2: 155 examples · ", "Nothing changed: it is off already.", "155 of 160 examples on", "fed.csv, data row ", "refine boxes on 1, 3..6")
	out, _, _ = run("refine boxes off all") // nobody answers
	contains(out, "The examples of boxes stay as they are.")
	out, _, status = run("drop boxes yes; help feed")
	if status != 0 {
		t.Errorf("exit status %d", status)
	}
	contains(out, "boxes is dropped: its 155 examples", "feed")
}
