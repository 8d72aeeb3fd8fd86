package jupytertest

import (
	"crypto/rand"
	"encoding/json"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// File is a connection file.
type File struct {
	Path      string `json:"-"`
	Transport string `json:"transport"`
	IP        string `json:"ip"`
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	HB        int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`
	Name      string `json:"kernel_name"`
}

// NewFile writes a connection file with a fresh key: over ipc (Unix sockets, whose names can't collide with another program's) or over tcp
// with ports that were free a moment ago.
func NewFile(t testing.TB, transport string) *File {
	t.Helper()
	// Not t.TempDir: with the test's name in it the path may become longer than a Unix socket's may be.
	dir, err := os.MkdirTemp("", "jt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &File{
		Path: filepath.Join(dir, "connection.json"), Transport: transport, IP: filepath.Join(dir, "k"), Shell: 1, IOPub: 2, Stdin: 3, Control: 4, HB: 5,
		Key: rand.Text(), Scheme: "hmac-sha256", Name: "test",
	}
	if transport == "tcp" {
		f.IP = "127.0.0.1"
		for _, p := range []*int{&f.Shell, &f.IOPub, &f.Stdin, &f.Control, &f.HB} {
			ln := freePort(t)
			defer ln.Close() // after all five are known, so that they differ
			*p = ln.Addr().(*net.TCPAddr).Port
		}
	}
	f.Write(t)
	return f
}

// freePort listens at a port that the system does not hand out by itself: what other processes connect from could take one of those
// between here and the kernel's start.
func freePort(t testing.TB) net.Listener {
	t.Helper()
	const first, count, tries = 12_000, 18_000, 100
	for range tries {
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+mathrand.IntN(count))))
		if err == nil {
			return ln
		}
	}
	t.Fatalf("none of %d ports from %d to %d is free", tries, first, first+count-1)
	return nil
}

// Write writes the file again, after a change.
func (f *File) Write(t testing.TB) {
	t.Helper()
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *File) port(channel string) int {
	return map[string]int{Shell: f.Shell, IOPub: f.IOPub, Stdin: f.Stdin, Control: f.Control, HB: f.HB}[channel]
}
