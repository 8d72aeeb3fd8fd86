package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/kernel/show"
)

// TestDoctorSays looks at machines that are made here, and finds what is wrong with each.
func TestDoctorSays(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const log = `<?xml version="1.0" ?><nvidia_smi_log><gpu><product_name>GTX 1080 Ti</product_name><uuid>GPU-1</uuid>
<fb_memory_usage><total>11264 MiB</total><reserved>0 MiB</reserved><used>0 MiB</used></fb_memory_usage></gpu></nvidia_smi_log>`
	smi := write("smi", "#!/bin/sh\ncase \"$1\" in -q) cat <<'E'\n"+log+"\nE\n;; *) echo 'GPU-1, 550.54, 6.1';; esac\n", 0o755)
	broken := write("broken-smi", "#!/bin/sh\necho 'Driver/library version mismatch'; exit 18\n", 0o755)
	// A Python whose PyTorch is built for newer cards, and one without it.
	python := func(name, torch string) string {
		return write(name, "#!/bin/sh\ncase \"$2\" in 'import easeml.trainer') ;; *) echo '"+
			`{"python": "3.11.7", "packages": {"numpy": "2", "pandas": "3", "pyarrow": "20", "scikit-learn": "1.9", "skops": "1", "pillow": "11"`+torch+"}';; esac\n", 0o755)
	}
	newer := python("newer", `, "lightgbm": "4", "scikit-image": "1", "torch": "2.15", "torchvision": "1", "safetensors": "1"}, "cuda": "13.2", "available": true, "built": ["sm_75", "sm_90"]`)
	light := python("light", "}")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() {
		for {
			c, err := taken.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	state := filepath.Join(folder, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := connect.Publish(state, connect.Record{URL: "http://127.0.0.1:1", PID: 1 << 30, Token: "t", Instance: "gone"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d    doctor
		site string
		want []string // level, what, and a part of the text
		env  string
	}{
		{d: doctor{smi: smi, python: newer}, want: []string{"ok driver NVIDIA driver 550.54, 1 device to use", "ok devices gpu0 GTX 1080 Ti, 11 GB",
			"FAIL trainer gpu0 GTX 1080 Ti: this PyTorch (2.15, CUDA 13.2) has no code for it (compute capability 6.1)",
			"warn state other users of this machine can look into", "warn private server your private server is recorded"}},
		{d: doctor{smi: broken, python: light}, want: []string{"FAIL driver nvidia-smi failed", "warn trainer without torch, torchvision, safetensors the deep candidates are left out"}},
		{d: doctor{smi: "no-such-smi", python: folder + "/none", listen: taken.Addr().String()}, want: []string{"ok driver no NVIDIA driver",
			"FAIL trainer there is no Python at", "FAIL address no server can listen on"}},
		{d: doctor{listen: "8700", state: smi, smi: smi, python: light}, site: "{", want: []string{"FAIL address \"8700\" is no address", "FAIL state", "FAIL site"}},
		{d: doctor{listen: "0.0.0.0:0", smi: smi, python: light}, site: `{"private": false}`, want: []string{"warn address 0.0.0.0:0 is reached from other machines", "warn site"}},
		{d: doctor{smi: smi, python: light}, site: `{"server": "http://127.0.0.1:1", "token_file": "~/none"}`, want: []string{"FAIL site This lab's server is not running", "warn site"}},
		{d: doctor{smi: smi, python: light}, env: "http://127.0.0.1:1", want: []string{"FAIL site No easeml server answers at http://127.0.0.1:1"}},
	} {
		d, found := c.d, []string{}
		site := write("site.json", "{}", 0o644)
		if c.site != "" {
			site = write("site.json", c.site, 0o644)
		}
		env := map[string]string{"EASEML_SITE": site, "EASEML_STATE": state, "EASEML_SERVER": c.env, "HOME": folder}
		d.getenv, d.binary = func(name string) string { return env[name] }, binary
		if d.state == "" {
			d.state = state
		}
		if d.listen == "" {
			d.listen = "127.0.0.1:0"
		}
		d.tell = func(c show.Check) { found = append(found, fmt.Sprintf("%s %s %s", c.Level, c.What, c.Text)) }
		d.all(t.Context())
		for _, want := range c.want {
			if !strings.Contains(strings.Join(found, "\n"), want) {
				t.Errorf("%q is not among\n%s", want, strings.Join(found, "\n"))
			}
		}
	}
}

// TestDoctorLeaves with 1 where something can't be used, and writes JSON on demand.
func TestDoctorLeaves(t *testing.T) {
	folder := t.TempDir()
	site := filepath.Join(folder, "site.json")
	if err := os.WriteFile(site, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		python string
		status int
	}{{python(t), 0}, {filepath.Join(folder, "none"), 1}} {
		cmd := exec.Command(binary, "doctor", "--json", "--listen", "127.0.0.1:0", "--python", c.python)
		cmd.Env = append(os.Environ(), "EASEML_STATE="+filepath.Join(folder, "state"), "EASEML_SITE="+site, "EASEML_SERVER=")
		out, err := cmd.Output()
		status := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			status = exit.ExitCode()
		}
		var list []show.Check
		if err := json.Unmarshal(out, &list); err != nil || len(list) < 7 || status != c.status {
			t.Errorf("status %d, %v:\n%s", status, err, out)
		}
	}
}

func TestBuiltFor(t *testing.T) {
	for _, c := range []struct {
		archs string
		card  int
		want  bool
	}{
		{"sm_75 sm_80 sm_90", 61, false}, {"sm_75 sm_80 sm_90", 86, true}, {"sm_75 sm_80 sm_90", 75, true},
		{"sm_80 compute_80", 120, true}, {"sm_80", 120, false}, {"sm_90a", 90, true}, {"sm_86", 80, false}, {"", 90, false}, {"odd", 90, false},
	} {
		if got := builtFor(strings.Fields(c.archs), c.card); got != c.want {
			t.Errorf("%s on %d: %v", c.archs, c.card, got)
		}
	}
}
