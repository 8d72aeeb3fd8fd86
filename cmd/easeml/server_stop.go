package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/api/connect"
)

func serverStopCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop your private server",
		Long:  "Stop the private server that a kernel of yours started. Nothing is lost: the next statement starts it again.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			record, ok := connect.ReadRecord(state)
			if !ok {
				fmt.Fprintln(cmd.OutOrStdout(), "No private server is running.")
				return nil
			}
			if err := connect.Stop(cmd.Context(), state, record, 30*time.Second); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The private server has stopped.")
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", connect.StateFolder(os.Getenv), "folder of the state")
	return cmd
}
