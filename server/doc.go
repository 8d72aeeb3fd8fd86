// Package server wires the rooms together, starts them in order, and stops
// them in the opposite order. Nothing is decided here.
package server
