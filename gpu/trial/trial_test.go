package trial

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{`0.5`: 0.5, `-1e300`: -1e300, `"inf"`: math.Inf(1), `"-inf"`: math.Inf(-1)} {
		var n Number
		if err := json.Unmarshal([]byte(text), &n); err != nil || float64(n) != want {
			t.Errorf("%s is read as %v, %v", text, n, err)
		}
		b, err := json.Marshal(n)
		var again Number
		if err == nil {
			err = json.Unmarshal(b, &again)
		}
		if err != nil || again != n {
			t.Errorf("%s comes back as %s, %v", text, b, err)
		}
	}
	var n Number
	if err := json.Unmarshal([]byte(`"nan"`), &n); err != nil || n == n || n.Finite() {
		t.Errorf("nan is read as %v, %v", n, err)
	}
	if err := json.Unmarshal([]byte(`"many"`), &n); err == nil {
		t.Error("a word is a number")
	}
	if b, err := json.Marshal(map[string]Number{"x": Number(math.NaN())}); err != nil || string(b) != `{"x":"nan"}` {
		t.Errorf("nan is written as %s, %v", b, err)
	}
}

func TestCreateAndControl(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "trials", "7", "1")
	seconds, resume := 600.0, "../1/checkpoint"
	want := Trial{Trial: "7", Attempt: 2, Program: json.RawMessage(`{"input":{}}`), Template: "table",
		Target:    &Target{Kind: "classes", Labels: []string{"0", "1"}},
		Candidate: Choice{ID: "svm.c10", Version: 1, Family: "svm", Settings: json.RawMessage(`{"C":10}`), Normalization: json.RawMessage(`0.4`)},
		Data:      Data{Version: "sha256:ab", Path: "/data/ab", Rows: 10, Parts: Parts{6, 2, 2}, Protocol: Protocol{Kind: "holdout"}},
		Metric:    "accuracy", Limits: Limits{Seconds: &seconds, Threads: 1}, Device: Device{Class: "cpu1"}, Resume: &resume, ReportSeconds: 0.5}
	if err := Create(folder, want); err != nil {
		t.Fatal(err)
	}
	want.Format = 1
	got, err := ReadTrial(folder)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, %v", got, err)
	}
	if err := Create(folder, want); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second attempt in the same folder: %v", err)
	}
	if err := SetControl(folder, "dance"); err == nil {
		t.Error("control took a word it does not have")
	}
	for _, word := range []string{Pause, Stop} {
		if err := SetControl(folder, word); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(folder, "control")); strings.TrimSpace(string(b)) != word {
			t.Errorf("control holds %q", b)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(folder, ".new-*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	ingest := filepath.Join(t.TempDir(), "feed")
	if err := CreateIngest(ingest, Ingest{Program: json.RawMessage(`{}`), FirstNumber: 1}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(ingest, IngestFile))
	if err != nil || !strings.Contains(string(b), `"sources":[],"output":[],"using":{},"options":{},"known":null,"first_number":1,"folds":null,"test":null`) {
		t.Errorf("ingest.json: %s %v", b, err)
	}
}

func TestReadEvents(t *testing.T) {
	folder := t.TempDir()
	if events, at, err := ReadEvents(folder, 0); err != nil || at != 0 || events != nil {
		t.Errorf("no file: %v %d %v", events, at, err)
	}
	first := `{"n":1,"t":0.03,"type":"started","pid":12,"host":"box","versions":{"python":"3.11"},"mood":"good"}` + "\n" +
		`{"n":2,"t":0.5,"type":"progress","step":1,"of":9,"unit":"epoch","quality":0.5,"loss":"nan"}` + "\n"
	write(t, folder, EventsFile, first+`{"n":3,"t":0.6,"ty`)
	events, at, err := ReadEvents(folder, 0)
	if err != nil || len(events) != 2 || at != int64(len(first)) {
		t.Fatalf("%+v %d %v", events, at, err)
	}
	if events[0].PID != 12 || *events[1].Quality != 0.5 || events[1].Loss.Finite() || events[1].Best != nil {
		t.Errorf("%+v", events)
	}
	second := `{"n":3,"t":0.6,"type":"failed","kind":"data","message":"No.","where":{"file":"a.csv","row":"three"},"hint":"Look."}` + "\nrubbish\n"
	write(t, folder, EventsFile, first+second)
	events, at, err = ReadEvents(folder, at)
	if err != nil || len(events) != 2 || at != int64(len(first)+len(second)) {
		t.Fatalf("%+v %d %v", events, at, err)
	}
	if e := events[0]; e.Type != EventFailed || e.Kind != "data" || e.Where == nil || e.Where.File != "a.csv" || e.Hint != "Look." {
		t.Errorf("a field of another type took the rest with it: %+v", e)
	}
	if events[1].Code != "unreadable_event" {
		t.Errorf("%+v", events[1])
	}
	write(t, folder, EventsFile, `{"n":1,"type":"started","format":2}`+"\n")
	if _, _, err := ReadEvents(folder, 0); !errors.Is(err, ErrFormat) {
		t.Errorf("a higher format: %v", err)
	}
	if c, paused := PausedAt([]Event{{Type: EventPaused, Checkpoint: "checkpoint/step-3"}}); !paused || c != "checkpoint/step-3" {
		t.Errorf("paused at %q, %v", c, paused)
	}
}

// TestEventsInPieces reads a file while it grows byte by byte, however it is cut.
func TestEventsInPieces(t *testing.T) {
	text := ""
	for _, e := range []Event{{N: 1, Type: "started", PID: 4}, {N: 2, Type: "phase", Name: "fit"}, {N: 3, Type: "warning", Message: "tür\n"}, {N: 4, Type: "done"}} {
		b, _ := json.Marshal(e)
		text += string(b) + "\n"
	}
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(text)), 0, 8).Draw(rt, "cuts")
		at, n, end := int64(0), int64(0), 0
		for _, c := range append(cuts, len(text)) {
			if c < end {
				continue
			}
			end = c
			write(t, folder, EventsFile, text[:end])
			events, next, err := ReadEvents(folder, at)
			if err != nil || next < at || next > int64(end) {
				rt.Fatalf("%d → %d of %d: %v", at, next, end, err)
			}
			for _, e := range events {
				if n++; e.N != n {
					rt.Fatalf("event %d comes as number %d", e.N, n)
				}
			}
			at = next
		}
		if n != 4 {
			rt.Fatalf("%d events of 4", n)
		}
	})
}

func FuzzParseEvents(f *testing.F) {
	f.Add([]byte(`{"n":1,"t":0,"type":"started","pid":"x"}` + "\n{}\n\n[1]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, used, err := parseEvents(b)
		if used < 0 || used > len(b) || used > 0 && b[used-1] != '\n' {
			t.Fatalf("used %d of %d", used, len(b))
		}
		for _, e := range events {
			if e.Type == "" {
				t.Fatal("an event of no type")
			}
		}
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
	})
}

func TestReadResult(t *testing.T) {
	folder := t.TempDir()
	if _, there, err := ReadResult(folder); there || err != nil {
		t.Errorf("no result: %v %v", there, err)
	}
	write(t, folder, ResultFile, `{"format":1,"outcome":"ok","quality":0.9,"metrics":{"log_loss":"inf"},"quality_interval":[0.8,0.95],
		"test":{"quality":0.88,"interval":null,"n":20,"metrics":{}},"seconds":{"load":0.1,"fit":1,"evaluate":0.2,"save":0.3},"cpu_seconds":1.5,
		"steps":3,"curve":[[1,0.5,0.1],[2,"nan",0.2]],"peak_bytes":100,"gpu_peak_bytes":0,
		"model":{"format":"skops","class":"SVC","files":[{"path":"model/m.skops","bytes":5,"sha256":"ab"}]},"predictions":"predictions.arrow","extra":1}`)
	r, there, err := ReadResult(folder)
	if !there || err != nil {
		t.Fatal(there, err)
	}
	if r.Quality != 0.9 || r.QualityInterval[0] != 0.8 || r.Test.N != 20 || r.Test.Interval != nil || math.Abs(r.Seconds.Total()-1.6) > 1e-9 ||
		len(r.Curve) != 2 || r.Curve[0] != (Point{1, 0.5, 0.1}) || r.Curve[1].Quality.Finite() || r.Model.Files[0].Bytes != 5 || r.Metrics["log_loss"].Finite() {
		t.Errorf("%+v", r)
	}
	write(t, folder, ResultFile, `{"format":1,"outcome":"failed","kind":"memory","message":"Too much.","quality":null,"curve":[],"model":null,"predictions":null,"test":null}`)
	if r, _, err := ReadResult(folder); err != nil || r.Kind != KindMemory || r.Quality.Finite() || r.Predictions != "" {
		t.Errorf("failed: %+v %v", r, err)
	}
	write(t, folder, ResultFile, `{"format":2,"outcome":{"new":"shape"}}`)
	if _, there, err := ReadResult(folder); there || !errors.Is(err, ErrFormat) {
		t.Errorf("a higher format: %v %v", there, err)
	}
	write(t, folder, ResultFile, `{"format":1,`)
	if _, there, err := ReadResult(folder); there || err == nil {
		t.Errorf("torn: %v %v", there, err)
	}
}

func TestReadCandidates(t *testing.T) {
	one := `{"id":"svm","version":1,"family":"svm","settings":{"C":10},"normalization":0.4,"year":null,"devices":["cpu"],"needs":{"min_examples":20,"max_examples":null},"estimate":{"seconds":{"cpu1":1.2},"memory_bytes":2e8}}`
	two := `{"id":"dummy","version":2,"normalization":null,"baseline":true,"note":"unknown keys are ignored"}`
	for _, text := range []string{one + "\n" + two + "\n", "[" + one + "," + two + "]", one + two} {
		list, err := ReadCandidates(strings.NewReader(text))
		if err != nil || len(list) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		c := list[0]
		if string(c.Settings) != `{"C":10}` || string(c.Choice().Normalization) != "0.4" || *c.Needs.MinExamples != 20 || c.Needs.MaxExamples != nil ||
			c.Estimate.Seconds["cpu1"] != 1.2 || !c.RunsOn("cpu") || c.RunsOn("gpu") || !list[1].RunsOn("gpu") {
			t.Errorf("%+v", c)
		}
	}
	for _, bad := range []string{`{"version":1}`, one + one, `{"id":`, `7`, `null`} {
		if list, err := ReadCandidates(strings.NewReader(bad)); err == nil {
			t.Errorf("%s gave %+v", bad, list)
		}
	}
}

func TestClassify(t *testing.T) {
	traceback := "epoch 1\nTraceback (most recent call last):\n  File \"x.py\", line 3, in fit\n    raise\n"
	for name, c := range map[string]struct {
		ended  Ended
		events []Event
		log    string
		kind   string
		say    string
	}{
		"its own word":      {Ended{Code: -1, Signal: "KILL", Cause: CauseMemory}, []Event{{Type: EventFailed, Kind: KindData, Message: "Two classes are needed."}}, "", KindData, "Two classes"},
		"limit":             {Ended{Code: -1, Signal: "KILL", Cause: CauseMemory}, nil, "", KindMemory, "more memory"},
		"silent":            {Ended{Code: -1, Signal: "KILL", Cause: CauseNoFirstEvent}, nil, "", KindTimeout, "did not start"},
		"with its parent":   {Ended{Code: -1, Cause: CauseLost}, nil, "", KindLost, ""},
		"kernel":            {Ended{Code: -1, Signal: "KILL"}, nil, "", KindMemory, "most likely"},
		"card":              {Ended{Code: 1}, nil, traceback + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB\n", KindMemory, "CUDA out of memory"},
		"std::bad_alloc":    {Ended{Code: -1, Signal: "ABRT"}, nil, "terminate called after throwing an instance of 'std::bad_alloc'\n", KindMemory, "bad_alloc"},
		"segmentation":      {Ended{Code: -1, Signal: "SEGV"}, nil, "", KindBug, "SEGV"},
		"ended by somebody": {Ended{Code: -1, Signal: "TERM"}, nil, "", KindLost, "outside"},
		"cpu time":          {Ended{Code: -1, Signal: "XCPU"}, nil, "", KindTimeout, "processor"},
		"error":             {Ended{Code: 1}, nil, traceback + "KeyError: 'lr'\n", KindBug, "KeyError: 'lr'"},
		"silent status":     {Ended{Code: 3}, nil, "some print\n", KindBug, "status 3"},
		"no result":         {Ended{}, []Event{{Type: EventDone}}, "", KindBug, "without a result"},
		"paused":            {Ended{}, []Event{{Type: EventPaused}}, "", Paused, ""},
	} {
		kind, message := Classify(c.ended, c.events, c.log)
		if kind != c.kind || !strings.Contains(message, c.say) || message == "" {
			t.Errorf("%s: %s, %q", name, kind, message)
		}
	}
}

func TestLinesOfServe(t *testing.T) {
	b, err := json.Marshal(Order{Run: "/a", Command: "run", Env: map[string]string{"X": "1"}, Limits: map[string]int64{"threads": 1}})
	if err != nil || string(b) != `{"run":"/a","command":"run","env":{"X":"1"},"limits":{"threads":1}}` {
		t.Errorf("%s %v", b, err)
	}
	for text, want := range map[string]SignalName{`null`: "", `"SIGKILL"`: "KILL", `"TERM"`: "TERM", `9`: "KILL", `99`: "99", `0`: ""} {
		var w Word
		if err := json.Unmarshal([]byte(`{"ended":"/a","code":null,"signal":`+text+`}`), &w); err != nil || w.Signal != want || w.Code != nil {
			t.Errorf("%s: %+v %v", text, w, err)
		}
	}
}

func TestLinesOfPredict(t *testing.T) {
	b, err := json.Marshal(Question{ID: 1, Request: &Request{Out: "/o"}})
	var line map[string]any
	if err == nil {
		err = json.Unmarshal(b, &line)
	}
	if err != nil || line["id"] != 1.0 || line["out"] != "/o" || line["sources"] == nil || line["using"] == nil || line["options"] == nil {
		t.Errorf("%s %v", b, err)
	}
	b, err = json.Marshal(Question{ID: 2, Rescore: &Rescore{Metric: "accuracy"}})
	if err != nil || !strings.HasPrefix(string(b), `{"id":2,"rescore":{"data":{`) {
		t.Errorf("%s %v", b, err)
	}
}
