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
		share := func(policy string, target float64) Stat {
			p, _ := r.Policy(policy)
			return p.Targets[slices.IndexFunc(p.Targets, func(x Stat) bool { return x.Target == target })]
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
	c.Orders = map[string][]string{"most-cited": {"AlexNet", "VGG-16"}, "most-recent": {"SqueezeNet"}}
	one, two := run(t, c), run(t, c)
	one.Settings.Family, two.Settings.Family = nil, nil
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

// Ties go to the smaller id, and DEEPLEARNING's ids run from cheap to dear: renamed, a rule without history takes longer.
func TestRenaming(t *testing.T) {
	c := on("deeplearning22")
	c.Policies, c.Repeats, c.History = []string{allocator.PolicyRoundRobin, allocator.PolicyDefault, Clairvoyant}, 10, NoHistory
	asIs := run(t, c)
	c.Rename = true
	renamed := run(t, c)
	at := func(r Report, policy int) float64 { return r.Policies[policy].Targets[2].Mean }
	if !(at(renamed, 0) > 2*at(asIs, 0)) {
		t.Errorf("round robin needs %.3g, and renamed %.3g", at(asIs, 0), at(renamed, 0))
	}
	if !(at(renamed, 1) < at(renamed, 0)) {
		t.Errorf("renamed, the default needs %.3g, round robin %.3g", at(renamed, 1), at(renamed, 0))
	}
	if !reflect.DeepEqual(renamed.Policies[2], asIs.Policies[2]) {
		t.Error("new names changed what is possible")
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
	if four/4 > one/2 { // shares of the time on as many devices
		t.Errorf("four devices take %.4f of the time, one %.4f", four/4, one)
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
		"no quality matrix":               {},
		"nowhere.csv":                     {Quality: "nowhere.csv"},
		"unknown policy \"best\"":         {Quality: good, Policies: []string{"best"}},
		"tenants is -1":                   {Quality: good, Tenants: -1},
		"history is -2":                   {Quality: good, History: -2},
		"target 2":                        {Quality: good, Targets: []float64{2}},
		"unknown metric":                  {Quality: good, Metric: "speed"},
		"10 tenants were asked for":       {Quality: good},
		"no column left":                  {Quality: good, Drop: []string{"a", "b"}},
		"has no head line":                {Quality: file("empty.csv", "")},
		"has no rows":                     {Quality: file("head.csv", "dataset,a\n")},
		"line 1: there must be":           {Quality: file("narrow.csv", "dataset\nx\n")},
		`column name "a" is empty or`:     {Quality: file("twice.csv", "dataset,a,a\nx,1,1\n")},
		"line 2, column a: \"fast\"":      {Quality: file("text.csv", "dataset,a\nx,fast\n")},
		"line 3: row \"x\"":               {Quality: file("rows.csv", "dataset,a\nx,1\nx,1\n")},
		"line 2: there are 2 cells under": {Quality: file("ragged.csv", "dataset,a,b\nx,1\n")},
		"101 is no quality":               {Quality: file("high.csv", "dataset,a\nx,101\ny,3\n")},
		"row y has no quality":            {Quality: file("none.csv", "dataset,a\nx,1\ny,\n"), Tenants: 1},
		"a trial cannot take 0 s":         {Quality: good, Cost: file("zero.csv", "dataset,a,b\nx,0,1\ny,1,1\n")},
		"has no row y":                    {Quality: good, Cost: file("short.csv", "dataset,a,b\nx,1,1\n")},
		"has no column b":                 {Quality: good, Cost: file("thin.csv", "dataset,a\nx,1\ny,1\n")},
		"every data set needs its size":   {Quality: good, Features: file("sizes.csv", "dataset,rows\nx,10\n")},
		"has a single row, x":             {Quality: file("single.csv", "dataset,a,b\nx,1,0.5\n")},
		"all qualities are equal (0.5)":   {Quality: file("equal.csv", "dataset,a,b\nx,0.5,0.5\ny,0.5,0.5\n")},
		"has a column c":                  {Quality: good, Cost: file("wide.csv", "dataset,a,b,c\nx,1,1,1\ny,1,1,1\n")},
		"a quality but no cost":           {Quality: good, Cost: file("hole.csv", "dataset,a,b\nx,1,\ny,1,1\n")},
		"has no seed":                     {Quality: good, Cost: "synthetic:x"},
		"needs the order in which":        {Quality: good, Policies: []string{"most-cited"}},
		"is no candidate of":              {Quality: good, Tenants: 1, Orders: map[string][]string{"most-cited": {"z"}}},
		"named twice":                     {Quality: good, Policies: []string{"hybrid", "hybrid"}},
		"neither a row of":                {Quality: good, Arrivals: file("who.csv", "tenant,time\nz,1\n")},
		"no time to come at":              {Quality: good, Arrivals: file("when.csv", "tenant,time\nx,\n")},
		"needs sigma and alpha":           {Synthetic: &Synthetic{Sigma: 1}},
		"give one of the two":             {Quality: good, Synthetic: &Synthetic{Sigma: 1, Alpha: 1}},
		"is no size":                      {Quality: good, Features: file("minus.csv", "dataset,rows\nx,-1\ny,3\n")},
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

func TestSynthetic(t *testing.T) {
	s, err := ParseSynthetic("sigma=0.5, alpha=1.0")
	if err != nil || s.Sigma != 0.5 || s.Alpha != 1 {
		t.Fatal(s, err)
	}
	if _, err := ParseSynthetic("gamma=1"); err == nil {
		t.Error("gamma is taken")
	}
	r := run(t, Config{Synthetic: s, Repeats: 2, Tenants: 5, History: 20})
	if r.Settings.Rows != 200 || r.Settings.Candidates != 100 {
		t.Errorf("%d × %d", r.Settings.Rows, r.Settings.Candidates)
	}
}

// A tenant who comes late keeps the mean loss up until then, and nobody works for those who are not there.
func TestArrivals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "arrivals.csv")
	if err := os.WriteFile(path, []byte("tenant,time\nd03,0\n2,1e6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := on("deeplearning22")
	c.Arrivals, c.Repeats, c.Metric = path, 3, MetricTime
	r := run(t, c)
	if r.Settings.Tenants != 2 {
		t.Fatalf("%d tenants", r.Settings.Tenants)
	}
	for _, p := range r.Policies {
		if s := p.Targets[2]; s.Mean <= 1 || s.Reached != 3 { // 1e6 is far beyond what all trials take
			t.Errorf("%s: %+v", p.Policy, s)
		}
	}
}

// Every cell that is empty in the quality matrix fails, and its cost is spent.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	quality, cost := filepath.Join(dir, "q.csv"), filepath.Join(dir, "c.csv")
	for path, text := range map[string]string{quality: "d,a,b\nx,,0.9\ny,,0.9\nz,0.1,0.9\n", cost: "d,a,b\nx,1,9\ny,1,9\nz,1,9\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, Config{Quality: quality, Cost: cost, Tenants: 2, Repeats: 8, Policies: []string{"most-cited"}, Orders: map[string][]string{"most-cited": {"a", "b"}}})
	if s := r.Policies[0].Targets[0]; s.Median != 1 { // a comes first, fails or is poor, and so all is spent
		t.Errorf("%+v", s)
	}
}

func TestReportAsJSON(t *testing.T) {
	c := on("deeplearning22")
	c.Repeats, c.Policies = 4, []string{"default", "hybrid"}
	b, err := json.Marshal(run(t, c))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Policies map[string]struct {
			Targets, Worst, Rho map[string]map[string]any
			Area                float64
		}
		Settings map[string]any
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	p := got.Policies["default"]
	for name, m := range map[string]map[string]map[string]any{"targets": p.Targets, "worst": p.Worst, "rho": p.Rho} {
		for _, key := range []string{"mean", "median", "p10", "p90", "low", "high"} {
			if x, ok := m["0.01"][key].(float64); !ok || x <= 0 {
				t.Errorf("%s 0.01 %s: %v", name, key, m["0.01"][key])
			}
		}
	}
	if p.Area <= 0 || p.Area >= 1 || got.Settings["tenants"] != 10.0 {
		t.Errorf("area %v, settings %v", p.Area, got.Settings)
	}
}
