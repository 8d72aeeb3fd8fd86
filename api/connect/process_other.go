//go:build !unix

package connect

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Release()
	}
	return err == nil
}

// terminate ends a process; there is no asking here.
func terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// lock is missing here, and without it many kernels could start many servers.
func lock(context.Context, string) (func(), error) {
	return nil, errors.New("no private server can be started on this system. Start one with  easeml server  and set EASEML_SERVER and EASEML_TOKEN")
}
