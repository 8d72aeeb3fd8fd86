package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const matrices = "../../allocator/replay/testdata/"

func runReplay(args ...string) (string, error) {
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"replay"}, args...))
	err := cmd.Execute()
	return out.String(), err
}

func TestReplay(t *testing.T) {
	dir := t.TempDir()
	figures, chart := filepath.Join(dir, "figures.json"), filepath.Join(dir, "loss.png")
	out, err := runReplay("--quality", matrices+"deeplearning22/quality.csv", "--cost", matrices+"deeplearning22/cost.csv", "--drop", "VGG-19",
		"--policies", "hybrid,default,most-cited", "--order", "most-cited=AlexNet,VGG-16,GoogLeNet", "--repeats", "3", "--target", "0.05,0.01",
		"--seed", "7", "--history", "5", "--json", figures, "--plot", chart)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"22 data sets × 8 candidates", "10 tenants, 1 device, 3 draws", "most-cited", "worst tenant"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	b, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Policies map[string]struct {
			Targets map[string]struct{ Mean, Low, High float64 }
		}
		Settings struct {
			History int
			Seed    int
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if x := got.Policies["default"].Targets["0.01"]; !(x.Low > 0 && x.Low <= x.Mean && x.Mean <= x.High) || got.Settings.History != 5 || got.Settings.Seed != 7 {
		t.Errorf("%+v", got)
	}
	if b, err := os.ReadFile(chart); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
		t.Errorf("the plot: %v", err)
	}
}

func TestReplayRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"no quality matrix was named":  {},
		"cannot be opened":             {"--quality", "nowhere.csv"},
		"--history many":               {"--quality", matrices + "deeplearning22/quality.csv", "--history", "many"},
		"--tenants 0":                  {"--quality", matrices + "deeplearning22/quality.csv", "--tenants", "0"},
		"--order AlexNet":              {"--quality", matrices + "deeplearning22/quality.csv", "--order", "AlexNet"},
		"says nothing of a synthetic":  {"--synthetic", "beta=1"},
		"such as --order most-recent=": {"--quality", matrices + "deeplearning22/quality.csv", "--policies", "most-recent"},
	} {
		_, err := runReplay(args...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v; it should say %q", args, err, want)
		}
	}
}
