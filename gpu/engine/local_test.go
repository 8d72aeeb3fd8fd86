package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/easeml/easeml/gpu/trial"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("ENGINE_TEST_SERVER"); root != "" {
		serveUntilKilled(root)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds a wait for something that must come; it is no measure of anything.
const patience = 3 * time.Minute

// bench is an engine under test with the fake trainer.
type bench struct {
	*Local
	t     *testing.T
	root  string
	clock *jumpClock
	past  []Notice
}

func fakePython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on the path")
	}
	return python
}

func fakeTrainer(env map[string]string) map[string]string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	all := map[string]string{"PYTHONPATH": dir}
	for k, v := range env {
		all[k] = v
	}
	return all
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, root: o.Root, clock: newJumpClock()}
	if b.root == "" {
		b.root = t.TempDir()
	}
	if o.Python == "" {
		o.Python = fakePython(t)
		o.Env = fakeTrainer(o.Env)
	}
	o.Root, o.Log, o.Clock = b.root, filepath.Join(b.root, "warm.log"), b.clock
	l, err := NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Local = l
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := marked(l.mark); len(left) > 0 {
			t.Errorf("processes %v are left after Close", left)
		}
	})
	return b
}

func (b *bench) untilWarm() {
	b.t.Helper()
	until(b.t, "the warm parent is ready", func() bool { return b.Warm().Ready })
}

// until looks again and again whether something that nobody announces has come about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

func (b *bench) folder(do string) string {
	b.t.Helper()
	settings, _ := json.Marshal(map[string]string{"do": do})
	folder := filepath.Join(b.root, "trials", strconv.Itoa(len(b.past))+do+strconv.Itoa(int(time.Now().UnixNano())))
	if err := trial.Create(folder, trial.Trial{Trial: "t", Attempt: 1, Candidate: trial.Choice{ID: do, Settings: settings}}); err != nil {
		b.t.Fatal(err)
	}
	return folder
}

func (b *bench) start(do string, change ...func(*Job)) string {
	b.t.Helper()
	job := Job{Folder: b.folder(do), Command: Run, Env: map[string]string{"CUDA_VISIBLE_DEVICES": ""}, Threads: 1}
	for _, f := range change {
		f(&job)
	}
	if err := b.Start(context.Background(), job); err != nil {
		b.t.Fatal(err)
	}
	return job.Folder
}

// next waits for a notice of some kind about a folder.
func (b *bench) next(folder string, kind NoticeKind) Notice {
	b.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case n, open := <-b.Notices():
			if !open {
				b.t.Fatalf("the stream ended before %s of %s", kind, folder)
			}
			b.past = append(b.past, n)
			if n.Folder == folder && n.Kind == kind {
				return n
			}
		case <-limit:
			b.t.Fatalf("no %s of %s came; seen: %+v", kind, folder, b.past)
		}
	}
}

func gone(t *testing.T, pid int) {
	t.Helper()
	until(t, "process "+strconv.Itoa(pid)+" is gone", func() bool { return !alive(pid) })
}

func TestRunsWarmAndCold(t *testing.T) {
	for _, cold := range []bool{false, true} {
		t.Run(map[bool]string{false: "warm", true: "cold"}[cold], func(t *testing.T) {
			b := newBench(t, Options{Cold: cold})
			if !cold {
				b.untilWarm()
			}
			folder := b.start("finish", func(j *Job) { j.Threads = 3; j.Env["CUDA_VISIBLE_DEVICES"] = "GPU-7" })
			started := b.next(folder, Started)
			if started.PID == 0 || started.Warm == cold {
				t.Errorf("started: %+v", started)
			}
			if b.Owns(os.Getpid()) || b.Owns(1) {
				t.Error("the engine takes foreign processes for its own")
			}
			ended := b.next(folder, Ended)
			if ended.Code != 0 || ended.Signal != "" || ended.Cause != "" {
				t.Errorf("ended: %+v", ended)
			}
			r, there, err := trial.ReadResult(folder)
			if err != nil || !there || r.Outcome != trial.OK || r.Quality != 0.9 {
				t.Errorf("result: %+v %v %v", r, there, err)
			}
			events, _, err := trial.ReadEvents(folder, 0)
			if err != nil || len(events) != 2 || events[0].DeviceName != "GPU-7" {
				t.Errorf("events: %+v %v", events, err)
			}
			if log, err := trial.LogTail(folder, 1000); err != nil || !strings.Contains(log, "a line for the log") {
				t.Errorf("log: %q %v", log, err)
			}
			if err := b.Signal(folder, "TERM"); !errors.Is(err, ErrNotRunning) {
				t.Errorf("signal after the end: %v", err)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	b := newBench(t, Options{Cold: true})
	folder := b.start("wait")
	b.next(folder, Event)
	for name, c := range map[string]struct {
		job  Job
		want error
	}{
		"running":  {Job{Folder: folder, Command: Run}, ErrRunning},
		"relative": {Job{Folder: "here", Command: Run}, nil},
		"command":  {Job{Folder: folder, Command: "dance"}, nil},
		"missing":  {Job{Folder: filepath.Join(b.root, "nowhere"), Command: Run}, os.ErrNotExist},
	} {
		err := b.Start(context.Background(), c.job)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background(), Job{Folder: folder, Command: Run}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestStopByControl(t *testing.T) {
	b := newBench(t, Options{})
	b.untilWarm()
	folder := b.start("wait")
	b.next(folder, Event)
	if err := trial.SetControl(folder, trial.Stop); err != nil {
		t.Fatal(err)
	}
	if err := b.Signal(folder, "USR1"); err != nil {
		t.Fatal(err)
	}
	if n := b.next(folder, Ended); n.Code != 0 || n.Cause != "" {
		t.Errorf("ended: %+v", n)
	}
	if r, _, err := trial.ReadResult(folder); err != nil || r.Outcome != trial.Stopped {
		t.Errorf("result: %+v %v", r, err)
	}
}

func TestEndsThatAreNoResult(t *testing.T) {
	b := newBench(t, Options{})
	b.untilWarm()
	for do, want := range map[string]struct{ kind, say, signal string }{
		"crash": {trial.KindBug, "KeyError: 'lr'", ""},
		"abort": {trial.KindBug, "ABRT", "ABRT"},
	} {
		folder := b.start(do)
		n := b.next(folder, Ended)
		events, _, err := trial.ReadEvents(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		log, err := trial.LogTail(folder, 4096)
		if err != nil {
			t.Fatal(err)
		}
		kind, message := trial.Classify(n.Ended(), events, log)
		if kind != want.kind || !strings.Contains(message, want.say) || n.Signal != want.signal {
			t.Errorf("%s: %+v is classified as %s, %q", do, n, kind, message)
		}
	}
}

func TestKillTakesTheWholeGroup(t *testing.T) {
	for _, cold := range []bool{false, true} {
		b := newBench(t, Options{Cold: cold})
		if !cold {
			b.untilWarm()
		}
		folder := b.start("spawn")
		var helper int
		until(t, "the helper runs", func() bool {
			events, _, _ := trial.ReadEvents(folder, 0)
			if len(events) == 2 {
				helper, _ = strconv.Atoi(events[1].Message)
			}
			return helper != 0
		})
		if err := b.Signal(folder, "KILL"); err != nil {
			t.Fatal(err)
		}
		if n := b.next(folder, Ended); n.Signal != "KILL" || n.Code != -1 || n.Cause != "" {
			t.Errorf("cold %v: %+v", cold, n)
		}
		if alive(helper) {
			t.Errorf("cold %v: the helper outlives its group's end", cold)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for _, cold := range []bool{false, true} {
		b := newBench(t, Options{Cold: cold})
		if !cold {
			b.untilWarm()
		}
		folder := b.start("grow", func(j *Job) { j.MemoryBytes = 60 << 20 })
		n := b.next(folder, Ended)
		if n.Cause != trial.CauseMemory || n.PeakBytes <= 60<<20 || !strings.Contains(n.Message, "60 MB") {
			t.Errorf("cold %v: %+v", cold, n)
		}
		if kind, _ := trial.Classify(n.Ended(), nil, ""); kind != trial.KindMemory {
			t.Errorf("classified as %s", kind)
		}
	}
}

func TestNoFirstEvent(t *testing.T) {
	t.Run("a warm one is tried cold", func(t *testing.T) {
		b := newBench(t, Options{})
		b.untilWarm()
		folder := b.start("silent-warm")
		b.next(folder, Started)
		b.clock.Jump(firstEventWarm)
		if n := b.next(folder, Started); n.Warm {
			t.Errorf("tried warm again: %+v", n)
		}
		if n := b.next(folder, Ended); n.Code != 0 || n.Cause != "" || n.Warm {
			t.Errorf("ended: %+v", n)
		}
	})
	t.Run("a cold one ends", func(t *testing.T) {
		b := newBench(t, Options{Cold: true})
		folder := b.start("silent")
		pid := b.next(folder, Started).PID
		b.clock.Jump(firstEventWarm + time.Second)
		if err := b.Signal(folder, "USR1"); err != nil { // held back: it would kill one that does not listen yet
			t.Fatal(err)
		}
		if !alive(pid) {
			t.Error("ended before its time")
		}
		b.clock.Jump(firstEventCold)
		if n := b.next(folder, Ended); n.Cause != trial.CauseNoFirstEvent {
			t.Errorf("ended: %+v", n)
		}
	})
	t.Run("a deaf warm parent", func(t *testing.T) {
		b := newBench(t, Options{Env: map[string]string{"FAKE_PARENT": "deaf"}})
		b.untilWarm()
		folder := b.start("finish")
		until(t, "it is killed", func() bool {
			b.clock.Jump(time.Second)
			return !b.Warm().Ready
		})
		if n := b.next(folder, Ended); n.Code != 0 || n.Warm || n.Cause != "" {
			t.Errorf("ended: %+v", n)
		}
		if r := b.Warm().Reason; !strings.Contains(r, "did not say") {
			t.Errorf("reason: %q", r)
		}
	})
}

func TestWarmParentKilled(t *testing.T) {
	b := newBench(t, Options{})
	b.untilWarm()
	folder := b.start("wait")
	pid := b.next(folder, Started).PID
	parent := b.Warm().PID
	if !b.Owns(pid) || !b.Owns(parent) {
		t.Error("the engine does not know its own processes")
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n := b.next(folder, Ended)
	if n.Cause != trial.CauseLost || !strings.Contains(n.Message, "KILL") {
		t.Errorf("ended: %+v", n)
	}
	if alive(pid) {
		t.Error("the child outlives its folder's end")
	}
	cold := b.start("finish")
	if n := b.next(cold, Ended); n.Warm || n.Code != 0 {
		t.Errorf("without a parent: %+v", n)
	}
	b.clock.Jump(firstBackoff)
	b.untilWarm()
	if w := b.Warm(); w.PID == parent || w.Restarts != 1 {
		t.Errorf("the next parent: %+v", w)
	}
	if n := b.next(b.start("finish"), Ended); !n.Warm || n.Code != 0 {
		t.Errorf("with the next parent: %+v", n)
	}
}

func TestWarmParentThatCannotStart(t *testing.T) {
	b := newBench(t, Options{Env: map[string]string{"FAKE_PARENT": "broken"}})
	until(t, "the reason is known", func() bool { return b.Warm().Reason != "" })
	if r := b.Warm().Reason; !strings.Contains(r, "no module named anything") {
		t.Errorf("reason: %q", r)
	}
	if n := b.next(b.start("finish"), Ended); n.Warm || n.Code != 0 {
		t.Errorf("cold instead: %+v", n)
	}
}

func TestNoPython(t *testing.T) {
	b := newBench(t, Options{Python: filepath.Join(t.TempDir(), "python")})
	until(t, "the reason is known", func() bool { return b.Warm().Reason != "" })
	err := b.Start(context.Background(), Job{Folder: b.folder("finish"), Command: Run})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start without a Python: %v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	b := newBench(t, Options{})
	early := b.start("spawn") // cold: the parent is not ready yet
	b.next(early, Started)
	b.untilWarm()
	warm := b.start("spawn")
	b.next(warm, Event)
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := marked(b.mark); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	ended := map[string]Notice{}
	for n := range b.Notices() {
		if n.Kind == Ended {
			if _, twice := ended[n.Folder]; twice {
				t.Errorf("%s ended twice", n.Folder)
			}
			ended[n.Folder] = n
		}
	}
	for _, folder := range []string{early, warm} {
		if ended[folder].Cause != trial.CauseLost {
			t.Errorf("ended: %+v", ended[folder])
		}
	}
}

// serveUntilKilled is a server's life in one helper process: an engine with a warm and a cold folder.
func serveUntilKilled(root string) {
	l, err := NewLocal(Options{Python: os.Getenv("ENGINE_TEST_PYTHON"), Root: root, Log: filepath.Join(root, "warm.log"),
		Env: map[string]string{"PYTHONPATH": os.Getenv("ENGINE_TEST_PATH")}})
	if err != nil {
		panic(err)
	}
	start := func(name string) {
		if err := l.Start(context.Background(), Job{Folder: filepath.Join(root, name), Command: Run}); err != nil {
			panic(err)
		}
	}
	start("cold")
	for !l.Warm().Ready {
		time.Sleep(5 * time.Millisecond)
	}
	start("warm")
	for n := range l.Notices() {
		_ = n
	}
}

func TestKilledServerLeavesNobody(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"cold", "warm"} {
		err := trial.Create(filepath.Join(root, name), trial.Trial{Candidate: trial.Choice{Settings: json.RawMessage(`{"do":"spawn"}`)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "ENGINE_TEST_SERVER="+root, "ENGINE_TEST_PYTHON="+fakePython(t),
		"ENGINE_TEST_PATH="+fakeTrainer(nil)["PYTHONPATH"])
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	pids := map[string][]int{}
	until(t, "both folders run", func() bool {
		for _, name := range []string{"cold", "warm"} {
			if events, _, _ := trial.ReadEvents(filepath.Join(root, name), 0); len(events) == 2 {
				helper, _ := strconv.Atoi(events[1].Message)
				pids[name] = []int{events[0].PID, helper}
			}
		}
		return len(pids) == 2
	})
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err == nil {
		t.Fatal("the server was not killed")
	}
	// The kernel ends the cold leader, the parent's end of input the warm group. The cold one's helper has neither:
	// that is what Sweep is for.
	gone(t, pids["warm"][0])
	gone(t, pids["warm"][1])
	gone(t, pids["cold"][0])
	bystander := exec.Command("sleep", "3600")
	bystander.Env = append(os.Environ(), markName+"=another")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	if _, err := Sweep(root); err != nil {
		t.Fatal(err)
	}
	gone(t, pids["cold"][1])
	if mark, err := readMark(root); err != nil || len(marked(mark)) > 0 {
		t.Errorf("%v are left, %v", marked(mark), err)
	}
	if !alive(bystander.Process.Pid) {
		t.Error("a foreign process was killed")
	}
	if killed, err := Sweep(t.TempDir()); err != nil || killed != nil {
		t.Errorf("sweep of a new root: %v %v", killed, err)
	}
}
