package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/kernel/cells"
	"github.com/easeml/easeml/kernel/jupyter"
)

// largestLog is the size from which a kernel's log is begun anew; the one before
// is kept.
const largestLog = 4 << 20

func kernelCommand() *cobra.Command {
	var connection string
	cmd := &cobra.Command{
		Use:   "kernel --connection-file FILE",
		Short: "Run a notebook's kernel; Jupyter starts it",
		Long:  "Run a notebook's kernel. Jupyter does so when a notebook is opened: easeml install lets it know.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKernel(cmd.Context(), connection)
		},
	}
	cmd.Flags().StringVarP(&connection, "connection-file", "f", "", "file with the addresses and the key, written by Jupyter")
	cobra.CheckErr(cmd.MarkFlagRequired("connection-file"))
	return cmd
}

// runKernel serves one notebook until it is shut down.
func runKernel(ctx context.Context, connection string) error {
	// Ctrl+C in the terminal of a notebook server reaches the kernel too: it stops
	// the cell, never the kernel.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	log, folder, closeLog := kernelLog()
	defer closeLog()
	history := ""
	if folder != "" {
		history = filepath.Join(folder, "history")
	}
	handler := cells.New(cells.Config{Connect: findServer, Notebook: os.Getenv("JPY_SESSION_NAME"), Log: log})
	defer handler.Close()
	return jupyter.Serve(ctx, jupyter.Config{
		ConnectionFile: connection, Info: kernelInfo(), HistoryFile: history, Log: log, Interrupts: interrupts, AtRest: shrink,
	}, handler)
}

func kernelInfo() jupyter.Info {
	return jupyter.Info{
		Implementation: "easeml",
		Version:        version,
		Banner:         fmt.Sprintf("easeml %s · say what goes in and what comes out, feed examples, get the best model · help", version),
		Language: jupyter.Language{
			Name: "easeml", Version: "1", MIMEType: "text/x-easeml", FileExtension: ".easeml", PygmentsLexer: "python",
			// Frontends without our highlighting fall back to that of a language with the same comments and strings. Its tokens have to
			// be words: where a line is one token, JupyterLab takes the line for what is being completed.
			CodeMirrorMode: map[string]string{"name": "easeml", "mime": "text/x-python"},
		},
	}
}

// kernelLog is the log that a person's kernels share, and the folder of what they
// keep; where that can't be made it is "" and nothing is kept.
func kernelLog() (log *slog.Logger, folder string, closeLog func()) {
	folder = filepath.Join(connect.StateFolder(os.Getenv), "kernel")
	if os.MkdirAll(folder, 0o700) != nil {
		folder = ""
	}
	out, closeLog := io.Writer(io.Discard), func() {}
	if folder != "" {
		if file, err := openLog(filepath.Join(folder, "kernel.log")); err == nil {
			out, closeLog = file, func() { file.Close() }
		}
	}
	return slog.New(slog.NewTextHandler(out, nil)).With("pid", os.Getpid()), folder, closeLog
}

// openLog opens a log file for appending.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > largestLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
