//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/kernel/show"
)

// doctor looks at one machine. Its places can be others in tests.
type doctor struct {
	state, listen, python string
	smi                   string // "" is nvidia-smi from the path
	binary                string
	getenv                func(string) string
	tell                  func(show.Check)
}

func (d *doctor) ok(what, format string, args ...any) {
	d.tell(show.Check{Level: show.CheckOK, What: what, Text: fmt.Sprintf(format, args...)})
}

// warn is for what works, but not as well as it could; do is what to do about it.
func (d *doctor) warn(what, do, format string, args ...any) {
	d.tell(show.Check{Level: show.CheckWarn, What: what, Do: do, Text: fmt.Sprintf(format, args...)})
}

// fail is for what keeps a server, a kernel or a device from working.
func (d *doctor) fail(what, do, format string, args ...any) {
	d.tell(show.Check{Level: show.CheckFail, What: what, Do: do, Text: fmt.Sprintf(format, args...)})
}

// all looks at everything, in the order in which a server needs it.
func (d *doctor) all(ctx context.Context) {
	d.folder()
	d.address(ctx)
	cards := d.devices(ctx)
	d.trainer(ctx, cards)
	d.private(ctx)
	d.site(ctx)
	d.kernel()
}

func doctorCommand() *cobra.Command {
	d := doctor{getenv: os.Getenv}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether everything is there that a server and its kernels need",
		Long: "Look at the state's disk, the address, the driver, the devices, the trainer's Python, the private server, the site's file\n" +
			"and the kernel, and say what to do. Nothing is changed. The exit status is 1 if something is not usable.",
		Example: "  easeml doctor\n" +
			"  easeml doctor --state /var/lib/easeml --listen 0.0.0.0:8700 --python /opt/easeml/.venv/bin/python",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if d.binary, err = os.Executable(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Minute)
			defer cancel()
			list, failed := []show.Check{}, false
			d.tell = func(c show.Check) {
				list, failed = append(list, c), failed || c.Level == show.CheckFail
				if !asJSON {
					fmt.Fprintln(cmd.OutOrStdout(), show.CheckLine(c))
				}
			}
			d.all(ctx)
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", " ")
				e.SetEscapeHTML(false)
				err = e.Encode(list)
			}
			if err == nil && failed {
				return exitStatus(1)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.state, "state", connect.StateFolder(os.Getenv), "folder of the server's state")
	f.StringVar(&d.listen, "listen", "127.0.0.1:8700", "address that a server would listen on")
	f.StringVar(&d.python, "python", "", "Python of the trainer (default: as the server finds it)")
	f.BoolVar(&asJSON, "json", false, "write a JSON list instead of lines")
	return cmd
}
