//go:build !unix

package main

import "io"

// terminalSize is not known here: outputs are printed when they are complete.
func terminalSize(io.Writer) func() (columns, rows int) { return nil }
