// Package gpu keeps the books of the pool: which devices there are, who holds which, and why one cannot be had.
//
// It is integer bookkeeping and nothing else: no clock, no I/O, no goroutine. Package gpu/probe finds the devices,
// package gpu/engine runs a trial on a leased one, and server/search, the only owner of a Pool, decides who gets what.
// A device is leased whole and to one holder at a time; a MIG slice is a device of its own.
package gpu
