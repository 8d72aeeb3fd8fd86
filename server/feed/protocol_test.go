package feed

import (
	"testing"

	"github.com/easeml/easeml/gpu/trial"
)

// A validation part that a task has only begun to have, since it has grown, compares nothing yet.
func TestProtocol(t *testing.T) {
	three := 3
	for _, x := range []struct {
		parts trial.Parts
		folds *int
		want  trial.Protocol
	}{
		{trial.Parts{Train: 240, Test: 60}, nil, trial.Protocol{Kind: "folds", K: 5}},
		{trial.Parts{Train: 799, Validation: 5, Test: 200}, nil, trial.Protocol{Kind: "folds", K: 5}},
		{trial.Parts{Train: 799, Validation: 100, Test: 200}, nil, trial.Protocol{Kind: "holdout"}},
		{trial.Parts{Train: 195, Validation: 45, Test: 60}, nil, trial.Protocol{Kind: "holdout"}},
		{trial.Parts{Train: 700, Validation: 150, Test: 150}, &three, trial.Protocol{Kind: "folds", K: 3}},
	} {
		if got := Protocol(x.parts, x.folds); got != x.want {
			t.Errorf("%+v are compared by %+v, not %+v", x.parts, got, x.want)
		}
	}
}
