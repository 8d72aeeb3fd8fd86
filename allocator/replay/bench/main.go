// Command bench writes the allocator's report, docs/allocator-report.md, from replays of the matrices in
// allocator/replay/testdata and from the lines that the speed tests print. `make bench-allocator` runs it.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/allocator/replay"
)

func main() {
	draws := flag.Int("draws", 200, "paired draws of a replay")
	few := flag.Int("few", 200, "draws of the tables of little history on the large matrices, and of generated ones")
	choose := flag.Int("choose", 60, "draws by which constants are chosen on the small matrices")
	chooseLarge := flag.Int("choose-large", 24, "draws by which constants are chosen on the large matrices")
	choices := flag.String("choices", "build/allocator-choices.json", "file that keeps what the part head chose")
	large := flag.Int("large", 200, "draws of a replay of Oboe and 179CLASSIFIER, whose priors take long to fit")
	seed := flag.Uint64("seed", 1, "seed")
	data := flag.String("data", "allocator/replay/testdata", "folder of the matrices")
	speed := flag.String("speed", "", "file of the lines that the speed tests printed")
	out := flag.String("out", "docs/allocator-report.md", "report")
	only := flag.String("parts", "", "parts to make anew, of head, main, devices, history, speed, right, others, the rest as -out has it; none = all")
	flag.Parse()
	b := &bench{only: *only, out: *out, choose: *choose, chooseLarge: *chooseLarge, choices: *choices, draws: *draws, few: *few, large: *large, seed: *seed, data: *data}
	if err := b.write(*speed); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	choose, chooseLarge int
	draws, few, large   int
	seed                uint64
	data                string
	out, only, choices  string
	text                strings.Builder
	after               string // what an earlier report has of the parts that follow
}

// mark begins a part of the report, for a later run that makes other parts anew.
func mark(part string) string { return "<!-- part: " + part + " -->\n" }

// earlier is what a report has of each part.
func earlier(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-parts makes some parts of a report anew, so -out must name a whole one: %w", err)
	}
	parts := map[string]string{}
	for _, p := range strings.Split(string(text), "<!-- part: ")[1:] {
		name, rest, _ := strings.Cut(p, " -->\n")
		parts[name] = rest
	}
	return parts, nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(&b.text, format+"\n", args...) }

// matrix is one of the measured matrices.
type matrix struct {
	name, folder string
	features     bool
	synthetic    bool              // costs are drawn
	drop         []string          // candidates that are left out
	chosen       allocator.Options // the constants that the other matrices choose
	rows         []allocator.Row
	bound        float64 // what default over hybrid at a loss of 0.01 should be at most
}

var matrices = []matrix{
	{name: "DEEPLEARNING", folder: "deeplearning22", drop: []string{"VGG-19"}, bound: 0.8},
	{name: "TabZilla", folder: "tabzilla104", bound: 1.0 / 6},
	{name: "Oboe", folder: "oboe200", features: true, bound: 1.0 / 9},
	{name: "179CLASSIFIER", folder: "classifier179", features: true, synthetic: true, bound: 1},
}

func (b *bench) config(m *matrix, draws int) replay.Config {
	at := b.data + "/" + m.folder + "/"
	c := replay.Config{Quality: at + "quality.csv", Cost: at + "cost.csv", Drop: m.drop, Repeats: draws, Seed: b.seed, NoRho: true, Short: true}
	if m.features {
		c.Features = at + "datasets.csv"
	}
	if m.synthetic {
		c.Cost = fmt.Sprintf("%s:%d", replay.SyntheticCost, b.seed)
	}
	return c
}

// heldOutName is the default policy with the constants that the other matrices choose.
const heldOutName = "held out"

// orders are the two habits on DEEPLEARNING: citations as counted in 2017 (in words, not by a search), and dates of publication.
var orders = map[string][]string{
	allocator.PolicyMostCited:  {"AlexNet", "VGG-16", "GoogLeNet", "ResNet-50", "ResNet-18", "BN-AlexNet", "NIN", "SqueezeNet"},
	allocator.PolicyMostRecent: {"SqueezeNet", "ResNet-50", "ResNet-18", "BN-AlexNet", "VGG-16", "GoogLeNet", "NIN", "AlexNet"},
}

// done says that a part is replayed, and writes the report as far as it goes.
func (b *bench) done(part string) error {
	fmt.Fprintln(os.Stderr, "done:", part)
	return os.WriteFile(b.out, []byte(b.text.String()+b.after), 0o644)
}

func (b *bench) write(speed string) error {
	for i := range matrices {
		m := &matrices[i]
		if m.synthetic {
			if err := b.complete(m); err != nil {
				return err
			}
		}
		c := b.config(m, 1)
		var err error
		if m.rows, err = replay.Rows(c); err != nil {
			return err
		}
	}
	parts := []struct {
		name string
		of   func() error
	}{
		{"head", b.head}, {"main", b.main}, {"devices", b.devices}, {"history", b.history},
		{"speed", func() error { return b.speed(speed) }}, {"right", b.right}, {"others", b.others},
	}
	wanted := func(part string) bool { return b.only == "" || slices.Contains(strings.Split(b.only, ","), part) }
	old := map[string]string{}
	if b.only != "" {
		var err error
		if old, err = earlier(b.out); err != nil {
			return err
		}
	}
	if (wanted("main") || wanted("history")) && !wanted("head") { // they replay what the head chooses
		if err := b.recall(); err != nil {
			return err
		}
	}
	for i, part := range parts {
		b.text.WriteString(mark(part.name))
		if !wanted(part.name) {
			b.text.WriteString(old[part.name])
			continue
		}
		b.after = ""
		for _, p := range parts[i+1:] {
			if b.only != "" {
				b.after += mark(p.name) + old[p.name]
			}
		}
		if err := part.of(); err != nil {
			return err
		}
		if err := b.done(part.name); err != nil {
			return err
		}
	}
	return nil
}

// head says what the report is, where the constants come from, and which of them the other matrices choose.
func (b *bench) head() error {
	b.say("# The allocator, measured\n")
	b.say("Made by `make bench-allocator`, %d paired draws of the small matrices, %d of the large ones; a table with", b.draws, b.large)
	b.say("another number says so. Seed %d. Speed is of the machine it ran on, beside other work. A cell is the", b.seed)
	b.say("mean share of the cost of training everything, in per cent, until the tenants' loss was at most the target; ratios are ratios")
	b.say("of means with a 95 %% interval by bootstrap of the draws in pairs. 10 tenants, one device, all other rows history, unless said otherwise.")
	b.say("The rules are those of [allocator/README.md](../allocator/README.md); the matrices lie in allocator/replay/testdata, each with its SOURCE.md.")
	b.say("179CLASSIFIER has no times: its costs are drawn per candidate × per data set × noise from the seed, and its candidates that fail on")
	b.say("some data set are left out, since fitting rows with gaps takes long.\n")
	b.say("**Where the constants come from.** By a procedure inside the rule, on history rows alone, in each draw anew: target,")
	b.say("weight and pooling of the shrinkage, by how much means are drawn together, noise, degrees of freedom, slopes of the")
	b.say("seconds. By leaving one matrix out, in the first table below: the service exponent, its floor, Wait, the limits' slack,")
	b.say("limits at all, the logit's offset, and three variances of the seconds without history. By moments of the matrices, in")
	b.say("the second: the other beliefs where history is silent. What no matrix can show is structure, not fitted: the noise of")
	b.say("one observation, 0.01, is the variance of a share of 0.9 on 1,000 validation examples; the level of all seconds is as")
	b.say("good as unknown (variance 10), since so is their unit; no matrix has two device classes to tell a search's own")
	b.say("deviation on one, 0.25; the baseline's level -1.8 and its correlation 0.6 are those of the history that is shipped.")
	b.say("Not exercised here at all: what is added to the noise of censored, inherited and re-scored results, patience, openings,")
	b.say("and when a search is likely final. The last table judges the rule on matrices on which nothing was chosen.\n")
	return b.heldOut()
}

func (b *bench) right() error {
	b.say("## 7. Right\n")
	b.say("By tests, not by this report: `go test ./allocator/...` holds the posterior against gonum's Cholesky and stored vectors of scikit-learn (1e-8),")
	b.say("and checks by random events that the order of listing, the unit of cost, snapshots and")
	b.say("restarts change no decision, that a constant on all qualities changes nothing for the paper's rules, that no candidate runs twice to its end, and\nthat every trial ends or comes back.\n")
	return nil
}

// table writes one row per policy with the means at each target.
func (b *bench) table(r *replay.Report, of func(replay.PolicyReport) []replay.Stat) {
	head, line := "| |", "|---|"
	for _, t := range r.Settings.Targets {
		head += fmt.Sprintf(" %g |", t)
		line += "---|"
	}
	b.say("%s\n%s", head, line)
	for _, p := range r.Policies {
		row := "| " + p.Policy + " |"
		for _, s := range of(p) {
			row += fmt.Sprintf(" %.3g (%.3g–%.3g) |", 100*s.Mean, 100*s.Low, 100*s.High)
		}
		b.say("%s", row)
	}
	b.say("")
}

func targets(p replay.PolicyReport) []replay.Stat { return p.Targets }
func worst(p replay.PolicyReport) []replay.Stat   { return p.Worst }

// ratio of one policy to another at a target.
func (b *bench) ratio(r *replay.Report, mine, theirs string, target float64, of func(replay.PolicyReport) []replay.Stat) replay.Ratio {
	j := slices.Index(r.Settings.Targets, target)
	m, _ := r.Policy(mine)
	t, _ := r.Policy(theirs)
	return replay.RatioOf(of(m)[j].Draws, of(t)[j].Draws, b.seed)
}

func verdict(ok bool) string {
	if ok {
		return "reached"
	}
	return "**missed**"
}

// main is points 1 to 3.
func (b *bench) main() error {
	var worstLines []string
	for i := range matrices {
		m := &matrices[i]
		draws := b.draws
		if m.features {
			draws = b.large
		}
		c := b.config(m, draws)
		c.Policies = []string{"random", "roundrobin", "hybrid", "mm-ei", "default", heldOutName, replay.Clairvoyant}
		c.Variants = map[string]allocator.Options{heldOutName: m.chosen}
		if i == 0 {
			c.Policies = append([]string{allocator.PolicyMostCited, allocator.PolicyMostRecent}, c.Policies...)
			c.Orders = orders
			c.NoRho = false
		}
		r, err := replay.Run(c)
		if err != nil {
			return err
		}
		b.say("## %s, %d × %d, %d draws\n", m.name, r.Settings.Rows, r.Settings.Candidates, draws)
		b.say("Mean loss at most …, mean and its 95 %% interval:\n")
		b.table(&r, targets)
		b.say("Worst tenant's loss at most …:\n")
		b.table(&r, worst)
		if i == 0 {
			b.say("### 1. The paper's rule against the two habits\n")
			b.say("Order of citation: %s. Most recent first: %s. The paper has factors up to 9.8.\n", strings.Join(orders[allocator.PolicyMostCited], ", "), strings.Join(orders[allocator.PolicyMostRecent], ", "))
			for _, habit := range []string{allocator.PolicyMostCited, allocator.PolicyMostRecent} {
				line := "- " + habit + " over hybrid:"
				for _, t := range r.Settings.Targets {
					line += fmt.Sprintf(" %g: %s ×;", t, b.ratio(&r, habit, "hybrid", t, targets))
				}
				b.say("%s", line)
				x := b.ratio(&r, "hybrid", habit, 0.01, targets)
				b.say("  hybrid ≤ 1/5 at 0.01: %s (%s).", x, verdict(x.Value <= 0.2))
			}
			b.say("\nFinish-time fairness (time to the tenant's own loss over the time with an equal share alone; mean, 90th percentile) at 0.01: ")
			for _, p := range r.Policies {
				s := p.Rho[slices.Index(r.Settings.Targets, 0.01)]
				b.say("%s %.2f, %.2f;", p.Policy, s.Mean, s.P90)
			}
			b.say("")
		}
		line := "### 2. default over hybrid:"
		for _, t := range r.Settings.Targets {
			line += fmt.Sprintf(" %g: %s;", t, b.ratio(&r, "default", "hybrid", t, targets))
		}
		b.say("%s", line)
		x := b.ratio(&r, "default", "hybrid", 0.01, targets)
		ok := x.Value <= m.bound
		if i == 0 {
			ok = ok && x.High < 1
		}
		b.say("\nAt 0.01 it should be at most %.3g: %s. Held out: %s. Over clairvoyant, the room that is left: %s.\n", m.bound, verdict(ok),
			b.ratio(&r, heldOutName, "hybrid", 0.01, targets), b.ratio(&r, "default", replay.Clairvoyant, 0.01, targets))
		w := b.ratio(&r, "default", "roundrobin", 0.05, worst)
		if err := b.done(m.name); err != nil {
			return err
		}
		worstLines = append(worstLines, fmt.Sprintf("- %s: %s (%s)", m.name, w, verdict(w.Value <= 0.8)))
	}
	b.say("## 3. The worst tenant\n")
	b.say("Share of cost until the worst tenant's loss is at most 0.05, default over roundrobin; it should be at most 0.8:\n")
	b.say("%s\n", strings.Join(worstLines, "\n"))
	b.say("A search that stays runnable is served within (Wait+1)·N + 1 decisions of its class, Wait = 8, N runnable searches: the README derives it, a property test checks it.\n")
	return nil
}

// complete leaves the candidates out that fail somewhere.
func (b *bench) complete(m *matrix) error {
	f, err := os.Open(b.data + "/" + m.folder + "/quality.csv")
	if err != nil {
		return err
	}
	defer f.Close()
	q, err := replay.ReadMatrix(f, m.folder)
	if err != nil {
		return err
	}
	for k, name := range q.Columns {
		for i := range q.Rows {
			if x := q.Cells[i][k]; x != x {
				m.drop = append(m.drop, name)
				break
			}
		}
	}
	return nil
}

// devices is point 4.
func (b *bench) devices() error {
	b.say("## 4. Devices: TabZilla, 50 tenants, %d draws\n", b.draws)
	b.say("Times until the mean loss is at most 0.01, in per cent of the time on one device that training everything takes; speed-up over one device.\n")
	b.say("| devices | default | clairvoyant | speed-up of default | of clairvoyant | share of it |\n|---|---|---|---|---|---|")
	var one [2]float64
	for _, n := range []int{1, 2, 4, 8} {
		c := b.config(&matrices[1], b.draws)
		c.Tenants, c.Devices, c.Metric, c.Policies, c.Targets = 50, n, replay.MetricTime, []string{"default", replay.Clairvoyant}, []float64{0.01}
		r, err := replay.Run(c)
		if err != nil {
			return err
		}
		var t [2]float64
		for i := range t {
			t[i] = r.Policies[i].Targets[0].Mean / float64(n)
		}
		if n == 1 {
			one = t
		}
		d, k := one[0]/t[0], one[1]/t[1]
		b.say("| %d | %.3g | %.3g | %.2f | %.2f | %.2f, %s |", n, 100*t[0], 100*t[1], d, k, d/k, verdict(d/k >= 0.85))
	}
	b.say("")
	return nil
}

// others judges the rule where nothing was chosen: the paper's generated matrices.
func (b *bench) others() error {
	b.say("## Other matrices: the paper's generator, 200 × 100, %d draws\n", b.few)
	b.say("Nothing was chosen on these. default over hybrid, mean loss at most …:\n\n| SYN(σ, α) | 0.05 | 0.02 | 0.01 | 0.005 |\n|---|---|---|---|---|")
	for _, s := range []replay.Synthetic{{Sigma: 0.01, Alpha: 0.1}, {Sigma: 0.01, Alpha: 1}, {Sigma: 0.5, Alpha: 0.1}, {Sigma: 0.5, Alpha: 1}} {
		r, err := replay.Run(replay.Config{Synthetic: &s, Repeats: b.few, Seed: b.seed, NoRho: true, Short: true, Policies: []string{"hybrid", "default"}})
		if err != nil {
			return err
		}
		row := fmt.Sprintf("| %g, %g |", s.Sigma, s.Alpha)
		for _, t := range r.Settings.Targets {
			row += fmt.Sprintf(" %s |", b.ratio(&r, "default", "hybrid", t, targets))
		}
		b.say("%s", row)
	}
	return nil
}

// speed is point 6: it puts the printed lines into a table.
func (b *bench) speed(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b.say("## 6. Speed\n")
	b.say("One result to the next decision, with its reasons, in one thread; a test holds that it allocates nothing.\n")
	b.say("On the clock, and by the thread's own processor time; what the clock has more is the machine's other work.\n")
	b.say("| searches | candidates | observations each | p50 µs | p99 µs | own p50 µs | own p99 µs |\n|---|---|---|---|---|---|---|")
	var ours float64
	var tail []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var n, k, o int
		var p50, p99, own50, own99 float64
		var name string
		line := strings.TrimSpace(lines.Text())
		if _, err := fmt.Sscanf(line, "speed searches=%d candidates=%d observations=%d p50=%f p99=%f own50=%f own99=%f", &n, &k, &o, &p50, &p99, &own50, &own99); err == nil {
			b.say("| %d | %d | %d | %.1f | %.1f | %.1f | %.1f |", n, k, o, p50/1e3, p99/1e3, own50/1e3, own99/1e3)
			if n == 10000 {
				ours = p50
			}
		}
		if _, err := fmt.Sscanf(line, "heap searches=%d candidates=%d observations=%d bytes=%f", &n, &k, &o, &p50); err == nil {
			tail = append(tail, fmt.Sprintf("Live heap at %d searches × %d candidates × %d observations, one device class: %.2f GB (%s; at most 2).", n, k, o, p50/1e9, verdict(p50 <= 2e9)))
		}
		if _, err := fmt.Sscanf(line, "peer %s p50=%f", &name, &p50); err == nil && ours > 0 {
			tail = append(tail, fmt.Sprintf("- %s: %.2f ms for one search's decision, %.0f times ours among 10,000 searches.", name, p50/1e6, p50/ours))
		} else if strings.HasPrefix(line, "peer optuna absent") {
			tail = append(tail, "- Optuna was not installed in this run, so it is not compared.")
		}
	}
	b.say("\n%s\n", strings.Join(tail, "\n"))
	b.say("It doesn't grow with the searches beyond the caches (a heap, so logarithmic; twice of it, since a limit asks for the second in turn), is linear in the candidates, and in the observations of")
	b.say("one search linear with a quadratic part that shows from about a hundred on. scikit-learn: 10 observations of 200 candidates, both qualities and")
	b.say("seconds, kernel fitted (refit) or fixed. Priors are fitted beside this path, in a goroutine of the server.\n")
	return lines.Err()
}
