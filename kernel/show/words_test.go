package show

import (
	"testing"

	"github.com/easeml/easeml/api"
)

func TestTimes(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 0.001: "under 0.01 s", 0.031: "0.03 s", 0.5: "0.5 s", 0.97: "1 s", 1.6: "2 s", 40: "40 s", 59.7: "1 min",
		60: "1 min", 290: "4 min 50 s", 600: "10 min", 1620: "27 min", 3599: "1 h", 4800: "1 h 20 min", 7 * 3600: "7 h", 172800: "2 days", 273600: "3 days 4 h"} {
		if got := seconds(s); got != want {
			t.Errorf("%v is %q, not %q", s, got, want)
		}
	}
	for want, r := range map[string][2]float64{"about 20 s": {19, 21}, "2–6 min": {120, 360}, "1–2 s": {0.2, 2}, "40 s to 3 min": {38, 175}, "3 min to 1 h 20 min": {180, 4800}} {
		if got := between(r[0], r[1]); got != want {
			t.Errorf("%v is %q, not %q", r, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0.9814814: "98.1 %", 1: "100 %", 0.9999: "99.99 %", 0: "0 %", 0.0001: "0.01 %", 0.5: "50.0 %"} {
		if got := percent(v, 1); got != want {
			t.Errorf("%v is %q, not %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{46.2: "46", 0.0489: "0.049", 1240: "1,200", 0.33: "0.33", 123456: "120,000", -3.14: "-3.1", 2e12: "2e+12"} {
		if got := significant(v, 2); got != want {
			t.Errorf("%v is %q, not %q", v, got, want)
		}
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 22: "22nd", 113: "113th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d is %q, not %q", n, got, want)
		}
	}
	if got := percentRange(0.9, 0.9968, 0); got != "90–100 %" {
		t.Error(got)
	}
	if got := Number(0.98148148); got != "0.981481" {
		t.Error(got)
	}
}

// Every metric is said with what it is of and what guessing reaches.
func TestMetrics(t *testing.T) {
	e := api.Estimate{Value: 0.75, Low: 0.7, High: 0.8, N: 400, Metrics: map[string]float64{
		"mae": 2.5, "rmse": 3.5, "log_loss": 0.4, "r2": 0.75, "guess": 0.1, "mae_guess": 10, "mae_low": 2.2, "mae_high": 2.8}}
	for metric, want := range map[string]string{
		"accuracy":          "75.0 % right · likely 70.0–80.0 % · guessing 10.0 %",
		"balanced_accuracy": "balanced accuracy 0.75 · likely 0.70–0.80 · guessing 0.10",
		"r2":                "R² 0.75 · likely 2.2–2.8 · always saying the mean: off by 10",
		"mae":               "off by 2.5 · likely 2.2–2.8 · always saying the mean: off by 10",
		"rmse":              "off by (root mean square) 3.5 · likely 2.8–4.2 · always saying the mean: off by 14",
		"iou":               "overlap 0.75 · likely 0.70–0.80 · guessing 0.10",
		"token_accuracy":    "75.0 % of the labels right · likely 70.0–80.0 % · guessing 10.0 %",
		"log_loss":          "log loss 0.40 · likely 0.32–0.48 · guessing 1.6",
		"word_error":        "word error 0.75 · likely 0.70–0.80 · guessing 0.10",
	} {
		if got := join(short(metric, e), likely(metric, e), guessing(metric, e, nil)); got != want {
			t.Errorf("%s: %q, not %q", metric, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"abc": 3, "8×8 → 10": 8, "日本": 4, "é": 1, "👍": 2} {
		if got := columns(s); got != want {
			t.Errorf("%q takes %d, not %d", s, got, want)
		}
	}
	for _, s := range []string{"", "one", "a rather long line that has to be broken somewhere", "onewordthatislongerthanthewidthallowsforsure and more"} {
		for _, line := range wrap(s, 20, "  ") {
			if columns(line) > 20 && len(line) < 40 {
				t.Errorf("%q is too long", line)
			}
		}
	}
	if got := cut("日本語テキスト", 7); columns(got) > 7 {
		t.Error(got)
	}
}
