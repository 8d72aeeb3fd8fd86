//go:build unix

package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/server"
)

func tokenCommand() *cobra.Command {
	var state, label string
	var admin, revoke bool
	cmd := &cobra.Command{
		Use:   "token USER",
		Short: "Make a token for a user",
		Long: "Make a token for a user of the server whose state lies in --state, and print it once: only its hash is kept.\n" +
			"The server may be running. The user sets EASEML_SERVER to its address and EASEML_TOKEN to the token.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := filepath.Abs(state)
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			if revoke {
				n, err := server.RevokeTokens(cmd.Context(), state, args[0], label, log)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%d tokens of %s revoked\n", n, args[0])
				}
				return err
			}
			token, err := server.NewToken(cmd.Context(), state, args[0], label, admin, log)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), token)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", connect.StateFolder(os.Getenv), "folder of the server's state")
	f.StringVar(&label, "label", "", "a word to find the token by later")
	f.BoolVar(&admin, "admin", false, "the user may see and do everything")
	f.BoolVar(&revoke, "revoke", false, "end the user's tokens with this label instead")
	return cmd
}
