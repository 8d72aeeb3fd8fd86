package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/allocator/replay"
)

func replayCommand() *cobra.Command {
	var cfg replay.Config
	var orders []string
	var history, synthetic, jsonFile, plotFile string
	cmd := &cobra.Command{
		Use:   "replay --quality FILE [--cost FILE]",
		Short: "Compare policies on measured matrices, under a virtual clock",
		Long: "Compare policies on measured matrices, under a virtual clock. Rows are data sets (tenants), columns candidates; an\n" +
			"empty cell is a candidate that fails there. Some rows are served at once, the others are history; shown is how\n" +
			"much of the cost of training everything was spent until the tenants' loss (best in the row - best found) was small.\n" +
			"Nothing is trained; the policies are the server's own.\n\n" +
			"Policies: " + strings.Join(allocator.Policies(), ", ") + ", " + replay.Clairvoyant + " (knows every cell: what is possible).",
		Example: "  easeml replay --quality quality.csv --cost cost.csv --policies hybrid,default --repeats 100\n" +
			"  easeml replay --synthetic sigma=0.1,alpha=1.0 --tenants 50 --devices 4 --metric time --plot loss.png",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readReplay(&cfg, orders, history, synthetic); err != nil {
				return err
			}
			report, err := replay.Run(cfg)
			if err != nil {
				return err
			}
			if jsonFile != "-" { // the output is the figures alone then
				if err := report.WriteText(cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			if jsonFile != "" {
				if err := writeFile(jsonFile, cmd.OutOrStdout(), func(w io.Writer) error {
					e := json.NewEncoder(w)
					e.SetIndent("", " ")
					return e.Encode(report)
				}); err != nil {
					return err
				}
			}
			if plotFile == "" {
				return nil
			}
			return writeFile(plotFile, cmd.OutOrStdout(), func(w io.Writer) error {
				return report.WritePlot(w, strings.TrimPrefix(filepath.Ext(plotFile), "."))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Quality, "quality", "", "matrix of qualities, CSV: the first column names the data set; shares or per cent")
	f.StringVar(&cfg.Cost, "cost", "", `matrix of seconds, CSV, or "synthetic:SEED" to draw them (default: every trial takes 1 s)`)
	f.StringVar(&cfg.Features, "features", "", "sizes of the data sets, CSV: name, examples, features")
	f.StringSliceVar(&cfg.Policies, "policies", []string{allocator.PolicyRoundRobin, allocator.PolicyHybrid, allocator.PolicyDefault, replay.Clairvoyant}, "policies to compare")
	f.IntVar(&cfg.Tenants, "tenants", 10, "rows served at once")
	f.IntVar(&cfg.Devices, "devices", 1, "devices")
	f.IntVar(&cfg.Repeats, "repeats", 100, "draws of tenants, the same for every policy")
	f.Float64SliceVar(&cfg.Targets, "target", []float64{0.05, 0.02, 0.01, 0.005}, "losses to reach")
	f.StringVar(&cfg.Metric, "metric", replay.MetricCost, "what is counted: cost, or time (of total cost ÷ devices)")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the draws")
	f.StringVar(&history, "history", "all", "past rows the prior is fitted from: a number, or all")
	f.Float64Var(&cfg.Noise, "noise", 0, "standard deviation of an error on every observed quality")
	f.BoolVar(&cfg.KnownCosts, "known-costs", false, "tell the tenants' costs beforehand")
	f.StringSliceVar(&cfg.Drop, "drop", nil, "candidates to leave out")
	f.StringArrayVar(&orders, "order", nil, "order of a habit's candidates: most-cited=A,B,… or most-recent=A,B,…")
	f.StringVar(&synthetic, "synthetic", "", "draw the matrices by the paper's generator: sigma=0.1,alpha=1.0")
	f.StringVar(&cfg.Arrivals, "arrivals", "", "when tenants come, CSV: row or tenant's number, time")
	f.BoolVar(&cfg.Settle, "settle", false, "let searches end when they are likely final (default policy)")
	f.StringVar(&jsonFile, "json", "", "write the figures to a file (- for the output)")
	f.StringVar(&plotFile, "plot", "", "draw the losses over the cost into a .png, .svg or .pdf file")
	return cmd
}

// readReplay puts the flags that are not plain values into the configuration.
func readReplay(cfg *replay.Config, orders []string, history, synthetic string) (err error) {
	switch history {
	case "all":
		cfg.History = replay.AllHistory
	case "0":
		cfg.History = replay.NoHistory
	default:
		if n, err := fmt.Sscanf(history+"\n", "%d\n", &cfg.History); err != nil || n != 1 || cfg.History < 0 {
			return fmt.Errorf("--history %s: write a number of past rows, 0 for none, or all", history)
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"tenants", cfg.Tenants}, {"devices", cfg.Devices}, {"repeats", cfg.Repeats}} {
		if f.value < 1 {
			return fmt.Errorf("--%s %d: there must be at least one", f.name, f.value)
		}
	}
	for _, o := range orders {
		name, list, ok := strings.Cut(o, "=")
		if !ok || list == "" {
			return fmt.Errorf("--order %s: write the policy and its candidates, such as most-cited=A,B,C", o)
		}
		if cfg.Orders == nil {
			cfg.Orders = map[string][]string{}
		}
		for _, id := range strings.Split(list, ",") {
			cfg.Orders[name] = append(cfg.Orders[name], strings.TrimSpace(id))
		}
	}
	if synthetic != "" {
		cfg.Synthetic, err = replay.ParseSynthetic(synthetic)
	}
	return err
}

// writeFile writes a file, or to out for "-"; a file that could not be finished is an error.
func writeFile(path string, out io.Writer, write func(io.Writer) error) error {
	if path == "-" {
		return write(out)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	return f.Close()
}
