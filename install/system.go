package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// System is what the places depend on. [ThisSystem] is the real one; tests make others.
type System struct {
	OS     string // as runtime.GOOS says it
	Home   string // the person's home folder
	Getenv func(string) string
	// Program is the path of the running program: one that lies in a Python environment installs into it.
	Program string
	// Python asks the python3 (on Windows python) on the PATH for its sys.prefix.
	Python func() (string, error)
	// Exists says whether there is such a file.
	Exists func(path string) bool
}

// ThisSystem describes the machine, person and environment of this process.
func ThisSystem() (System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return System{}, fmt.Errorf("your home folder is not known: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		program = ""
	}
	return System{
		OS: runtime.GOOS, Home: home, Getenv: os.Getenv, Program: program, Python: askPython,
		Exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
	}, nil
}

func askPython() (string, error) {
	name := "python3"
	if runtime.GOOS == "windows" {
		name = "python"
	}
	out, err := exec.Command(name, "-c", "import sys; print(sys.prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not say where it is installed: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// join puts a path together as the system does, which need not be the one this runs on.
func (s System) join(parts ...string) string {
	sep := "/"
	if s.OS == "windows" {
		sep = `\`
	}
	for i := range parts {
		if i > 0 {
			parts[i] = strings.TrimLeft(parts[i], sep)
		}
		if trimmed := strings.TrimRight(parts[i], sep); trimmed != "" {
			parts[i] = trimmed
		}
	}
	return strings.Join(parts, sep)
}

// parent is the folder that a path lies in.
func (s System) parent(path string) string {
	separators := "/"
	if s.OS == "windows" {
		separators = `\/`
	}
	i := strings.LastIndexAny(path, separators)
	if i < 0 {
		return ""
	}
	return path[:i]
}

// DataDir is the person's own Jupyter data folder: JUPYTER_DATA_DIR, else by operating system
//
//	Linux and others  $XDG_DATA_HOME/jupyter, else ~/.local/share/jupyter
//	macOS             ~/Library/Jupyter
//	Windows           %APPDATA%\jupyter, else ~\.jupyter\data
//
// or, where JUPYTER_PLATFORM_DIRS is on, the folder that the platform recommends.
func (s System) DataDir() string {
	if dir := s.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir
	}
	platform := on(s.Getenv("JUPYTER_PLATFORM_DIRS"))
	switch s.OS {
	case "darwin":
		if platform {
			return s.join(s.Home, "Library", "Application Support", "Jupyter")
		}
		return s.join(s.Home, "Library", "Jupyter")
	case "windows":
		if platform {
			if dir := s.Getenv("LOCALAPPDATA"); dir != "" {
				return s.join(dir, "Jupyter")
			}
			return s.join(s.Home, "AppData", "Local", "Jupyter")
		}
		if dir := s.Getenv("APPDATA"); dir != "" {
			return s.join(dir, "jupyter")
		}
		if dir := s.Getenv("JUPYTER_CONFIG_DIR"); dir != "" {
			return s.join(dir, "data")
		}
		return s.join(s.Home, ".jupyter", "data")
	}
	share := s.Getenv("XDG_DATA_HOME")
	if share == "" {
		share = s.join(s.Home, ".local", "share")
	}
	if platform {
		return s.join(share, "Jupyter")
	}
	return s.join(share, "jupyter")
}

// on reads a yes-or-no variable as Jupyter does.
func on(value string) bool {
	switch strings.ToLower(value) {
	case "", "no", "n", "false", "off", "0", "0.0":
		return false
	}
	return true
}

// EnvironmentPrefix is the folder of the Python environment in use: the activated one (VIRTUAL_ENV, then CONDA_PREFIX), else the one that the
// program itself lies in, else that of the Python on the PATH.
func (s System) EnvironmentPrefix() (string, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := s.Getenv(name); dir != "" {
			return dir, nil
		}
	}
	if dir := s.parent(s.parent(s.Program)); dir != "" {
		for _, mark := range []string{"pyvenv.cfg", "conda-meta"} {
			if s.Exists(s.join(dir, mark)) {
				return dir, nil
			}
		}
	}
	dir, err := s.Python()
	if err == nil && dir == "" {
		err = errors.New("it names none")
	}
	if err != nil {
		return "", fmt.Errorf("no Python environment was found (activate one, or name its folder with --prefix): %w", err)
	}
	return dir, nil
}

// search is the folders in which Jupyter looks for data, best first, as far as they can be told without starting Python: JUPYTER_PATH, the
// environment and the person's own in the order that Jupyter would choose, the system's.
func (s System) search() []string {
	list := ":"
	if s.OS == "windows" {
		list = ";"
	}
	var dirs []string
	for _, dir := range strings.Split(s.Getenv("JUPYTER_PATH"), list) {
		if dir != "" {
			dirs = append(dirs, s.join(dir))
		}
	}
	user := []string{s.DataDir()}
	var environment []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := s.Getenv(name); dir != "" {
			environment = append(environment, s.join(dir, "share", "jupyter"))
			break
		}
	}
	prefer := s.Getenv("VIRTUAL_ENV") != ""
	if v := s.Getenv("JUPYTER_PREFER_ENV_PATH"); v != "" {
		prefer = on(v)
	}
	if prefer {
		dirs = append(append(dirs, environment...), user...)
	} else {
		dirs = append(append(dirs, user...), environment...)
	}
	if s.OS != "windows" {
		dirs = append(dirs, "/usr/local/share/jupyter", "/usr/share/jupyter")
	}
	return dirs
}
