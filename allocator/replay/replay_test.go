package replay

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/easeml/easeml/allocator"
)

func on(matrix string) Config {
	return Config{
		Quality: filepath.Join("testdata", matrix, "quality.csv"), Cost: filepath.Join("testdata", matrix, "cost.csv"),
		Drop: []string{"VGG-19"}, Repeats: 20,
	}
}

func run(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The default rule must stay ahead of the paper's on both real matrices; and all figures within a factor of two of those of
// an independent numpy replay of the same rules (other draws, 20 to 60 of them).
func TestDefaultIsAheadOfHybrid(t *testing.T) {
	reference := map[string]map[string]float64{ // mean share at a loss of 0.01
		"deeplearning22": {allocator.PolicyRoundRobin: 0.060, allocator.PolicyHybrid: 0.050, allocator.PolicyDefault: 0.036, Clairvoyant: 0.014},
		"tabzilla104":    {allocator.PolicyRoundRobin: 0.036, allocator.PolicyHybrid: 0.040, allocator.PolicyDefault: 0.0058, Clairvoyant: 0.0008},
	}
	for matrix, want := range reference {
		r := run(t, on(matrix))
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", matrix, b.String())
		share := func(policy string, target float64) TargetReport {
			p, _ := r.Policy(policy)
			return p.Targets[slices.IndexFunc(p.Targets, func(x TargetReport) bool { return x.Target == target })]
		}
		for policy, w := range want {
			if got := share(policy, 0.01).Mean; got < w/2 || got > 2*w {
				t.Errorf("%s, %s: %.4f of the cost to a loss of 0.01; the reference has %.4f", matrix, policy, got, w)
			}
		}
		for _, target := range []float64{0.01, 0.005} {
			d, h := share(allocator.PolicyDefault, target), share(allocator.PolicyHybrid, target)
			if d.Mean > 0.85*h.Mean {
				t.Errorf("%s, loss %g: default needs %.4f, hybrid %.4f", matrix, target, d.Mean, h.Mean)
			}
			if c := share(Clairvoyant, target); c.Mean > d.Mean {
				t.Errorf("%s, loss %g: clairvoyant needs %.4f, default %.4f", matrix, target, c.Mean, d.Mean)
			}
		}
	}
}

func TestTheSameSeedGivesTheSameReport(t *testing.T) {
	c := on("deeplearning22")
	c.Repeats, c.Noise, c.Policies = 3, 0.01, append(allocator.Policies(), Clairvoyant)
	one, two := run(t, c), run(t, c)
	one.Config.Family, two.Config.Family = nil, nil
	if !reflect.DeepEqual(one, two) {
		t.Error("two runs differ")
	}
	c.Seed = 1
	if three := run(t, c); reflect.DeepEqual(one.Policies, three.Policies) {
		t.Error("another seed gives the same draws")
	}
	if _, err := json.Marshal(one); err != nil {
		t.Error(err)
	}
}

// With more devices the clock runs shorter, at hardly more cost.
func TestMoreDevices(t *testing.T) {
	c := on("tabzilla104")
	c.Policies, c.Repeats = []string{allocator.PolicyDefault}, 10
	at := func(devices int, metric string) float64 {
		c.Devices, c.Metric = devices, metric
		r := run(t, c)
		return r.Policies[0].Targets[2].Mean
	}
	one, four := at(1, MetricTime), at(4, MetricTime)
	if four > one/2 {
		t.Errorf("four devices take %.4f of the time, one %.4f", four, one)
	}
	if cost := at(4, MetricCost); cost > 2*at(1, MetricCost) {
		t.Errorf("four devices cost %.4f, one %.4f", cost, one)
	}
}

func TestKnownCostsHelp(t *testing.T) {
	c := on("tabzilla104")
	c.Policies = []string{allocator.PolicyDefault}
	guessed := run(t, c).Policies[0].Targets[2].Mean
	c.KnownCosts = true
	if known := run(t, c).Policies[0].Targets[2].Mean; known > guessed {
		t.Errorf("with known costs %.4f, with predicted ones %.4f", known, guessed)
	}
}

func TestSettling(t *testing.T) {
	c := on("tabzilla104")
	c.Policies, c.Repeats, c.Settle = []string{allocator.PolicyDefault}, 5, true
	r := run(t, c)
	if e := r.Policies[0].End; e.Share >= 1 || e.Loss > 0.002 {
		t.Errorf("likely final at %.3f of the cost with a mean loss of %.4f", e.Share, e.Loss)
	}
}

func TestHistoryAndCosts(t *testing.T) {
	for _, c := range []Config{
		{Quality: "testdata/deeplearning22/quality.csv"},                                     // unit costs
		{Quality: "testdata/deeplearning22/quality.csv", Cost: SyntheticCost},                // drawn costs
		{Quality: "testdata/deeplearning22/quality.csv", History: -1},                        // no history
		{Quality: "testdata/deeplearning22/quality.csv", History: 3, KnownCosts: true},       // little
		{Quality: "testdata/deeplearning22/quality.csv", Tenants: 22, Devices: 3, Noise: .1}, // all are tenants
	} {
		c.Repeats = 2
		r := run(t, c)
		for _, p := range r.Policies {
			for _, target := range p.Targets {
				if !(target.Mean > 0 && target.Mean <= 1) || math.IsNaN(target.P90) {
					t.Errorf("%+v: %s %+v", c, p.Policy, target)
				}
			}
		}
		var b bytes.Buffer
		if err := r.WritePlot(&b, "png"); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("\x89PNG")) {
			t.Errorf("plot: %v", err)
		}
	}
}

func TestMessages(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.csv", "dataset,a,b\nx,0.5,0.6\ny,0.7,\n")
	for want, c := range map[string]Config{
		"no quality matrix":             {},
		"nowhere.csv":                   {Quality: "nowhere.csv"},
		"unknown policy \"best\"":       {Quality: good, Policies: []string{"best"}},
		"tenants is -1":                 {Quality: good, Tenants: -1},
		"history is -2":                 {Quality: good, History: -2},
		"target 2":                      {Quality: good, Targets: []float64{2}},
		"unknown metric":                {Quality: good, Metric: "speed"},
		"10 tenants were asked for":     {Quality: good},
		"no column left":                {Quality: good, Drop: []string{"a", "b"}},
		"has no head line":              {Quality: file("empty.csv", "")},
		"has no rows":                   {Quality: file("head.csv", "dataset,a\n")},
		"line 1: there must be":         {Quality: file("narrow.csv", "dataset\nx\n")},
		`column name "a" is empty or`:   {Quality: file("twice.csv", "dataset,a,a\nx,1,1\n")},
		"line 2, column a: \"fast\"":    {Quality: file("text.csv", "dataset,a\nx,fast\n")},
		"line 3: row \"x\"":             {Quality: file("rows.csv", "dataset,a\nx,1\nx,1\n")},
		"wrong number of fields":        {Quality: file("ragged.csv", "dataset,a,b\nx,1\n")},
		"101 is no quality":             {Quality: file("high.csv", "dataset,a\nx,101\n")},
		"row y has no cell":             {Quality: file("none.csv", "dataset,a\nx,1\ny,\n"), Tenants: 1},
		"a trial cannot take 0 s":       {Quality: good, Cost: file("zero.csv", "dataset,a,b\nx,0,1\ny,1,1\n")},
		"has no row y":                  {Quality: good, Cost: file("short.csv", "dataset,a,b\nx,1,1\n")},
		"has no column b":               {Quality: good, Cost: file("thin.csv", "dataset,a\nx,1\ny,1\n")},
		"every data set needs its size": {Quality: good, Features: file("sizes.csv", "dataset,rows\nx,10\n")},
		"is no size":                    {Quality: good, Features: file("minus.csv", "dataset,rows\nx,-1\ny,3\n")},
	} {
		_, err := Run(c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; it should say %q", err, want)
		}
	}
}

func FuzzReadMatrix(f *testing.F) {
	f.Add("dataset,a,b\nx,0.5,0.6\n")
	f.Add("a,b\n\"x\n\",1")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMatrix(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for _, row := range m.Cells {
			if len(row) != len(m.Columns) {
				t.Fatalf("a row of %d cells below %d columns", len(row), len(m.Columns))
			}
		}
	})
}
