package search

import (
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/easeml/easeml/server/store"
)

// tieLevel is the two-sided level of the paired tests: below it two
// candidates can be told apart.
const tieLevel = 0.05

// Ties says which of the others can't be told apart from the best: a paired
// test on the losses of the same held-out examples. With losses of 0 and 1 it
// is McNemar's exact test; otherwise a paired t-test of the differences.
// Trials without comparable losses are not tied.
func Ties(best store.Trial, others []store.Trial) map[string]bool {
	tied := map[string]bool{}
	a := decode(best.HeldOut)
	for _, other := range others {
		b := decode(other.HeldOut)
		if other.ID == best.ID || len(a) == 0 || len(a) != len(b) {
			continue
		}
		if pairedP(a, b) >= tieLevel {
			tied[other.ID] = true
		}
	}
	return tied
}

func decode(b []byte) []float64 {
	out := make([]float64, len(b)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return out
}

// pairedP is the two-sided p-value of "a and b lose alike".
func pairedP(a, b []float64) float64 {
	binary, onlyA, onlyB := true, 0, 0
	sum, squares := 0.0, 0.0
	for i := range a {
		binary = binary && (a[i] == 0 || a[i] == 1) && (b[i] == 0 || b[i] == 1)
		d := a[i] - b[i]
		if d > 0 {
			onlyA++
		} else if d < 0 {
			onlyB++
		}
		sum += d
		squares += d * d
	}
	if onlyA+onlyB == 0 {
		return 1
	}
	n := float64(len(a))
	if binary {
		// McNemar (1947): given that one of the two is wrong, which one is a fair coin.
		k := float64(min(onlyA, onlyB))
		coin := distuv.Binomial{N: float64(onlyA + onlyB), P: 0.5}
		return math.Min(1, 2*coin.CDF(k))
	}
	variance := (squares - sum*sum/n) / (n - 1)
	if n < 3 || variance <= 0 {
		return 1
	}
	t := (sum / n) / math.Sqrt(variance/n)
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.CDF(-math.Abs(t))
}
