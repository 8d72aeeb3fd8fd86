// Package history turns finished trials into the priors that new searches start
// from: what candidates reached and cost in earlier searches, on data of which
// size.
//
// It reads rows and calls the allocator's FitPrior, beside the path from a result
// to the next decision. What it writes are the priors themselves, each once, under
// a version of its own; it decides nothing.
package history
