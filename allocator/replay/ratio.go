package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Ratio is one policy's mean over another's on the same draws, with a 95 % interval by bootstrap of the draws in pairs.
type Ratio struct {
	Value     float64 `json:"value"`
	Low, High float64
}

func (r Ratio) String() string { return fmt.Sprintf("%.3g (%.3g–%.3g)", r.Value, r.Low, r.High) }

// RatioOf compares paired draws.
func RatioOf(mine, theirs []float64, seed uint64) Ratio {
	r := Ratio{Value: mean(mine) / mean(theirs)}
	r.Low, r.High = bootstrap(len(mine), seed, func(pick []int) float64 {
		a, b := 0.0, 0.0
		for _, i := range pick {
			a += mine[i]
			b += theirs[i]
		}
		return a / b
	})
	return r
}

// resamples of a bootstrap.
const resamples = 2000

// bootstrap is the 95 % percentile interval of a statistic of n draws.
func bootstrap(n int, seed uint64, statistic func(pick []int) float64) (low, high float64) {
	r := rand.New(rand.NewPCG(seed, 0xb007))
	values := make([]float64, resamples)
	pick := make([]int, n)
	for i := range values {
		for j := range pick {
			pick[j] = r.IntN(n)
		}
		values[i] = statistic(pick)
	}
	slices.Sort(values)
	return quantile(values, 0.025), quantile(values, 0.975)
}
