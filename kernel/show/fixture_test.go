package show

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/easeml/easeml/api"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

var noon = time.Date(2026, 11, 24, 14, 2, 10, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// right215 is a share with its Wilson interval, as the trainer measures it.
func share(right, n int, guess float64) *api.Estimate {
	p := float64(right) / float64(n)
	z := 1.959964
	d := 1 + z*z/float64(n)
	mid := (p + z*z/(2*float64(n))) / d
	half := z / d * sqrt(p*(1-p)/float64(n)+z*z/(4*float64(n)*float64(n)))
	return &api.Estimate{Value: p, Low: mid - half, High: min(1, mid+half), N: n, Right: ptr(right), Metrics: map[string]float64{"accuracy": p, "guess": guess}}
}

func sqrt(x float64) float64 {
	g := x
	for range 60 {
		g = (g + x/g) / 2
	}
	return g
}

type tried struct {
	label, id string
	right     int
	seconds   float64
}

var digitsTried = []tried{
	{"logistic regression", "logreg", 211, 0.3},
	{"kNN, k = 1", "knn.k1", 213, 0.01},
	{"kNN, k = 5", "knn.k5", 214, 0.013},
	{"naive Bayes", "nb", 180, 0.02},
	{"SVM, rbf, C = 10", "svm-rbf.c10", 214, 0.03},
	{"extra trees, 300", "extra.300", 214, 0.5},
	{"random forest, 300", "rf.300", 212, 0.7},
	{"decision tree", "tree", 176, 0.02},
	{"LightGBM", "lgbm", 210, 2.2},
}

func digitsTask() api.Task {
	return api.Task{
		User: "alice", Name: "digits", Template: "image_classification",
		Description: "pictures of 8×8, 1 channel → one of 10 classes",
		State:       api.TaskSearching, Version: 1, Examples: 1437, Rejected: 3,
		Labels:   []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
		Classes:  map[string]int{"0": 142, "1": 146, "2": 142, "3": 153, "4": 144, "5": 150, "6": 145, "7": 141, "8": 137, "9": 137},
		Parts:    api.Parts{Train: 1006, Validation: 215, Test: 216},
		Protocol: api.Protocol{Kind: "holdout"}, Metric: api.Metric{Name: "accuracy"},
		Guess:      &api.Guess{Text: `always "3"`, Quality: 0.107},
		Candidates: 22, Tried: 10, Running: 2, Seconds: 3.8, Created: noon, Changed: noon,
	}
}

// digitsRunning is a search in the middle.
func digitsRunning() api.View {
	v := api.View{Task: digitsTask(), Now: noon.Add(90 * time.Second)}
	best, at, used := 0.0, noon, 0.01
	v.Curve = append(v.Curve, api.Point{Time: at, Seconds: used, Trial: 1, Label: "the guess", Quality: 0.107, Best: 0.107, Baseline: true, Candidate: "dummy"})
	order := []tried{}
	order = append(order, digitsTried...)
	for i, t := range order {
		at, used = at.Add(9*time.Second), used+t.seconds
		q := float64(t.right) / 215
		best = max(best, q)
		v.Curve = append(v.Curve, api.Point{Time: at, Seconds: used, Trial: i + 2, Label: t.label, Quality: q, Best: best, Candidate: t.id})
	}
	for _, i := range []int{2, 4, 5, 1, 6, 0, 8, 3, 7} {
		t := order[i]
		v.Rows = append(v.Rows, api.Row{Candidate: t.id, Version: 1, Label: t.label, State: "ok", Trial: ptr(i + 2),
			Search: share(t.right, 215, 0.107), Seconds: ptr(t.seconds), Tied: t.right >= 210 && i != 2})
	}
	v.Rows = append(v.Rows, api.Row{Candidate: "dummy", Label: "the guess: always \"3\"", Baseline: true, State: "ok", Trial: ptr(1), Search: share(23, 215, 0.107), Seconds: ptr(0.002)})
	v.Rows = append(v.Rows, api.Row{Candidate: "resnet18", Label: "ResNet-18", State: "running"})
	v.Rows = append(v.Rows, api.Row{Candidate: "mlp.256", Label: "MLP, 256", State: "running"})
	for _, l := range []string{"SVM, linear", "MLP, 64", "gradient boosting", "AlexNet", "VGG-11", "DenseNet-121", "MobileNet v3", "SqueezeNet", "ResNet-34", "EfficientNet-B0"} {
		v.Rows = append(v.Rows, api.Row{Label: l, State: "open"})
	}
	v.Best = &api.Best{Trial: 4, Candidate: "knn.k5", Label: "kNN, k = 5", Family: "knn", Version: 1, Seconds: 0.013,
		Search: *share(214, 215, 0.107), Test: share(212, 216, 0.106),
		TiedWith: []string{"SVM, rbf, C = 10", "extra trees, 300", "kNN, k = 1", "random forest, 300", "logistic regression", "LightGBM"}}
	v.Live = []api.Live{
		{Trial: 12, Candidate: "resnet18", Label: "ResNet-18", Device: "cpu0", Started: noon.Add(80 * time.Second), Phase: "fit", Step: 6, Of: 30, Unit: "epoch", Quality: ptr(209.0 / 215), Expected: 80},
		{Trial: 13, Candidate: "mlp.256", Label: "MLP, 256", Device: "cpu1", Started: noon.Add(89 * time.Second), Phase: "load", Expected: 4},
	}
	v.Outlook = &api.Outlook{ExpectedGain: 0.003, Chance: 0.31, Untried: 10, SecondsLow: 120, SecondsHigh: 360}
	return v
}

// digitsFinal is the same search when it has settled.
func digitsFinal() api.View {
	v := digitsRunning()
	v.State, v.Reason, v.Running, v.Tried, v.Failed = api.TaskSettled, api.SettledLikelyFinal, 0, 22, 1
	v.SettledAt = ptr(noon.Add(5 * time.Minute))
	v.Now = noon.Add(6 * time.Minute)
	v.Seconds = 290
	v.Live = nil
	v.Outlook = &api.Outlook{LikelyFinal: true, Chance: 0.02}
	v.Rows = append(v.Rows[:10:10], api.Row{Candidate: "googlenet", Label: "GoogLeNet", State: "failed", Kind: "unsupported", Message: "8×8 is too small for it."})
	return v
}

// diabetes is a weak regression.
func diabetes() api.View {
	test := &api.Estimate{Value: 0.33, Low: 0.14, High: 0.48, N: 89, Metrics: map[string]float64{
		"r2": 0.33, "mae": 46.2, "rmse": 57.9, "guess": 0, "mae_guess": 59.3, "mae_low": 39.2, "mae_high": 53.1}}
	search := &api.Estimate{Value: 0.53, Low: 0.36, High: 0.65, N: 66, Metrics: map[string]float64{
		"r2": 0.53, "mae": 43.1, "rmse": 53.2, "guess": 0, "mae_guess": 65.2, "mae_low": 36.9, "mae_high": 50.4}}
	worse := &api.Estimate{Value: 0.41, Low: 0.2, High: 0.55, N: 66, Metrics: map[string]float64{"r2": 0.41, "mae": 48.0, "mae_guess": 65.2, "guess": 0}}
	below := &api.Estimate{Value: 0, Low: 0, High: 0.1, N: 66, Metrics: map[string]float64{"r2": -0.12, "mae": 67.0, "mae_guess": 65.2, "guess": 0}}
	t := api.Task{User: "alice", Name: "diabetes", Template: "table", Description: "table of 10 numbers → a number", State: api.TaskSettled,
		Reason: api.SettledExhausted, Version: 1, Examples: 442, Parts: api.Parts{Train: 287, Validation: 66, Test: 89}, Protocol: api.Protocol{Kind: "holdout"},
		Metric: api.Metric{Name: "r2"}, Guess: &api.Guess{Text: "always the mean", Quality: 0, MAE: ptr(65.2)}, Candidates: 3, Tried: 4, Seconds: 0.9,
		Created: noon, Changed: noon, SettledAt: ptr(noon.Add(-26 * time.Hour))}
	v := api.View{Task: t, Now: noon}
	v.Best = &api.Best{Trial: 2, Candidate: "ridge", Label: "ridge regression", Version: 1, Seconds: 0.02, Search: *search, Test: test, TiedWith: []string{"random forest, 300"}}
	v.Rows = []api.Row{
		{Candidate: "ridge", Label: "ridge regression", State: "ok", Trial: ptr(2), Search: search, Seconds: ptr(0.02)},
		{Candidate: "rf", Label: "random forest, 300", State: "ok", Trial: ptr(3), Search: worse, Seconds: ptr(0.6), Tied: true},
		{Candidate: "tree", Label: "decision tree", State: "ok", Trial: ptr(4), Search: below, Seconds: ptr(0.01)},
		{Candidate: "mean", Label: "the guess: always the mean", State: "ok", Trial: ptr(1), Baseline: true, Search: &api.Estimate{N: 66, Metrics: map[string]float64{"r2": -0.001, "mae": 65.2}}, Seconds: ptr(0.001)},
	}
	v.Curve = []api.Point{
		{Time: noon.Add(-26 * time.Hour), Trial: 1, Label: "the guess", Baseline: true},
		{Time: noon.Add(-26 * time.Hour), Trial: 2, Label: "ridge regression", Quality: 0.53, Best: 0.53, Seconds: 0.02},
		{Time: noon.Add(-26 * time.Hour), Trial: 3, Label: "random forest, 300", Quality: 0.41, Best: 0.53, Seconds: 0.62},
		{Time: noon.Add(-26 * time.Hour), Trial: 4, Label: "decision tree", Quality: 0, Best: 0.53, Seconds: 0.63},
	}
	return v
}

// wine is small: folds and no test part.
func wine() api.View {
	t := api.Task{User: "alice", Name: "wine", Template: "table", Description: "table of 13 numbers → one of 3 classes", State: api.TaskSearching, Version: 2,
		Examples: 58, Parts: api.Parts{Train: 58}, Protocol: api.Protocol{Kind: "folds", K: 5}, Metric: api.Metric{Name: "accuracy"},
		Classes: map[string]int{"barolo": 19, "barbera": 16, "grignolino": 23}, Labels: []string{"barbera", "barolo", "grignolino"},
		Guess: &api.Guess{Text: `always "grignolino"`, Quality: 0.3966}, Candidates: 31, Tried: 5, Seconds: 0.9, Created: noon, Changed: noon}
	v := api.View{Task: t, Now: noon}
	v.Best = &api.Best{Trial: 2, Candidate: "logreg", Label: "logistic regression", Version: 2, Scored: 2, Seconds: 0.1, Search: *share(53, 58, 0.3966)}
	v.Rows = []api.Row{{Candidate: "logreg", Label: "logistic regression", State: "ok", Trial: ptr(2), Search: share(53, 58, 0.3966), Seconds: ptr(0.1)}}
	v.Curve = []api.Point{{Time: noon, Trial: 2, Label: "logistic regression", Quality: 53.0 / 58, Best: 53.0 / 58, Seconds: 0.1, Candidate: "logreg"}}
	v.Queue = &api.Queue{WaitingFor: "a CPU slot", Position: 2, EtaLow: 180, EtaHigh: 840}
	return v
}

// sepsis is a rare class, measured by a score.
func sepsis() api.View {
	est := func(v, low, high float64, n int) *api.Estimate {
		return &api.Estimate{Value: v, Low: low, High: high, N: n, Metrics: map[string]float64{"average_precision": v, "guess": 0.0489, "right": 0.95 * float64(n)}}
	}
	t := api.Task{User: "alice", Name: "sepsis", Template: "table", Description: "table of 40 columns → one of 2 classes", State: api.TaskSettled, Reason: api.SettledStopped, Stopped: true,
		Version: 1, Examples: 21904, Parts: api.Parts{Train: 15334, Validation: 3285, Test: 3285}, Protocol: api.Protocol{Kind: "holdout"},
		Metric:  api.Metric{Name: "average_precision", Reason: "because \"yes\" is rare, 4.9 %"},
		Classes: map[string]int{"no": 20831, "yes": 1073}, Labels: []string{"no", "yes"}, Guess: &api.Guess{Text: "the shares of the classes", Quality: 0.0489},
		Candidates: 41, Tried: 12, Seconds: 1320, Created: noon, Changed: noon, SettledAt: ptr(noon.Add(-20 * time.Hour))}
	v := api.View{Task: t, Now: noon}
	v.Best = &api.Best{Trial: 7, Candidate: "lgbm", Label: "LightGBM", Version: 1, Seconds: 61, Search: *est(0.412, 0.36, 0.46, 3285), Test: est(0.381, 0.33, 0.43, 3285)}
	return v
}

// waitingFor is a search of pictures that waits long, behind another user.
func waitingFor() api.View {
	v := digitsRunning()
	v.Live, v.Running, v.Rho = nil, 0, ptr(1.31)
	v.Queue = &api.Queue{WaitingFor: "a GPU", Position: 2, Of: 5, EtaLow: 420, EtaHigh: 1080, Ahead: &api.Ahead{Had: 0.2, Mine: 2880},
		InTheWay: api.InTheWay{Working: 2, Outside: 1, Unusable: 1}, Light: true, Waited: 120, Thought: [2]float64{300, 900}, Held: 88, Waits: 100}
	return v
}

func beginning() api.View {
	v := api.View{Task: digitsTask(), Now: noon}
	v.Examples, v.Rejected, v.Version, v.Tried, v.Running, v.Seconds = 1437, 0, 1, 0, 1, 0
	v.Live = []api.Live{{Trial: 1, Label: "the guess", Device: "cpu0", Started: noon, Expected: 2}}
	return v
}

// decided is a decision with its account.
func decided(trial int, candidate, label string, r api.Reason) api.Decision {
	text, _ := json.Marshal(r)
	return api.Decision{Trial: trial, Candidate: candidate, Label: label, Time: noon.Add(31 * time.Second), Reason: text}
}

func whyKNN() api.Decision {
	return decided(4, "knn.k5", "kNN, k = 5", api.Reason{Policy: "default", Turn: "rate share=0.14 searches=2 waited=1", AttainedShare: 0.14,
		Mean: 0.983, SD: 0.008, Seconds: 0.02, Score: 0.22, Best: 211.0 / 215, Device: "cpu0", DeviceClass: "cpu1", Gain: 0.0043, Chance: 0.6, Results: 2, Earlier: 312, PriorVersion: 7,
		Rivals: []api.Rival{
			{Candidate: "svm-rbf.c10", Mean: 0.984, SD: 0.009, Gain: 0.0053, Chance: 0.63, Seconds: 0.05},
			{Candidate: "extra.300", Mean: 0.986, SD: 0.006, Gain: 0.0057, Chance: 0.7, Seconds: 0.6},
			{Candidate: "lgbm", Mean: 0.979, SD: 0.006, Gain: 0.0015, Chance: 0.37, Seconds: 2},
			{Candidate: "resnet18", Mean: 0.988, SD: 0.008, Gain: 0.0078, Chance: 0.81, Seconds: 80}}})
}

func whyFirst() api.Decision {
	return decided(2, "logreg", "logistic regression", api.Reason{Policy: "default", Turn: "opening share=1 searches=3 waited=0", AttainedShare: 1,
		Mean: 0.9, SD: 0.08, Seconds: 0.3, Best: -1, Device: "cpu0", DeviceClass: "cpu1",
		Rivals: []api.Rival{{Candidate: "knn.k5", Mean: 0.92, SD: 0.07, Seconds: 0.1}, {Candidate: "resnet18", Mean: 0.95, SD: 0.05, Seconds: 80, Aside: "opening"}}})
}

func whyRidge() api.Decision {
	return decided(2, "ridge", "ridge regression", api.Reason{Policy: "hybrid", Turn: "gap share=0.5 searches=2", AttainedShare: 0.5,
		Mean: 0.4, SD: 0.15, Seconds: 0.05, Score: 1.2, Best: 0, Device: "cpu0", Gain: 0.4, Chance: 0.99, Results: 1,
		Rivals: []api.Rival{{Candidate: "rf", Mean: 0.45, SD: 0.15, Gain: 0.45, Chance: 0.99, Seconds: 1, Aside: "slower elsewhere=h200 times=40"}}})
}
