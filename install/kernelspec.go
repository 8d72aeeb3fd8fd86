package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Where is the kind of place to install in.
type Where int

const (
	User      Where = iota // the person's own Jupyter folder
	SysPrefix              // the Python environment in use; right for images whose home folders are volumes
	Prefix                 // the folder in Options.Prefix, under share/jupyter
)

// Options says what to install and where. The zero value but for Binary is what most people want.
type Options struct {
	// Binary is the absolute path of the easeml program. It is written into kernel.json: Jupyter starts kernels with another PATH than the
	// one people have in their terminals.
	Binary      string
	Where       Where
	Prefix      string            // for Where == Prefix
	Name        string            // of the kernel's folder, lower case; "" is "easeml"
	DisplayName string            // in the launcher; "" is "easeml"
	Env         map[string]string // variables for the kernel's process, such as EASEML_SERVER; ${NAME} in them is replaced by Jupyter
	System      *System           // nil is ThisSystem
}

// spec is kernel.json.
type spec struct {
	Argv            []string          `json:"argv"`
	DisplayName     string            `json:"display_name"`
	Language        string            `json:"language"`
	InterruptMode   string            `json:"interrupt_mode"`
	ProtocolVersion string            `json:"kernel_protocol_version"`
	Env             map[string]string `json:"env"`
	Metadata        map[string]any    `json:"metadata"`
}

const specFile = "kernel.json"

var kernelName = regexp.MustCompile(`^[a-z0-9._-]+$`)

// Kernel writes the kernel's folder, replacing an earlier one file by file, and returns its path. A Jupyter that reads it at the same time
// finds each file old or new, never half.
func Kernel(o Options) (dir string, err error) {
	if !filepath.IsAbs(o.Binary) {
		return "", fmt.Errorf("the path of the easeml program must be absolute, %q is not", o.Binary)
	}
	if st, err := os.Stat(o.Binary); err != nil {
		return "", fmt.Errorf("the easeml program is not there: %w", err)
	} else if st.IsDir() {
		return "", fmt.Errorf("%s is a folder, not the easeml program", o.Binary)
	}
	if dir, err = Dir(o); err != nil {
		return "", err
	}
	files, err := o.files()
	if err != nil {
		return "", err
	}
	// A link, as developers set one, is replaced; what it points to is left alone.
	if st, err := os.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		if err := os.Remove(dir); err != nil {
			return "", refused(dir, err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", refused(dir, err)
	}
	for _, f := range files {
		if err := replace(filepath.Join(dir, f.name), f.content); err != nil {
			return "", refused(dir, err)
		}
	}
	return dir, nil
}

// Remove takes the kernel's folder away and returns its path. What others have put into it stays, and is an error. The error wraps
// fs.ErrNotExist if no kernel is installed there.
func Remove(o Options) (dir string, err error) {
	if dir, err = Dir(o); err != nil {
		return "", err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return dir, fmt.Errorf("no easeml kernel is installed in %s: %w", dir, err)
	}
	if st.Mode()&fs.ModeSymlink == 0 {
		for _, name := range []string{specFile, svgFile, pngFile(64), pngFile(32)} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return dir, refused(dir, err)
			}
		}
	}
	if err := os.Remove(dir); err != nil {
		return dir, fmt.Errorf("the kernel is removed, but its folder holds something else and stays: %w", err)
	}
	return dir, nil
}

// Dir is the folder of the kernel that Kernel would write.
func Dir(o Options) (string, error) {
	s, err := o.system()
	if err != nil {
		return "", err
	}
	name := o.name()
	if !kernelName.MatchString(name) {
		return "", fmt.Errorf("%q can't be the name of a kernel's folder: only a–z, 0–9, dots, _ and - are allowed", name)
	}
	switch o.Where {
	case User:
		return s.join(s.DataDir(), "kernels", name), nil
	case SysPrefix:
		prefix, err := s.EnvironmentPrefix()
		if err != nil {
			return "", err
		}
		return s.join(prefix, "share", "jupyter", "kernels", name), nil
	case Prefix:
		if o.Prefix == "" {
			return "", errors.New("no folder was named to install under")
		}
		prefix, err := filepath.Abs(o.Prefix)
		if err != nil {
			return "", err
		}
		return s.join(prefix, "share", "jupyter", "kernels", name), nil
	}
	return "", fmt.Errorf("there is no place number %d to install in", o.Where)
}

// Shadow is the folder of another kernel of the same name that Jupyter finds before the one in Dir(o), for instance through JUPYTER_PATH, or
// "" if there is none. People who install then wonder why nothing changed.
func Shadow(o Options) (string, error) {
	s, err := o.system()
	if err != nil {
		return "", err
	}
	own, err := Dir(o)
	if err != nil {
		return "", err
	}
	for _, data := range s.search() {
		dir := s.join(data, "kernels", o.name())
		if dir == own {
			break
		}
		if s.Exists(s.join(dir, specFile)) {
			return dir, nil
		}
	}
	return "", nil
}

func (o Options) name() string {
	if o.Name == "" {
		return "easeml"
	}
	return o.Name
}

func (o Options) system() (System, error) {
	if o.System != nil {
		return *o.System, nil
	}
	return ThisSystem()
}

type file struct {
	name    string
	content []byte
}

// files is what the folder holds. kernel.json comes last: with it the kernel appears.
func (o Options) files() ([]file, error) {
	k := spec{
		Argv:        []string{o.Binary, "kernel", "--connection-file", "{connection_file}"},
		DisplayName: o.DisplayName, Language: "easeml", InterruptMode: "message", ProtocolVersion: "5.5",
		Env: o.Env, Metadata: map[string]any{"debugger": false},
	}
	if k.DisplayName == "" {
		k.DisplayName = "easeml"
	}
	if k.Env == nil {
		k.Env = map[string]string{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(k); err != nil {
		return nil, fmt.Errorf("kernel.json can't be written: %w", err)
	}
	files := []file{{svgFile, []byte(logo.svg())}}
	for _, size := range []int{64, 32} {
		picture, err := logo.png(size)
		if err != nil {
			return nil, fmt.Errorf("the kernel's logo can't be drawn: %w", err)
		}
		files = append(files, file{pngFile(size), picture})
	}
	return append(files, file{specFile, b.Bytes()}), nil
}

// replace writes a file beside the old one and puts it in its place.
func replace(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	// Windows replaces no file that is read-only; elsewhere this does no harm, and there need be no file.
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		_ = os.Chmod(path, 0o644)
	}
	return os.Rename(f.Name(), path)
}

func refused(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("you may not write in %s; choose another place (--user, --sys-prefix or --prefix): %w", dir, err)
	}
	return fmt.Errorf("the kernel's folder %s can't be changed: %w", dir, err)
}
