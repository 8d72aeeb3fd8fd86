package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/easeml/easeml/kernel/cells"
	"github.com/easeml/easeml/kernel/jupyter"
)

func runCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run statements from a file, as a notebook's cell would",
		Long: "Run the statements of a file (- is the standard input), one after another, until one fails; then the exit status is 1.\n" +
			"What they say is what they say in a notebook.",
		Example: "  easeml run digits.easeml\n" +
			"  echo 'tasks' | easeml run -",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFile(cmd, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write outputs as JSON, one a line")
	return cmd
}

func runFile(cmd *cobra.Command, path string, asJSON bool) error {
	code, err := readStatements(cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(cmd.Context()))
	defer cancel(nil)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	go func() {
		select {
		case <-interrupts:
			cancel(jupyter.ErrInterrupted)
		case <-cmd.Context().Done():
			cancel(jupyter.ErrShutdown)
		case <-ctx.Done():
		}
	}()

	out := cmd.OutOrStdout()
	request := jupyter.ExecuteRequest{Code: code, AllowStdin: true}
	config := cells.Config{Connect: findServer, Page: func(text string) { request.Out.Stream("stdout", text+"\n") }}
	request.Prompt = &lineReader{in: cmd.InOrStdin(), out: cmd.ErrOrStderr(), used: path == "-"}
	failed := func(f *jupyter.Failure) {
		fmt.Fprintln(cmd.ErrOrStderr(), strings.Join(f.Traceback, "\n"))
	}
	finish := func() {}
	if asJSON {
		lines := cells.NewLines(out)
		request.Out, config.Page, failed = lines, lines.Page, lines.Failure
	} else {
		terminal := cells.NewTerminal(out, cmd.ErrOrStderr(), terminalSize(out))
		request.Out, config.Statement, finish = terminal, terminal.Statement, terminal.Close
	}
	handler := cells.New(config)
	_, err = handler.Execute(ctx, request)
	handler.Close()
	finish()
	if f, ok := errors.AsType[*jupyter.Failure](err); ok {
		failed(f)
		return exitStatus(1)
	}
	return err
}

func readStatements(stdin io.Reader, path string) (string, error) {
	if path == "-" {
		text, err := io.ReadAll(stdin)
		return string(text), err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// lineReader asks at the terminal.
type lineReader struct {
	in   io.Reader
	out  io.Writer
	used bool // the statements came from there, so no answer can
}

// Input shows prompt and reads a line; a password is not shown on a terminal. A
// line that is being typed ends the question only with Enter, also when ctx ends.
func (l *lineReader) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if l.used {
		return "", jupyter.ErrNoStdin
	}
	fmt.Fprint(l.out, prompt)
	read := func() (string, error) { return bufio.NewReader(l.in).ReadString('\n') }
	if file, ok := l.in.(*os.File); ok && password && term.IsTerminal(int(file.Fd())) {
		fd := int(file.Fd())
		if before, err := term.GetState(fd); err == nil {
			defer fmt.Fprintln(l.out)      // the person's own Enter isn't shown either
			defer term.Restore(fd, before) // also where an interrupt leaves the reading behind
		}
		read = func() (string, error) {
			text, err := term.ReadPassword(fd)
			return string(text), err
		}
	}
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		text, err := read()
		if text != "" {
			err = nil
		}
		typed <- answer{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case a := <-typed:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
