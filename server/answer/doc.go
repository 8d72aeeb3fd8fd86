// Package answer keeps resident predictors: processes that have loaded one
// model and answer from it, with the very preprocessing of its training.
//
// A few stay open, the least recently used is closed for the next; one that
// nobody asked for a while is closed too. They run on service slots outside
// the pool. Which model answers for a task is decided elsewhere.
package answer
