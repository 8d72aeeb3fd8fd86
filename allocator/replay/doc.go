// Package replay runs the allocator against measured matrices under a virtual clock.
//
// A matrix has one row per data set (a user of the past) and one column per candidate; one matrix holds the qualities,
// one the seconds. A draw takes some rows as tenants whose searches start together; the other rows are history, from
// which the prior is fitted. Devices take what [allocator.Allocator.Next] says, a trial lasts as long as the matrix says,
// and its quality is told when it ends. The figure is the share of the cost of training everything that was spent until
// the tenants' mean loss (best in the row minus best found) fell to a target. Every policy sees the same draws.
//
// Nothing is trained, no clock is read, and the allocator is the product's own value, not a copy.
package replay
