package trial

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Value is an answer: a label, a series of them, or the numbers it consists of.
type Value struct {
	Label   string    // of a class; empty for the others
	Labels  []string  // of a series of labels
	Numbers []float64 // one for Tensor[1], flattened in order for more; nil for labels
}

// Prediction is one held-out answer beside the truth (predictions.arrow).
type Prediction struct {
	Number        int64
	Truth         Value
	Prediction    Value
	Probabilities []float64 // one per label in the target's order; nil when the model gives none
}

// ReadPredictions reads the held-out answers of a trial: number, truth, prediction and, where the model gives them,
// probabilities.
func ReadPredictions(path string) ([]Prediction, error) {
	var rows []Prediction
	err := eachBatch(path, func(b batch) error {
		number, err := b.ints("number", -1)
		if err != nil {
			return err
		}
		truth, err := b.column("truth")
		if err != nil {
			return err
		}
		answer, err := b.column("prediction")
		if err != nil {
			return err
		}
		probabilities, _ := b.column("probabilities") // optional
		if _, none := probabilities.(*array.Null); none {
			probabilities = nil
		}
		for i := range number {
			p := Prediction{Number: number[i]}
			if p.Truth, err = value(truth, i); err != nil {
				return fmt.Errorf("truth: %w", err)
			}
			if p.Prediction, err = value(answer, i); err != nil {
				return fmt.Errorf("prediction: %w", err)
			}
			if probabilities != nil {
				var ok bool
				if p.Probabilities, ok = numbers(probabilities, i); !ok {
					return fmt.Errorf("probabilities are %s, not numbers", probabilities.DataType())
				}
			}
			rows = append(rows, p)
		}
		return nil
	})
	return rows, err
}

func value(col arrow.Array, i int) (Value, error) {
	switch c := col.(type) {
	case *array.String, *array.LargeString, *array.Null:
		return Value{Label: text(col, i)}, nil
	case *array.Dictionary:
		if c.IsNull(i) {
			return Value{}, nil
		}
		return value(c.Dictionary(), c.GetValueIndex(i))
	}
	if list, ok := col.(array.ListLike); ok && isTexts(list.ListValues()) {
		begin, end := list.ValueOffsets(i)
		labels := make([]string, 0, end-begin)
		for k := begin; k < end; k++ {
			labels = append(labels, text(list.ListValues(), int(k)))
		}
		return Value{Labels: labels}, nil
	}
	n, ok := numbers(col, i)
	if !ok {
		return Value{}, fmt.Errorf("%s is neither labels nor numbers", col.DataType())
	}
	return Value{Numbers: n}, nil
}

func isTexts(col arrow.Array) bool {
	switch col.(type) {
	case *array.String, *array.LargeString:
		return true
	}
	return false
}
