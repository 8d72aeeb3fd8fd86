package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/easeml/easeml/install"
)

// place are the flags that say where the kernel is installed.
type place struct {
	user, environment bool
	prefix            string
}

func (p *place) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.user, "user", false, "for yourself (the default)")
	f.BoolVar(&p.environment, "sys-prefix", false, "into the Python environment in use")
	f.StringVar(&p.prefix, "prefix", "", "into share/jupyter of this folder")
	cmd.MarkFlagsMutuallyExclusive("user", "sys-prefix", "prefix")
}

func (p *place) options() (install.Options, error) {
	binary, err := os.Executable()
	if err != nil {
		return install.Options{}, err
	}
	o := install.Options{Binary: binary, Where: install.User}
	switch {
	case p.environment:
		o.Where = install.SysPrefix
	case p.prefix != "":
		o.Where = install.Prefix
		if o.Prefix, err = filepath.Abs(p.prefix); err != nil {
			return install.Options{}, err
		}
	}
	return o, nil
}

func installCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Let Jupyter know the easeml kernel",
		Long: "Let Jupyter know the easeml kernel: a folder with a description and pictures is written where Jupyter looks for\n" +
			"kernels. It names this very program, so install again when that has moved.",
		Example: "  easeml install                # for yourself\n" +
			"  easeml install --sys-prefix   # for all who use this Python environment, e.g. in an image",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			dir, err := install.Kernel(o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The easeml kernel is in %s.\n", dir)
			other, err := install.Shadow(o)
			if err != nil {
				return err
			}
			if other != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "But Jupyter finds the one in %s first; take that away to use this one.\n", other)
			} else {
				fmt.Fprintln(cmd.OutOrStdout(), "Choose \"easeml\" when you make a notebook.")
			}
			return nil
		},
	}
	p.flags(cmd)
	return cmd
}

func uninstallCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the easeml kernel away from Jupyter",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			dir, err := install.Remove(o)
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(cmd.OutOrStdout(), "There is no easeml kernel in %s.\n", dir)
				return exitStatus(1)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The easeml kernel in %s is gone.\n", dir)
			return nil
		},
	}
	p.flags(cmd)
	return cmd
}
