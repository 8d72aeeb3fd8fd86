package search

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/easeml/easeml/gpu/trial"
)

func TestMistakes(t *testing.T) {
	var rows []trial.Prediction
	add := func(n int, truth, answer string, p float64) {
		for range n {
			rows = append(rows, trial.Prediction{Truth: trial.Value{Label: truth}, Prediction: trial.Value{Label: answer}, Probabilities: []float64{p, 1 - p}})
		}
	}
	add(20, "1", "1", 0.9)
	add(3, "8", "1", 0.6)
	add(1, "8", "3", 0.85)
	add(6, "8", "8", 0.95)
	add(1, "rare", "1", 0.7) // too few to be the weakest
	want := &Mistakes{N: 31, Wrong: 5, Pairs: []Pair{{"8", "1", 3}, {"8", "3", 1}, {"rare", "1", 1}},
		Classes: []OfClass{{"rare", RightOfN{0, 1}}, {"1", RightOfN{20, 20}}, {"8", RightOfN{6, 10}}},
		Weakest: &OfClass{"8", RightOfN{6, 10}}, Sure: &RightOfN{26, 27}, Unsure: &RightOfN{0, 4}}
	if got := mistakes(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	rows[0].Probabilities = nil
	if got := mistakes(rows); got.Sure != nil || got.Unsure != nil {
		t.Errorf("sure of what is not told: %+v", got)
	}
	rows[3].Truth = trial.Value{Numbers: []float64{1}}
	if got := mistakes(rows); got != nil {
		t.Errorf("mistakes of numbers: %+v", got)
	}
	if got := mistakes(nil); got != nil {
		t.Errorf("mistakes of nothing: %+v", got)
	}
}

// Series of labels are gone through place by place; what one side lacks is a
// mistake there, and counts so in the loss.
func TestMistakesOfSeries(t *testing.T) {
	series := func(number int64, truth, answer []string) trial.Prediction {
		return trial.Prediction{Number: number, Truth: trial.Value{Labels: truth}, Prediction: trial.Value{Labels: answer}}
	}
	rows := []trial.Prediction{
		series(2, []string{"D", "N"}, []string{"D", "V", "N"}),
		series(1, []string{"D", "N", "V"}, []string{"D", "N"}),
	}
	want := &Mistakes{N: 6, Wrong: 3, Pairs: []Pair{{nothing, "N", 1}, {"N", "V", 1}, {"V", nothing, 1}},
		Classes: []OfClass{{nothing, RightOfN{0, 1}}, {"D", RightOfN{2, 2}}, {"N", RightOfN{1, 2}}, {"V", RightOfN{0, 1}}}}
	if got := mistakes(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	got := losses(append(rows, trial.Prediction{Number: 3, Truth: trial.Value{Numbers: []float64{1, 2}}, Prediction: trial.Value{Numbers: []float64{1.5, 2, 4}}}))
	for i, want := range []float32{1.0 / 3, 2.0 / 3, 4.5} {
		if loss := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); math.Abs(float64(loss-want)) > 1e-6 {
			t.Errorf("the loss of example %d is %v, not %v", i+1, loss, want)
		}
	}
}
