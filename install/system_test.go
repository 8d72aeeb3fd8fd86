package install

import (
	"errors"
	"strings"
	"testing"
)

// system is one of tests: variables as NAME=VALUE, files that exist, the answer of its Python.
func system(os, home string, env []string, python string, files ...string) System {
	return System{
		OS: os, Home: home,
		Getenv: func(name string) string {
			for _, e := range env {
				if n, v, _ := strings.Cut(e, "="); n == name {
					return v
				}
			}
			return ""
		},
		Python: func() (string, error) {
			if python == "" {
				return "", errors.New("python3 is not there")
			}
			return python, nil
		},
		Exists: func(path string) bool {
			for _, f := range files {
				if f == path {
					return true
				}
			}
			return false
		},
	}
}

func TestUserDir(t *testing.T) {
	for _, x := range []struct {
		os, home string
		env      []string
		want     string
	}{
		{"linux", "/home/ann", nil, "/home/ann/.local/share/jupyter/kernels/easeml"},
		{"linux", "/home/ann", []string{"XDG_DATA_HOME=/data/ann"}, "/data/ann/jupyter/kernels/easeml"},
		{"linux", "/home/ann", []string{"JUPYTER_DATA_DIR=/jd/", "XDG_DATA_HOME=/data/ann"}, "/jd/kernels/easeml"},
		{"linux", "/home/ann", []string{"JUPYTER_PLATFORM_DIRS=1"}, "/home/ann/.local/share/Jupyter/kernels/easeml"},
		{"linux", "/home/ann", []string{"JUPYTER_PLATFORM_DIRS=0"}, "/home/ann/.local/share/jupyter/kernels/easeml"},
		{"linux", "/home/ann", []string{"JUPYTER_PATH=/site/jupyter"}, "/home/ann/.local/share/jupyter/kernels/easeml"},
		{"freebsd", "/home/ann", nil, "/home/ann/.local/share/jupyter/kernels/easeml"},
		{"darwin", "/Users/ann", nil, "/Users/ann/Library/Jupyter/kernels/easeml"},
		{"darwin", "/Users/ann", []string{"XDG_DATA_HOME=/data/ann"}, "/Users/ann/Library/Jupyter/kernels/easeml"},
		{"darwin", "/Users/ann", []string{"JUPYTER_DATA_DIR=/jd"}, "/jd/kernels/easeml"},
		{"darwin", "/Users/ann", []string{"JUPYTER_PLATFORM_DIRS=true"}, "/Users/ann/Library/Application Support/Jupyter/kernels/easeml"},
		{"windows", `C:\Users\ann`, []string{`APPDATA=C:\Users\ann\AppData\Roaming`}, `C:\Users\ann\AppData\Roaming\jupyter\kernels\easeml`},
		{"windows", `C:\Users\ann`, nil, `C:\Users\ann\.jupyter\data\kernels\easeml`},
		{"windows", `C:\Users\ann`, []string{`JUPYTER_DATA_DIR=D:\jd`, `APPDATA=C:\x`}, `D:\jd\kernels\easeml`},
		{"windows", `C:\Users\ann`, []string{"JUPYTER_PLATFORM_DIRS=yes", `LOCALAPPDATA=C:\l`}, `C:\l\Jupyter\kernels\easeml`},
	} {
		s := system(x.os, x.home, x.env, "")
		if got, err := Dir(Options{System: &s}); got != x.want || err != nil {
			t.Errorf("%s %v: %s, %v; want %s", x.os, x.env, got, err, x.want)
		}
	}
}

func TestEnvironmentDir(t *testing.T) {
	for _, x := range []struct {
		name, os string
		env      []string
		program  string
		python   string
		files    []string
		want     string
	}{
		{"activated", "linux", []string{"VIRTUAL_ENV=/v", "CONDA_PREFIX=/c"}, "/p/bin/easeml", "/usr", []string{"/p/pyvenv.cfg"}, "/v/share/jupyter/kernels/easeml"},
		{"conda", "linux", []string{"CONDA_PREFIX=/c"}, "", "/usr", nil, "/c/share/jupyter/kernels/easeml"},
		{"by the program, venv", "darwin", nil, "/p/bin/easeml", "/usr", []string{"/p/pyvenv.cfg"}, "/p/share/jupyter/kernels/easeml"},
		{"by the program, conda", "linux", nil, "/p/bin/easeml", "/usr", []string{"/p/conda-meta"}, "/p/share/jupyter/kernels/easeml"},
		{"by the program", "windows", nil, `C:\p\Scripts\easeml.exe`, "", []string{`C:\p\pyvenv.cfg`}, `C:\p\share\jupyter\kernels\easeml`},
		{"by Python", "linux", nil, "/usr/local/bin/easeml", "/usr", nil, "/usr/share/jupyter/kernels/easeml"},
	} {
		s := system(x.os, "/home/ann", x.env, x.python, x.files...)
		s.Program = x.program
		if got, err := Dir(Options{Where: SysPrefix, System: &s}); got != x.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", x.name, got, err, x.want)
		}
	}
	s := system("linux", "/home/ann", nil, "")
	if _, err := Dir(Options{Where: SysPrefix, System: &s}); err == nil || !strings.Contains(err.Error(), "--prefix") {
		t.Errorf("without any environment: %v", err)
	}
}

func TestShadow(t *testing.T) {
	const user, site, venv = "/home/ann/.local/share/jupyter", "/site/jupyter", "/v/share/jupyter"
	at := func(data string) string { return data + "/kernels/easeml/kernel.json" }
	for _, x := range []struct {
		name  string
		env   []string
		where Where
		files []string
		want  string
	}{
		{"nothing else", nil, User, []string{at(user)}, ""},
		{"JUPYTER_PATH wins", []string{"JUPYTER_PATH=/other:" + site}, User, []string{at(user), at(site)}, site},
		{"an environment before the person", []string{"VIRTUAL_ENV=/v"}, User, []string{at(venv)}, venv},
		{"unless they want it otherwise", []string{"VIRTUAL_ENV=/v", "JUPYTER_PREFER_ENV_PATH=0"}, User, []string{at(venv)}, ""},
		{"the person before a base environment", []string{"CONDA_PREFIX=/v"}, SysPrefix, []string{at(user)}, user},
		{"the system comes last", nil, User, []string{at("/usr/local/share/jupyter")}, ""},
	} {
		s := system("linux", "/home/ann", x.env, "", x.files...)
		want := x.want
		if want != "" {
			want += "/kernels/easeml"
		}
		if got, err := Shadow(Options{Where: x.where, System: &s}); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", x.name, got, err, want)
		}
	}
}
