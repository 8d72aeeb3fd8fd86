package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/kernel/cells"
)

func cellsCommand() *cobra.Command {
	var stdio bool
	cmd := &cobra.Command{
		Use:   "cells --stdio",
		Short: "Run cells for another program, as JSON lines",
		Long: "Run cells for another program, such as the magics of a Python notebook: requests come on the standard input as JSON,\n" +
			"one a line, and what becomes of them goes to the standard output likewise. The end of the input ends it and what it runs.\n" +
			"docs/cells.md says what a line holds.",
		Example: `  {"type":"execute","request":1,"code":"tasks"}` + "\n" +
			`  {"type":"complete","request":2,"code":"wat","cursor":3}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), syscall.SIGTERM)
			defer stop()
			interrupts := make(chan os.Signal, 1)
			signal.Notify(interrupts, os.Interrupt)
			defer signal.Stop(interrupts)
			log, _, closeLog := kernelLog()
			defer closeLog()
			handler := cells.New(cells.Config{Connect: findServer, Log: log})
			defer handler.Close()
			pipe := cells.Pipe{Handler: handler, Version: version, Stop: interrupts, Log: log}
			pipe.Serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "by the standard input and output, which is the only way there is")
	cobra.CheckErr(cmd.MarkFlagRequired("stdio"))
	return cmd
}
