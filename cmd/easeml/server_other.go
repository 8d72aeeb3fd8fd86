//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// errNoServer is what the server's commands say where processes can't be
// started and ended as trials need it.
var errNoServer = errors.New("a server runs on Linux and macOS only. Use one there: set EASEML_SERVER and EASEML_TOKEN")

func serverCommand() *cobra.Command {
	return unavailable("server", "Run the server that searches for models")
}

func tokenCommand() *cobra.Command { return unavailable("token USER", "Make a token for a user") }

func doctorCommand() *cobra.Command { return unavailable("doctor", "Look over a server's machine") }

func unavailable(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short + " (Linux and macOS)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return errNoServer },
	}
}
