// Package history turns finished trials into the prior that new searches
// start from: what candidates reached and cost in earlier searches, on data of
// which size.
//
// It reads rows and calls the allocator's FitPrior; it decides nothing and
// writes nothing.
package history
