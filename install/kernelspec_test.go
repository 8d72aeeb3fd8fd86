package install

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// options installs a stand-in for the program under a fresh folder.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "bin", "easeml")
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Options{Binary: binary, Where: Prefix, Prefix: filepath.Join(dir, "prefix")}
}

func TestKernel(t *testing.T) {
	o := options(t)
	dir, err := Kernel(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(o.Prefix, "share", "jupyter", "kernels", "easeml"); dir != want {
		t.Errorf("installed in %s, want %s", dir, want)
	}
	var got map[string]any
	b, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"argv":         []any{o.Binary, "kernel", "--connection-file", "{connection_file}"},
		"display_name": "easeml", "language": "easeml", "interrupt_mode": "message", "kernel_protocol_version": "5.5",
		"env": map[string]any{}, "metadata": map[string]any{"debugger": false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && st.Mode().Perm() != 0o644 {
			t.Errorf("%s has mode %v", e.Name(), st.Mode())
		}
	}
	if want := "kernel.json logo-32x32.png logo-64x64.png logo-svg.svg"; strings.Join(names, " ") != want {
		t.Errorf("%v, want %s", names, want)
	}
}

func TestKernelAgain(t *testing.T) {
	o := options(t)
	dir, err := Kernel(o)
	if err != nil {
		t.Fatal(err)
	}
	// An earlier version left a read-only file.
	if err := os.Chmod(filepath.Join(dir, "kernel.json"), 0o444); err != nil {
		t.Fatal(err)
	}
	o.DisplayName, o.Env = "easeml (lab) <1>", map[string]string{"EASEML_SERVER": "http://gpu:8800/?a&b"}
	if _, err := Kernel(o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"easeml (lab) <1>"`, `"EASEML_SERVER": "http://gpu:8800/?a&b"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

func TestKernelReplacesALink(t *testing.T) {
	o := options(t)
	target := t.TempDir()
	dir, err := Dir(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, dir); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	if _, err := Kernel(o); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(target); len(entries) != 0 {
		t.Errorf("written through the link: %v", entries)
	}
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
		t.Errorf("%v, %v", st, err)
	}
}

func TestKernelRefuses(t *testing.T) {
	o := options(t)
	for name, change := range map[string]func(*Options){
		"absolute":        func(o *Options) { o.Binary = "bin/easeml" },
		"not there":       func(o *Options) { o.Binary += "x" },
		"is a folder":     func(o *Options) { o.Binary = filepath.Dir(o.Binary) },
		"kernel's folder": func(o *Options) { o.Name = "Ease ML" },
		"no folder":       func(o *Options) { o.Prefix = "" },
	} {
		o := o
		change(&o)
		if _, err := Kernel(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRemove(t *testing.T) {
	o := options(t)
	if _, err := Remove(o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing installed: %v", err)
	}
	dir, err := Kernel(o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Remove(o); got != dir || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	// Somebody else's file stays.
	if _, err := Kernel(o); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kernel.js"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(o); err == nil {
		t.Error("a folder with somebody else's file was removed without a word")
	}
	if _, err := os.Stat(filepath.Join(dir, "kernel.js")); err != nil {
		t.Error(err)
	}
}

// Jupyter itself finds what was installed, where we say.
func TestJupyterFindsIt(t *testing.T) {
	python, err := filepath.Abs("../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command(python, "-c", "import jupyter_client").Run() != nil {
		t.Skip("there is no .venv/bin/python with jupyter_client (make setup lays it down)")
	}
	o := options(t)
	o.Where = User
	home := t.TempDir()
	for _, env := range [][]string{{"HOME=" + home}, {"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "x")}, {"HOME=" + home, "JUPYTER_DATA_DIR=" + filepath.Join(home, "j")}} {
		s := system(runtime.GOOS, home, env, "")
		o.System = &s
		dir, err := Kernel(o)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", "from jupyter_client.kernelspec import KernelSpecManager as M; s = M().get_kernel_spec('easeml'); print(s.resource_dir, s.argv[0], s.interrupt_mode, sep='\\n')")
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "JUPYTER_PREFER_ENV_PATH=0")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != dir+"\n"+o.Binary+"\nmessage" {
			t.Errorf("%v: %v, Jupyter says %s, want %s", env, err, out, dir)
		}
		if _, err := Remove(o); err != nil {
			t.Error(err)
		}
	}
}
