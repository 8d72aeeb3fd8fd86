// Package search is the one writer of search state: it owns the allocator and
// the pool, and a single goroutine changes either.
//
// A command (declare, feed, refine, stop, drop …) or a notice of the engine
// reaches that goroutine through one inbox. For each it commits rows and
// events in one transaction, then acts: tells the allocator, starts or signals
// a trial, frees a device. After a crash Open rebuilds the allocator from the
// rows and absorbs the folders that finished meanwhile; absorbing is
// idempotent by (trial, attempt), since only an attempt whose row has no
// outcome yet is absorbed.
//
//	http ──command──▶ inbox ─▶ commit rows + events ─▶ allocator.Apply ─▶ schedule
//	engine ─notice──▶                                                     │
//	   ▲                                                                  │
//	   └──────────── Start / Signal ◀── lease ◀── allocator.Next ◀────────┘
//
// Slow work (reading files, asking the trainer for candidates, scoring a model
// again) runs in the background, one change a task at a time, and comes back
// through the inbox. What does not happen here: HTTP, words for people, SQL.
package search
