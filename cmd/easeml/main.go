// Command easeml is the whole product in one binary: the server, the Jupyter
// kernel, and what installs and looks after them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := root().ExecuteContext(ctx)
	stop()
	var status exitStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "easeml:", err)
		os.Exit(1)
	}
}

// exitStatus is an error that has been told already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "easeml",
		Short: "Model selection as a shared service, from notebooks",
		Long: "easeml finds the best model for your examples. Declare in a notebook what goes in and what comes out,\n" +
			"feed examples, and the server tries candidate models on the machines that there are, for everybody at once.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(serverCommand(), kernelCommand(), runCommand(), cellsCommand(), installCommand(), uninstallCommand(), tokenCommand(), doctorCommand(), replayCommand())
	return cmd
}
