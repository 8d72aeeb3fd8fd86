// Package allocator decides whose turn it is and which candidate is trained next.
//
// It is a deterministic state machine: [Allocator.Apply] takes an event in, [Allocator.Next] answers for a free device
// of some class, [Allocator.Snapshot] and [Restore] carry the state over a restart. The tenant is a search. For each
// search it keeps two exact Gaussian-process posteriors over the search's candidates, one for the quality and one for
// the logarithm of the seconds, both started from a [Prior], which is a plain value fitted from past searches.
//
// What does not happen here: no clock is read, nothing is stored or sent, no goroutine is started, no device is
// counted. The caller owns an Allocator from one goroutine, applies what has really happened, and asks.
//
// README.md states every rule with its equation and where it comes from. Sub-package replay runs the same values
// under a virtual clock over measured matrices.
package allocator
