package server

import (
	"context"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/answer"
)

// trainer answers the search's questions that need the trainer but no lease.
type trainer struct {
	python  string
	answers *answer.Service
}

// Candidates starts the trainer for a moment; it imports nothing heavy for it.
func (t trainer) Candidates(ctx context.Context, program, profile []byte, template string) ([]trial.Candidate, error) {
	return engine.Candidates(ctx, t.python, program, profile, template)
}

// Rescore asks the resident predictor of the model.
func (t trainer) Rescore(ctx context.Context, model string, data trial.Data, metric string) (validation, test *trial.Score, err error) {
	return t.answers.Rescore(ctx, model, data, metric)
}
