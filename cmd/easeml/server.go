//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/user"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/server"
)

func serverCommand() *cobra.Command {
	var cfg server.Config
	var python string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the server that searches for models",
		Long: "Run the server that searches for models, until it is interrupted. Its state (tasks, examples, models) lies in one\n" +
			"folder on a local disk. People reach it with a token: easeml token USER --state DIR.",
		Example: "  easeml server --state /var/lib/easeml --listen 0.0.0.0:8700\n" +
			"  easeml server --devices cpu:2            # two CPU slots, whatever the machine has",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			cfg.Version = version
			if cfg.Python, err = server.FindPython(cmd.Context(), python, binary); err != nil {
				return err
			}
			if cfg.Private {
				cfg.User = userName()
				return runPrivate(cmd.Context(), cfg)
			}
			return server.Run(cmd.Context(), cfg, func(r server.Ready) error {
				return tell(cmd.OutOrStdout(), cfg, r)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.State, "state", connect.StateFolder(os.Getenv), "folder of the state, on a local disk")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8700", "address to listen on, HOST:PORT")
	f.StringVar(&cfg.Devices, "devices", "", `devices, such as "cpu:2" or "gpu:4:h200,cpu:2" (the default is what is found)`)
	f.StringVar(&cfg.Policy, "policy", "default", "whose turn and which candidate: default, hybrid, roundrobin")
	f.StringVar(&python, "python", "", "Python of the trainer (default: EASEML_PYTHON, a .venv beside the binary, python3)")
	f.BoolVar(&cfg.Private, "private", false, "a server for yourself that ends when it was idle; kernels start it")
	f.DurationVar(&cfg.Idle, "idle", 15*time.Minute, "with --private: end after so long without use")
	f.BoolVar(&verbose, "verbose", false, "log more")
	cmd.AddCommand(serverStopCommand())
	return cmd
}

// runPrivate serves one user on a free port of this machine, and leaves the
// record by which that user's kernels find it.
func runPrivate(ctx context.Context, cfg server.Config) error {
	cfg.Listen = "127.0.0.1:0"
	var instance string
	err := server.Run(ctx, cfg, func(r server.Ready) error {
		instance = r.Instance
		return connect.Publish(cfg.State, connect.Record{URL: r.URL, PID: os.Getpid(), Token: r.Token, Instance: r.Instance})
	})
	if instance != "" {
		if werr := connect.Withdraw(cfg.State, instance); err == nil {
			err = werr
		}
	}
	return err
}

// tell says on the terminal where the server is and what it has.
func tell(w io.Writer, cfg server.Config, r server.Ready) error {
	var devices []string
	for _, d := range r.Devices {
		devices = append(devices, d.ID)
	}
	_, err := fmt.Fprintf(w, "easeml %s at %s\n  state    %s\n  devices  %s\n  trainer  %s\nA user reaches it with a token: easeml token USER --state %s\n",
		cfg.Version, reachable(r.URL), cfg.State, strings.Join(devices, ", "), r.Python, cfg.State)
	return err
}

// reachable is an address that other machines can use, where the server listens on all of this one's.
func reachable(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsUnspecified() {
		return address
	}
	name, err := os.Hostname()
	if err != nil {
		return address
	}
	u.Host = net.JoinHostPort(name, u.Port())
	return u.String()
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.@+-]`)

// userName is what the operating system calls whoever runs this.
func userName() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if name = notInName.ReplaceAllString(name, "_"); name == "" {
		return "me"
	}
	return name
}
