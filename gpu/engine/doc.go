// Package engine starts an attempt's folder on a lease and says how it ended. It does not know what a trial is for,
// reads no result, and decides nothing: server/search does.
//
// Local, the engine of one machine, keeps a warm parent (python -m easeml.trainer serve) that has imported everything
// and forks a child per attempt; while that is not ready, or cannot be had, an attempt starts cold. README.md has the
// states of an attempt.
//
// Beside the engine live the two other ways to the trainer: Predictor, a resident process that answers from one model,
// and Candidates, which asks for the list of models that fit a program and its data.
package engine
