package show

import (
	"bytes"
	"flag"
	"html"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/easeml/easeml/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

func goldens() map[string]Output {
	running, final := digitsRunning(), digitsFinal()
	declared := api.View{Task: digitsTask(), Now: noon}
	declared.State, declared.Examples, declared.Best, declared.Metric = api.TaskDeclared, 0, nil, api.Metric{}
	count := api.CatalogCount{Light: 13, Deep: 9}
	noTorch := declared
	noTorch.Deep = &api.DeepNote{Missing: 9}
	fed := beginning()
	fed.Running = 0
	feed := api.Feed{Number: 1, State: "ended", Sources: []string{"digits.npz"}, Read: 1440, Accepted: 1437, Rejected: 3, Version: 1, Rejects: []api.Reject{
		{Source: "digits.npz", Row: 17, Column: "digit", Value: "12", Reason: "but there are classes 0–9"},
		{Source: "digits.npz", Row: 90, Column: "digit", Value: "12", Reason: "but there are classes 0–9"},
		{Source: "digits.npz", Row: 412, Column: "digit", Value: "12", Reason: "but there are classes 0–9"}}}
	icu := sepsis()
	icu.State, icu.Stopped, icu.Best = api.TaskSearching, false, nil
	sepsisFeed := api.Feed{Number: 1, State: "ended", Sources: []string{"icu.csv"}, Accepted: 21904, Rejected: 28, Version: 1,
		ReadAs: []string{"the label column is sepsis", "\"Age \" is called age here; your names come back in answers"},
		Rejects: []api.Reject{
			{Source: "icu.csv", Row: 16, Line: ptr(int64(18)), Column: "age", Value: `"old"`, Reason: "is no number", Remedy: "leave it empty if it is missing"},
			{Source: "icu.csv", Row: 21, Line: ptr(int64(23)), Column: "sepsis", Value: `"maybe"`, Reason: "is neither no nor yes"},
			{Source: "icu.csv", Row: 22, Line: ptr(int64(24)), Column: "sepsis", Value: `"maybe"`, Reason: "is neither no nor yes"},
			{Source: "icu.csv", Row: 30, Line: ptr(int64(32)), Reason: "has 41 cells, the head has 40"},
			{Source: "icu.csv", Row: 31, Line: ptr(int64(33)), Reason: "breaks off"}},
		Warnings: []api.Warning{
			{Code: "repeated_entities", Column: "patient_id", Spoils: true, Message: "patient_id: 21,904 rows, but 3,120 patients. Rows of one patient stand on both sides of the test, so every quality will look too good.", Fix: "with group = patient_id"},
			{Code: "gives_answer", Column: "discharge_code", Spoils: true, Message: "discharge_code alone gives the answer in 99.8 %. Known only afterwards?", Fix: "with ignore = discharge_code"}}}
	doubted := sepsis()
	doubted.Doubts, doubted.Warnings = sepsisFeed.Warnings, append([]api.Warning{{Code: "contradictions", Message: "12 rows have the very input of another row, but not its label: no model can be right about all of them."}}, sepsisFeed.Warnings...)
	numbersDoubted := diabetes()
	numbersDoubted.Doubts = []api.Warning{{Code: "id_column", Column: "row", Spoils: true, Message: "row is different in every row, like a running number.", Fix: "leave row out of the program"}}
	late := waitingFor()
	late.Queue = &api.Queue{WaitingFor: "a CPU slot", Position: 3, Of: 3, EtaLow: 4000, EtaHigh: 9000, Ahead: &api.Ahead{Name: "penguins", Had: 12, Mine: 40},
		InTheWay: api.InTheWay{Working: 2}, Waited: 700, Thought: [2]float64{60, 300}, Held: 3, Waits: 4}
	small := wine()
	small.Best = nil
	noTest := wine()
	guessOnly := beginning()
	guessOnly.Best = &api.Best{Trial: 1, Label: "the guess", Baseline: true, Search: *share(23, 215, 0.107)}
	tasks := []api.Task{final.Task, wine().Task, sepsis().Task, diabetes().Task, declared.Task}
	tasks[4].Name, tasks[4].Description = "fishes", "series of any length, 4 values a step → one of 12 classes, and a name that goes on for ever and ever"
	shared := running.Task
	shared.User, shared.Name = "ml101", "leaves"
	tasks = append(tasks, shared)
	in := api.Inferred{Answers: 357, Unsure: 13, Seconds: 0.2, Version: 1, Best: *running.Best}
	drifted := in
	drifted.Drift = []api.Drift{{Field: "age", Message: "age is mostly 61–80, so far 24–41"}, {Field: "site", Message: "site has values that were never fed, in 40 % of the rows"}}
	answers := []api.Answer{
		{Source: "new.npz", Row: 0, Answer: map[string]any{"digit": "7"}, Sure: ptr(0.998)},
		{Source: "new.npz", Row: 1, Answer: map[string]any{"digit": "0"}, Sure: ptr(1.0)}}
	off := api.Inferred{Answers: 2, Refused: 1, Seconds: 0.11, Version: 1, Best: *diabetes().Best}
	offAnswers := []api.Answer{
		{Source: "new.csv", Row: 0, Answer: map[string]any{"progression": 151.2345}},
		{Source: "new.csv", Row: 1, Refused: &api.Reject{Source: "new.csv", Row: 1, Line: ptr(int64(3)), Column: "bmi", Value: `"high"`, Reason: "is no number"}},
		{Source: "new.csv", Row: 2, Answer: map[string]any{"progression": 98.0}}}
	stopped := running
	stopped.State, stopped.Stopped, stopped.Reason, stopped.Running, stopped.SettledAt = api.TaskSettled, true, api.SettledStopped, 0, ptr(noon)
	resumed := running
	resumed.Running = 0
	after := running
	after.Tried, after.Best = running.Tried+3, ptr(*running.Best)
	after.Best.Search = *share(215, 215, 0.107)
	listed := []api.Example{
		{Number: 17, Part: "test", Label: "3", Source: "data/digits.npz", Row: 16},
		{Number: 90, Part: "train", Label: "8", Source: "data/digits.npz", Row: 92},
		{Number: 91, Part: "train", Label: "1", On: true, Source: "more.csv", Row: 4}}
	refined := digitsFinal()
	refined.Version, refined.Examples, refined.Off, refined.Parts.Test, refined.State = 2, 1435, 2, 215, api.TaskSearching
	refined.Best = ptr(*refined.Best)
	refined.Best.Scored, refined.Best.Test = 2, share(211, 215, 0.106)
	changed := &api.Changes{Labels: []api.Relabel{{Number: 17, From: "3", To: "8"}, {Number: 90, From: "1", To: "8"}}, Parts: api.Parts{Train: 1, Test: 1}}
	corrected := digitsFinal()
	corrected.Version, corrected.State = 2, api.TaskSearching
	corrected.Best = ptr(*corrected.Best)
	corrected.Best.Scored, corrected.Best.Test = 2, share(213, 216, 0.106)
	listed[1].Fed = "3"
	history := []api.Version{{Number: 1, Cause: "feed", By: "alice", Created: noon}, {Number: 2, Cause: "refine", By: "alice", Created: noon, Changes: changed},
		{Number: 3, Cause: "refine", By: "bob", Created: noon.Add(time.Minute), Changes: &api.Changes{Off: []int{17}, On: []int{4, 5}}}}
	history[1].Changes = &api.Changes{Off: make([]int, 71), Suspects: true}
	suspects := api.Findings{Of: 300, Found: 71}
	for i := range 71 {
		suspects.Suspects = append(suspects.Suspects, api.Suspect{Number: 204 - i, Says: "oak", LooksLike: "red maple", Sure: ptr(0.98 - float64(i)/100)})
	}
	otherMetric := digitsFinal()
	otherMetric.Version, otherMetric.State, otherMetric.Metric = 2, api.TaskSearching, api.Metric{Name: "balanced_accuracy"}
	otherMetric.Best = ptr(*otherMetric.Best)
	otherMetric.Best.Scored = 2
	again := digitsFinal()
	again.Version, again.Best = 3, ptr(*again.Best)
	again.Best.Scored, again.Best.Version = 3, 3
	weaker := diabetes()
	weaker.Version, weaker.Examples, weaker.State = 2, 440, api.TaskSearching
	weaker.Best = ptr(*weaker.Best)
	weaker.Best.Scored = 2
	nothing := wine()
	nothing.Version, nothing.Examples, nothing.Off, nothing.State, nothing.Reason = 3, 0, 58, api.TaskSettled, api.SettledNoData
	open := digitsRunning()
	for i := range open.Rows {
		if r := &open.Rows[i]; r.State == "open" {
			r.Candidate = r.Label
			r.Expected = &api.Expected{Mean: 0.98, SD: 0.01, Seconds: float64(1 + 7*i), SecondsSD: 1, Gain: 0.002, Chance: 0.3}
		}
	}
	contents := []api.Example{
		{Number: 17, Part: "test", Label: "oak", On: true, Content: []api.Content{
			{Field: "age", Kind: api.ContentNumbers, Numbers: []*float64{ptr(12.5)}, Shape: []int{1}},
			{Field: "site", Kind: api.ContentText, Text: "north\nslope"},
			{Field: "spectrum", Kind: api.ContentNumbers, Numbers: []*float64{ptr(0.0), ptr(1.0), nil, ptr(4.0), ptr(2.0)}, Shape: []int{5}}}},
		{Number: 1204, Part: "train", Label: "birch", Content: []api.Content{
			{Field: "age", Kind: api.ContentNumbers, Numbers: []*float64{nil}, Shape: []int{1}},
			{Field: "site", Kind: api.ContentText, Missing: true},
			{Field: "spectrum", Kind: api.ContentNumbers, Numbers: []*float64{ptr(3.0), ptr(3.0), ptr(3.0), ptr(3.0), ptr(3.0)}, Shape: []int{5}}}}}
	pictures := []api.Example{
		{Number: 17, Part: "test", Label: "3", On: true, Content: []api.Content{{Field: "image", Kind: api.ContentPicture, Shape: []int{8, 8, 1}, PNG: []byte("a picture")}}},
		{Number: 90, Part: "train", Label: `<b>"8"`, Content: []api.Content{{Field: "image", Kind: api.ContentPicture, Shape: []int{8, 8, 1}, PNG: []byte("another")}}}}
	tagged := api.Findings{
		Says: "tags.jsonl: 400 rows, 3 columns.", Predicts: "tags, a series of 5 labels", Guess: `The most frequent label, "N", is 31 % of the steps.`,
		Fields: []api.ProposedField{
			{Side: "input", Name: "words", Type: "Class[32]", Comment: "the, dog, sees …, 3–14 steps"},
			{Side: "output", Name: "tags", Type: `Class["A", "D", "N", "P", "V"]`, Comment: "3–14 steps"}},
		LeftOut:  []api.LeftOut{{Column: "page", Reason: "beside a series there can be no other input"}},
		Notes:    []string{"tags is a series of labels: each row has 3–14 steps. It is learned from words, a series of labels, which is as long in each row."},
		Pointers: &api.ProposedPointers{Input: []string{"next"}, Output: []string{"next"}}}
	return map[string]Output{
		"proposed-series":     Proposed(ProposedProgram("tags", tagged), tagged),
		"contents":            Contents("leaves", final, 2, contents, ""),
		"contents-pictures":   Contents("digits", final, 40, pictures, "refine digits show 91..128"),
		"contents-beyond":     Contents("digits", final, 1, nil, ""),
		"declared":            Declared("digits", api.Declared{Outcome: "created", View: declared, Count: count}),
		"declared-no-torch":   Declared("digits", api.Declared{Outcome: "created", View: noTorch, Count: count}),
		"declared-same":       Declared("digits", api.Declared{Outcome: "same", View: final}),
		"declared-same-empty": Declared("digits", api.Declared{Outcome: "same", View: declared}),
		"declared-replaced":   Declared("digits", api.Declared{Outcome: "replaced", View: declared, Count: api.CatalogCount{Light: 13}}),
		"declared-changed":    Declared("digits", api.Declared{Outcome: "changed", View: otherMetric}),
		"upload":              Upload("scans.zip", 312e6, 440e6, 19),
		"reading":             Reading("icu.csv", api.FeedProgress{Feed: 1, Phase: "read", Rows: 12000, Of: 21904}),
		"fed":                 Fed("digits", feed, fed),
		"fed-findings":        Fed("sepsis", sepsisFeed, icu),
		"fed-again":           Fed("digits", api.Feed{Sources: []string{"data/digits.npz"}, Known: 1437, Earlier: true}, final),
		"fed-more":            Fed("digits", api.Feed{Sources: []string{"more.npz"}, Accepted: 12, Known: 1437, Version: 2}, running),
		"fed-changed":         Fed("digits", api.Feed{Sources: []string{"digits.npz"}, Accepted: 17, Known: 1430, Version: 2, Changed: &api.FileChange{Relabeled: 5, Gone: []int{17, 90, 91, 92, 400, 401, 950}}}, running),
		"fed-corrected": Fed("digits", api.Feed{Sources: []string{"digits.npz"}, Accepted: 12, Known: 1430, Version: 2, Changed: &api.FileChange{
			Since: &running.Created, Corrected: make([]api.Relabel, 5), Gone: []int{17, 90}}}, running),
		"fed-small":         Fed("wine", api.Feed{Sources: []string{"wine.csv"}, Accepted: 58, Version: 1}, small),
		"watch-running":     WatchTable("digits", running),
		"watch-final":       WatchTable("digits", final),
		"watch-none":        WatchTable("digits", beginning()),
		"watch-guess":       WatchTable("digits", guessOnly),
		"watch-declared":    WatchTable("digits", declared),
		"watch-numbers":     WatchTable("diabetes", diabetes()),
		"watch-folds-queue": WatchTable("wine", noTest),
		"watch-doubt":       WatchTable("sepsis", doubted),
		"chart-doubt":       WatchChart("diabetes", numbersDoubted, true),
		"as-is":             AsIs("sepsis", sepsisFeed.Warnings, doubted),
		"as-is-none":        AsIs("digits", nil, final),
		"watch-stopped":     WatchTable("digits", stopped),
		"chart-running":     WatchChart("digits", running, true),
		"chart-final":       WatchChart("digits", final, true),
		"chart-none":        WatchChart("digits", beginning(), true),
		"chart-numbers":     WatchChart("diabetes", diabetes(), true),
		"chart-one":         WatchChart("wine", noTest, true),
		"best":              Best("digits", api.Report{Task: final.Task, Best: final.Best}),
		"best-test": Best("digits", api.Report{Task: final.Task, Best: final.Best, Mistakes: &api.Mistakes{N: 216, Wrong: 4, OfTest: true,
			Pairs:   []api.Pair{{Truth: "8", Answer: "1", N: 2}, {Truth: "8", Answer: "3", N: 1}, {Truth: "3", Answer: "8", N: 1}},
			Classes: []api.OfClass{{Label: "1", Right: 170, N: 170}, {Label: "3", Right: 23, N: 24}, {Label: "8", Right: 19, N: 22}},
			Weakest: &api.OfClass{Label: "8", Right: 19, N: 22}, Sure: &api.RightOfN{Right: 209, N: 210}, Unsure: &api.RightOfN{Right: 3, N: 6}}}),
		"best-growth":      Best("digits", api.Report{Task: final.Task, Best: final.Best}, api.Findings{Kind: "growth", Of: 216, Measure: "right", Half: 0.03, Whole: 0.019, Doubled: ptr(0.012)}),
		"best-growth-f1":   Best("digits", api.Report{Task: final.Task, Best: final.Best}, api.Findings{Kind: "growth", Of: 216, Measure: "f1", Half: 0.2, Whole: 0.13, Doubled: ptr(0.0845)}),
		"best-growth-loss": Best("digits", api.Report{Task: final.Task, Best: final.Best}, api.Findings{Kind: "growth", Of: 216, Measure: "log_loss", Half: 0.42, Whole: 0.4}),
		"best-numbers-more": Best("diabetes", api.Report{Task: diabetes().Task, Best: diabetes().Best}, api.Findings{Kind: "explain", Of: 89, Part: "test", Measure: "off", Uses: []api.Use{
			{Name: "s5", Lost: 7.9, Noise: 2.2, Beyond: true}, {Name: "bmi", Lost: 6.1, Noise: 2.3, Beyond: true}, {Name: "bp", Lost: 3.5, Noise: 1.3, Beyond: true},
			{Name: "s1", Lost: 0.1, Noise: 1}, {Name: "s2", Lost: 0.1, Noise: 1}, {Name: "s3", Lost: 0.1, Noise: 1}, {Name: "s4", Lost: 0.1, Noise: 1}, {Name: "age", Lost: -0.1, Noise: 1}}},
			api.Findings{Kind: "growth", Of: 89, Measure: "off", Half: 46.4, Whole: 46.1}),
		"explain": Explained("penguins", api.Findings{Kind: "explain", Of: 69, Part: "test", Measure: "right", Uses: []api.Use{
			{Name: "bill_length_mm", Lost: 0.28, Noise: 0.08, Beyond: true}, {Name: "bill_depth_mm", Lost: 0.05, Noise: 0.03, Beyond: true}, {Name: "sex", Lost: 0.008, Noise: 0.004, Beyond: true},
			{Name: "year", Noise: 0.01}, {Name: "flipper_length_mm", Noise: 0.01}}}),
		"explain-noise": Explained("penguins", api.Findings{Kind: "explain", Of: 30, Part: "all", Measure: "right", Uses: []api.Use{{Name: "year", Noise: 0.01}}}),
		"explain-one": Explained("digits", api.Findings{Kind: "explain", Example: 17, Truth: ptr("3"), Answer: "8", Sure: ptr(0.91), Measure: "probability", Seen: true,
			Uses:    []api.Use{{Name: "image rows 3–4, columns 1–2", Lost: 0.43, Beyond: true}, {Name: "image rows 1–2, columns 1–2"}},
			Nearest: []api.Near{{Number: 204, Label: "8"}, {Number: 41, Label: "3"}}}),
		"explain-number": Explained("diabetes", api.Findings{Kind: "explain", Answer: "151.2", Measure: "off", Uses: []api.Use{{Name: "s5", Lost: 12.31, Beyond: true}}}),
		"best-mistakes": Best("digits", api.Report{Task: final.Task, Best: final.Best, Mistakes: &api.Mistakes{N: 215, Wrong: 9,
			Pairs:   []api.Pair{{Truth: "8", Answer: "1", N: 3}, {Truth: "8", Answer: "2", N: 1}, {Truth: "8", Answer: "3", N: 1}, {Truth: "3", Answer: "8", N: 1}, {Truth: "9", Answer: "7", N: 1}, {Truth: "5", Answer: "6", N: 1}},
			Weakest: &api.OfClass{Label: "8", Right: 17, N: 22}, Sure: &api.RightOfN{Right: 203, N: 205}, Unsure: &api.RightOfN{Right: 3, N: 10}}}),
		"best-searching":        Best("digits", api.Report{Task: running.Task, Best: running.Best}),
		"best-numbers":          Best("diabetes", api.Report{Task: diabetes().Task, Best: diabetes().Best}),
		"best-no-test":          Best("wine", api.Report{Task: noTest.Task, Best: noTest.Best}),
		"best-score":            Best("sepsis", api.Report{Task: sepsis().Task, Best: sepsis().Best}),
		"best-doubt":            Best("sepsis", api.Report{Task: doubted.Task, Best: doubted.Best}),
		"best-numbers-doubt":    Best("diabetes", api.Report{Task: numbersDoubted.Task, Best: numbersDoubted.Best}),
		"best-none":             Best("digits", api.Report{Task: beginning().Task}),
		"best-guess":            Best("digits", api.Report{Task: guessOnly.Task, Best: guessOnly.Best}),
		"best-declared":         Best("digits", api.Report{Task: declared.Task}),
		"models":                Models("digits", running),
		"models-final":          Models("digits", final),
		"models-numbers":        Models("diabetes", diabetes()),
		"models-doubt":          Models("sepsis", doubted),
		"models-none":           Models("digits", beginning()),
		"tasks":                 Tasks("alice", tasks),
		"tasks-doubt":           Tasks("alice", []api.Task{final.Task, doubted.Task}),
		"tasks-none":            Tasks("alice", nil),
		"infer":                 Inferred(Preview{Name: "digits", Sources: []string{`"new.npz"`}, Into: "answers.csv", Columns: true, Metric: "accuracy", Answers: answers, Inferred: in}),
		"infer-doubt":           Inferred(Preview{Name: "diabetes", Sources: []string{`"new.csv"`}, Metric: "r2", Doubts: numbersDoubted.Doubts, Answers: offAnswers, Inferred: off}),
		"infer-drift":           Inferred(Preview{Name: "digits", Into: "answers.csv", Metric: "accuracy", Answers: answers, Inferred: drifted}),
		"infer-numbers-refused": Inferred(Preview{Name: "diabetes", Sources: []string{`"new.csv"`}, Metric: "r2", Answers: offAnswers, Refused: offAnswers[1:2], Inferred: off}),
		"infer-waiting":         WaitingForModel("digits", beginning()),
		"waiting":               Waiting("digits", "quality >= 0.97 or final or 10m", running),
		"standing":              Standing("digits", running),
		"waited":                Waited("digits", "quality >= 0.97", "", 12.3, running),
		"waited-over":           Waited("digits", "", "10m", 600, running),
		"waited-final":          Waited("digits", "final", "", 0, final),
		"stopped":               Stopped("digits", stopped, false),
		"stopped-already":       Stopped("digits", stopped, true),
		"resumed":               Resumed("digits", resumed, false),
		"dropped":               Dropped("digits", final.Task),
		"wrote-models":          WroteModels(running, "board.csv"),
		"watch-waiting":         WatchTable("digits", waitingFor()),
		"watch-waiting-late":    WatchTable("digits", late),
		"why-waiting":           Why("digits", waitingFor(), ptr(whyKNN())),
		"wait-waiting":          Waiting("digits", "final", waitingFor()),
		"why":                   Why("digits", running, ptr(whyKNN())),
		"why-final":             Why("digits", final, ptr(whyKNN())),
		"why-none":              Why("digits", beginning(), nil),
		"why-declared":          Why("digits", declared, nil),
		"why-opening":           Why("digits", running, ptr(whyFirst())),
		"why-trial":             WhyTrial(running, whyKNN(), api.Trial{Number: 4, Candidate: "knn.k5", Label: "kNN, k = 5", State: "ok", Search: share(214, 215, 0.107), Seconds: 0.013}),
		"why-numbers":           Why("diabetes", diabetes(), ptr(whyRidge())),
		"why-candidate":         WhyCandidate("digits", running, running.Rows[0], ptr(whyKNN())),
		"why-open":              WhyCandidate("digits", open, open.Rows[len(open.Rows)-1], ptr(whyKNN())),
		"why-failed":            WhyCandidate("digits", final, final.Rows[len(final.Rows)-1], nil),
		"pool": Pool("alice", api.Pool{Now: noon, Waiting: 5, Devices: []api.Device{
			{ID: "gpu0", Class: "a100", Name: "A100 40 GB", State: "held", Memory: 40e9, Ends: ptr(noon.Add(20 * time.Minute))},
			{ID: "gpu1", Class: "a100", Name: "A100 40 GB", State: "held", Memory: 40e9, Mine: true, Task: "alice/digits", Label: "ResNet-18", Ends: ptr(noon.Add(70 * time.Second))},
			{ID: "gpu2", Class: "a100", Name: "A100 40 GB", State: "busy_by_others", Memory: 40e9, Why: "a process of somebody else holds 38 GB"},
			{ID: "gpu3", Class: "gtx-1080-ti", Name: "GTX 1080 Ti", State: "draining", Memory: 11e9, Why: "it falls off the bus (Xid 79)"},
			{ID: "cpu2", Class: "cpu1", State: "held", Why: "its trial is not wanted any more and leaves"},
			{ID: "cpu0", Class: "cpu1", State: "held"}, {ID: "cpu1", Class: "cpu1", State: "free"}}}),
		"pool-small":      Pool("alice", api.Pool{Now: noon, Devices: []api.Device{{ID: "cpu0", Class: "cpu1", State: "free"}}}),
		"candidate":       Candidate(running, running.Rows[0]),
		"candidate-open":  Candidate(open, open.Rows[len(open.Rows)-1]),
		"examples":        Examples("digits", final, 0, listed[2:], nil),
		"examples-off":    Examples("digits", refined, 0, listed[:2], history),
		"examples-asked":  Examples("digits", refined, 20, listed, nil),
		"refined":         Refined(Refinement{Name: "digits", Before: final, After: refined, Asked: 7, Changes: &api.Changes{Off: []int{17, 90}, Parts: api.Parts{Train: 1, Test: 1}}}),
		"refined-none":    Refined(Refinement{Name: "digits", Before: final, After: final, Asked: 7}),
		"refined-numbers": Refined(Refinement{Name: "diabetes", Before: diabetes(), After: weaker, Asked: 2, Changes: &api.Changes{Off: []int{3, 4}, Parts: api.Parts{Train: 2}}}),
		"refined-on":      Refined(Refinement{Name: "digits", Before: refined, After: again, On: true, Asked: 2, Changes: &api.Changes{On: []int{17, 90}, Parts: api.Parts{Train: 1, Test: 1}}}),
		"refined-all":     Refined(Refinement{Name: "wine", Before: wine(), After: nothing, Asked: 58, Changes: &api.Changes{Off: make([]int, 58)}}),
		"refined-labels":  Refined(Refinement{Name: "digits", Before: final, After: corrected, Label: "8", Asked: 2, Changes: changed}),
		"suspects":        Suspects("leaves", final, suspects),
		"suspects-none":   Suspects("leaves", final, api.Findings{Of: 300}),
		"suspects-off":    SuspectsAreOff("leaves", history[1]),
		"suspect-numbers": Suspects("prices", final, api.Findings{Of: 200, Found: 1, Suspects: []api.Suspect{{Number: 18, Says: "2412.6", LooksLike: "598.118"}}}),
		"server":          Server("http://127.0.0.1:8800", "the first statement started it", api.Server{Version: "1.0", Private: true, Policy: "default"}, api.Me{User: "alice", Role: "admin"}),
		"lost":            Lost(noon.Add(10 * time.Minute)),
		"back":            Back(noon.Add(13*time.Minute), running, after),
		"watch-lost":      WatchLost("digits", running, noon.Add(10*time.Minute)),
		"watch-back":      WatchBack("digits", after, BackWords(noon.Add(13*time.Minute), running, after)),
	}
}

// TestGolden compares every output with the one that was looked at.
func TestGolden(t *testing.T) {
	for name, out := range goldens() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".txt")
			got := out.Text + "\n"
			if *update {
				if dir := os.Getenv("SHOW_PNG"); dir != "" && out.PNG != nil {
					os.WriteFile(filepath.Join(dir, name+".png"), out.PNG, 0o644)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// picture is a table that is one: what it shows the words have said.
var picture = regexp.MustCompile(`(?s)<table role="img".*?</table>`)

// TestForms checks what holds for every output: lines are narrow, both forms say
// the same words, a chart has nothing that a notebook would show instead of it.
func TestForms(t *testing.T) {
	words := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for name, out := range goldens() {
		for _, line := range strings.Split(out.Text, "\n") {
			if columns(line) > Width {
				t.Errorf("%s: %d columns: %s", name, columns(line), line)
			}
			if line != strings.TrimRight(line, " ") {
				t.Errorf("%s: blanks at the end of %q", name, line)
			}
		}
		if out.Vega != nil {
			if out.HTML != "" || len(out.PNG) == 0 {
				t.Errorf("%s: a chart with HTML or without a picture", name)
			}
			if _, err := png.Decode(bytes.NewReader(out.PNG)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if strings.Contains(out.HTML, "<img") {
			continue // a grid of pictures says it in another order
		}
		plain := html.UnescapeString(tag.ReplaceAllString(picture.ReplaceAllString(out.HTML, ""), ""))
		full := out.Text
		if strings.Contains(full, "…") {
			continue // a cut cell: HTML has all of it
		}
		if words(plain) != words(full) {
			t.Errorf("%s: HTML says\n%s\ntext says\n%s", name, words(plain), words(full))
		}
	}
}

// Pictures stand in the page itself, each with its label, number and part.
func TestPicturesInAGrid(t *testing.T) {
	out := goldens()["contents-pictures"].HTML
	for _, want := range []string{
		`<img src="data:image/png;base64,YSBwaWN0dXJl" alt="example 17"><div><b>3</b></div><div>17 · test</div>`,
		`<b>&lt;b&gt;&#34;8&#34;</b></div><div>90 · train · off</div>`, `<code>refine digits show 91..128</code>`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestUntrusted: names and messages can't bring elements into a notebook.
func TestUntrusted(t *testing.T) {
	v := digitsFinal()
	evil := `<img src=x onerror=alert(1)>` + "\x1b[31m\u202e"
	v.Description, v.Rows[0].Label, v.Best.Label = evil, evil, evil
	v.Rows[10].Message = evil
	for _, out := range []Output{WatchTable(evil, v), Models("d", v), Best("d", api.Report{Task: v.Task, Best: v.Best}), Tasks("alice", []api.Task{v.Task}), WatchChart("d", v, false)} {
		if strings.Contains(out.HTML, "<img") || strings.ContainsAny(out.Text+out.HTML, "\x1b\u202e") {
			t.Errorf("untrusted text came through:\n%s\n%q", out.HTML, out.Text)
		}
	}
}
