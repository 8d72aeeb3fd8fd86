package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/easeml/easeml/api"
)

// binary is easeml as it is built, for the tests that go through its front door.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "easeml-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(folder, "easeml")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// process is a running server.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string
	state string
}

func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the Python environment is missing: make setup")
	}
	return path
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

func start(t *testing.T, state string) *process {
	t.Helper()
	p := &process{t: t, state: state}
	p.cmd = exec.Command(binary, "server", "--state", state, "--listen", "127.0.0.1:0", "--devices", "cpu:2", "--python", python(t))
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p.cmd.Stderr = &log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.cmd.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if p.url = address.FindString(lines.Text()); p.url != "" {
			go func() {
				for lines.Scan() { // so that the server is never held up by its own words
				}
			}()
			return p
		}
	}
	t.Fatalf("the server did not start:\n%s", log.String())
	return nil
}

func (p *process) client(user string) *api.Client {
	p.t.Helper()
	out, err := exec.Command(binary, "token", user, "--state", p.state).Output()
	if err != nil {
		p.t.Fatalf("token: %v", err)
	}
	c := api.New(p.url, strings.TrimSpace(string(out)))
	p.t.Cleanup(c.Close)
	return c
}

const digits = `{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}`

// feedDigits declares and feeds the digits, and waits until they are read.
func feedDigits(t *testing.T, c *api.Client, user string) api.Feed {
	t.Helper()
	ctx := t.Context()
	if _, err := c.Declare(ctx, user, "digits", api.Declare{Program: digits}); err != nil {
		t.Fatal(err)
	}
	up, err := c.UploadFile(ctx, "digits.npz", digitsFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Feed(ctx, user, "digits", api.NewFeed{Uploads: []string{up.ID}})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, c, user, "read", func(api.View) bool {
		if f, err = c.GetFeed(ctx, user, "digits", f.Number); err != nil {
			t.Fatal(err)
		}
		return f.State != "running"
	})
	if f.State != "ended" || f.Accepted+f.Known != 1437 {
		t.Fatalf("fed: %+v", f)
	}
	return f
}

func digitsFile(t *testing.T) string {
	t.Helper()
	path := "../../notebooks/digits.npz"
	if _, err := os.Stat(path); err != nil {
		if out, err := exec.Command(python(t), "../../notebooks/make_data.py").CombinedOutput(); err != nil {
			t.Fatalf("%s%v", out, err)
		}
	}
	return path
}

// follow waits, event by event, until the view of digits holds.
func follow(t *testing.T, c *api.Client, user, what string, holds func(api.View) bool) api.View {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	view, seq, err := c.Task(ctx, user, "digits")
	if err != nil {
		t.Fatal(err)
	}
	stream := c.Open(ctx, &seq, api.TaskTopic(user, "digits"))
	defer stream.Close()
	for !holds(view) {
		if _, open := <-stream.Frames(); !open {
			t.Fatalf("digits is not %s: %+v (%v)", what, view.Task, stream.Err())
		}
		if view, _, err = c.Task(ctx, user, "digits"); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	return view
}

// descendants are the processes below a server, whoever their parent is by now.
func descendants(t *testing.T, state string) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range entries {
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		words, _ := os.ReadFile(path)
		if bytes.Contains(words, []byte(state)) || bytes.Contains(environ, []byte(state)) {
			found = append(found, strings.ReplaceAll(string(words), "\x00", " "))
		}
	}
	return found
}

func TestKillRestartAndStrangers(t *testing.T) {
	state := t.TempDir()
	server := start(t, state)
	ada, ben := server.client("ada"), server.client("ben")
	feedDigits(t, ada, "ada")
	feedPoints(t, ben, "ben")
	served := func(v api.View) bool { return v.Rho != nil }
	his := follow(t, ben, "ben", "served", served)
	hers := follow(t, ada, "ada", "three trials on", func(v api.View) bool { return v.Tried >= 3 && v.Running > 0 && served(v) })
	before, err := ada.Trials(t.Context(), "ada", "digits")
	if err != nil {
		t.Fatal(err)
	}

	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.cmd.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for left := descendants(t, state); len(left) > 0; left = descendants(t, state) {
		if time.Now().After(deadline) {
			t.Fatalf("10 s after the kill there still run:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(50 * time.Millisecond) // processes have no event to wait for
	}

	server = start(t, state)
	ada, ben = server.client("ada"), server.client("ben")
	view, _, err := ada.Task(t.Context(), "ada", "digits")
	if err != nil {
		t.Fatal(err)
	}
	// What they had of the devices and were owed is what it was, but for what was in the air.
	for name, pair := range map[string][2]api.View{"ada": {hers, view}, "ben": {his, follow(t, ben, "ben", "served", served)}} {
		if before, after := *pair[0].Rho, pair[1].Rho; after == nil || math.Abs(math.Log(*after/before)) > 0.7 {
			t.Errorf("%s's ρ was %.3f before the kill and is %v after", name, before, after)
		}
	}
	if view.Version != 1 || view.Examples != 1437 || view.Tried < 3 {
		t.Fatalf("after the restart: %+v", view.Task)
	}
	after, err := ada.Trials(t.Context(), "ada", "digits")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range before {
		for _, a := range after {
			if a.Number == b.Number && b.State == "ok" && (a.State != "ok" || a.Search.Value != b.Search.Value || a.Seconds != b.Seconds) {
				t.Errorf("trial %d was %+v, is %+v", b.Number, b, a)
			}
		}
	}
	view = follow(t, ada, "ada", "settled", func(v api.View) bool { return v.State == api.TaskSettled })
	families := map[string]bool{}
	tried := map[string]int{}
	for _, r := range view.Rows {
		if r.State == "ok" {
			families[r.Family] = true
			tried[r.Candidate]++
			if r.Seconds == nil || *r.Seconds <= 0 {
				t.Errorf("%s took no time", r.Candidate)
			}
		}
	}
	if len(families) < 6 || view.Best == nil || view.Best.Test == nil || view.Best.Test.Value < 0.9 {
		t.Errorf("families %v, best %+v", families, view.Best)
	}
	lastTried := view.Rows[0]
	for _, r := range view.Rows {
		if r.State == "ok" {
			lastTried = r
		}
	}
	if !lastTried.Baseline {
		t.Errorf("the last of the tried is %s, not the dummy", lastTried.Candidate)
	}
	checkInfer(t, ada, view)

	// A search that has ended says after a kill what it said before: what is left, what it had of the devices.
	follow(t, ben, "ben", "settled", func(v api.View) bool { return v.State == api.TaskSettled })
	if view, _, err = ada.Task(t.Context(), "ada", "digits"); err != nil {
		t.Fatal(err)
	}
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.cmd.Wait()
	server = start(t, state)
	ada = server.client("ada")
	again, _, err := ada.Task(t.Context(), "ada", "digits")
	if err != nil {
		t.Fatal(err)
	}
	if b, a := about(view), about(again); a != b {
		t.Errorf("a settled task said\n%s\nand says after a kill\n%s", b, a)
	}

	// The same file again: the same feed, no second version, no second search.
	if again := feedDigits(t, ada, "ada"); again.Number != 1 || !again.Earlier && again.Version != 1 {
		t.Errorf("fed again: %+v", again)
	}
	if now, _, err := ada.Task(t.Context(), "ada", "digits"); err != nil || now.Version != 1 || now.Tried != view.Tried {
		t.Errorf("after feeding again: %+v (%v)", now.Task, err)
	}

	// A second user sees nothing of it, by name or by any number.
	eve := server.client("eve")
	for name, call := range map[string]func() error{
		"task":   func() error { _, _, err := eve.Task(t.Context(), "ada", "digits"); return err },
		"feed":   func() error { _, err := eve.GetFeed(t.Context(), "ada", "digits", 1); return err },
		"trials": func() error { _, err := eve.Trials(t.Context(), "ada", "digits"); return err },
		"trial":  func() error { _, err := eve.Trial(t.Context(), "ada", "digits", 1); return err },
		"best":   func() error { _, err := eve.Best(t.Context(), "ada", "digits"); return err },
		"drop":   func() error { return eve.Drop(t.Context(), "ada", "digits") },
	} {
		var problem *api.Problem
		if err := call(); !errors.As(err, &problem) || problem.Status != http.StatusNotFound {
			t.Errorf("a stranger's %s: %v", name, err)
		}
	}
	if list, err := eve.Tasks(t.Context(), "all"); err == nil && len(list) > 0 {
		t.Errorf("a stranger lists %+v", list)
	}
}

// about is what a view says of a search beside its trials, to nine digits: sums are made in another order after a restart.
func about(v api.View) string {
	o := v.Outlook
	if v.Share == nil || v.Rho == nil || o == nil {
		return fmt.Sprintf("share %v, rho %v, outlook %v", v.Share, v.Rho, o)
	}
	return fmt.Sprintf("%s, %s, %.9g s charged %.9g; share %.9g, rho %.9g; final %t, gain %.9g, chance %.9g, %d untried, in %.9g to %.9g s",
		v.State, v.Reason, v.Seconds, v.Charge, *v.Share, *v.Rho, o.LikelyFinal, o.ExpectedGain, o.Chance, o.Untried, o.SecondsLow, o.SecondsHigh)
}

// feedPoints declares a small table under the same name and feeds it.
func feedPoints(t *testing.T, c *api.Client, user string) {
	t.Helper()
	ctx := t.Context()
	program := `{input: {[x :: Tensor[1], y :: Tensor[1]], []}, output: {[side :: Class["in", "out"]], []}}`
	if _, err := c.Declare(ctx, user, "digits", api.Declare{Program: program}); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString("x,y,side\n")
	for i := range 300 {
		x, y := math.Sin(float64(7*i)), math.Cos(float64(3*i))
		fmt.Fprintf(&rows, "%.4f,%.4f,%s\n", x, y, map[bool]string{true: "in", false: "out"}[math.Hypot(x, y) < 0.9])
	}
	path := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	up, err := c.UploadFile(ctx, "points.csv", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Feed(ctx, user, "digits", api.NewFeed{Uploads: []string{up.ID}}); err != nil {
		t.Fatal(err)
	}
}

// checkInfer holds the answers against the truth: on the test part they give
// exactly the figure that best shows, and on examples that were never fed one
// that can't be told from it (99.9 % two-sample interval).
func checkInfer(t *testing.T, c *api.Client, view api.View) {
	t.Helper()
	folder := t.TempDir()
	script := `
import json, sys, numpy as np
fed, new = np.load(sys.argv[1]), np.load(sys.argv[2])
labels = np.load(sys.argv[3])["digit"]
rows = json.load(open(sys.argv[4]))
np.savez(sys.argv[5] + "/test.npz", image=fed["image"][rows])
np.savez(sys.argv[5] + "/new.npz", image=new["image"])
json.dump({"test": fed["digit"][rows].tolist(), "new": labels.tolist()}, open(sys.argv[5] + "/truth.json", "w"))
`
	examples, err := c.Examples(t.Context(), "ada", "digits", api.ExamplesQuery{Part: "test", Limit: 5000})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, e := range examples {
		rows = append(rows, fmt.Sprint(e.Row))
	}
	list := filepath.Join(folder, "rows.json")
	if err := os.WriteFile(list, []byte("["+strings.Join(rows, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python(t), "-c", script, digitsFile(t), "../../notebooks/digits-new.npz", "../../notebooks/digits-new-labels.npz", list, folder).CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	var truth map[string][]int
	readJSON(t, filepath.Join(folder, "truth.json"), &truth)
	right := map[string]int{}
	for part, labels := range truth {
		up, err := c.UploadFile(t.Context(), part+".npz", filepath.Join(folder, part+".npz"), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		done, err := c.Infer(t.Context(), "ada", "digits", api.NewInfer{Uploads: []string{up.ID}}, func(a api.Answer) error {
			if fmt.Sprint(a.Answer["digit"]) == fmt.Sprint(labels[i]) {
				right[part]++
			}
			i++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if done.Answers != len(labels) || done.Best.Trial != view.Best.Trial {
			t.Errorf("%s: %d answers of %d, by trial %d", part, done.Answers, len(labels), done.Best.Trial)
		}
	}
	best := view.Best.Test
	if best.N != len(truth["test"]) || best.Right == nil || *best.Right != right["test"] {
		t.Errorf("infer on the test part has %d of %d right, best says %v of %d", right["test"], len(truth["test"]), best.Right, best.N)
	}
	a, b := float64(right["test"])/float64(len(truth["test"])), float64(right["new"])/float64(len(truth["new"]))
	pooled := float64(right["test"]+right["new"]) / float64(len(truth["test"])+len(truth["new"]))
	sd := math.Sqrt(pooled * (1 - pooled) * (1/float64(len(truth["test"])) + 1/float64(len(truth["new"]))))
	if math.Abs(a-b) > 3.2905*sd {
		t.Errorf("never fed: %.4f right, test part: %.4f", b, a)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
