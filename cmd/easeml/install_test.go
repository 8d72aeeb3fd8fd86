package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstall lays the kernel down in each of the places, again over what is there,
// and takes it away.
func TestInstall(t *testing.T) {
	folder := t.TempDir()
	for _, place := range []struct {
		name  string
		flags []string
		env   []string
		want  string
	}{
		{"the person's, which is the default", nil, []string{"JUPYTER_DATA_DIR=" + filepath.Join(folder, "data")}, "data/kernels/easeml"},
		{"the person's", []string{"--user"}, []string{"JUPYTER_DATA_DIR=" + filepath.Join(folder, "mine")}, "mine/kernels/easeml"},
		{"the environment's", []string{"--sys-prefix"}, []string{"VIRTUAL_ENV=" + filepath.Join(folder, "venv")}, "venv/share/jupyter/kernels/easeml"},
		{"a named one, relative to here", []string{"--prefix", "opt"}, nil, "opt/share/jupyter/kernels/easeml"},
	} {
		t.Run(place.name, func(t *testing.T) {
			easeml := func(command string) (out string, status int) {
				t.Helper()
				cmd := exec.Command(binary, append([]string{command}, place.flags...)...)
				cmd.Dir, cmd.Env = folder, append([]string{"HOME=" + folder, "PATH=" + os.Getenv("PATH")}, place.env...)
				text, err := cmd.CombinedOutput()
				if exit, ok := errors.AsType[*exec.ExitError](err); ok {
					return string(text), exit.ExitCode()
				} else if err != nil {
					t.Fatal(err)
				}
				return string(text), 0
			}
			where := filepath.Join(folder, filepath.FromSlash(place.want))
			file := filepath.Join(where, "kernel.json")
			for range 2 {
				if out, status := easeml("install"); status != 0 || !strings.Contains(out, where) {
					t.Fatalf("%d: %s", status, out)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var spec struct{ Argv []string }
				if err := json.Unmarshal(text, &spec); err != nil || len(spec.Argv) == 0 || spec.Argv[0] != binary {
					t.Errorf("%s, %v", text, err)
				}
				if err := os.Chmod(file, 0o444); err != nil { // an earlier one may have left it so
					t.Fatal(err)
				}
			}
			if out, status := easeml("uninstall"); status != 0 || !strings.Contains(out, where) {
				t.Errorf("%d: %s", status, out)
			}
			if _, err := os.Stat(where); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", where, err)
			}
			if out, status := easeml("uninstall"); status != 1 || !strings.Contains(out, "There is no easeml kernel in "+where) {
				t.Errorf("%d: %s", status, out)
			}
		})
	}
	cmd := exec.Command(binary, "install", "--user", "--sys-prefix")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "sys-prefix") {
		t.Errorf("%v, %s", err, out)
	}
}
