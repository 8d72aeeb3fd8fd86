//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/install"
	"github.com/easeml/easeml/server/store"
)

// Free space below which a state folder is in danger, and below which it is too
// small to begin with.
const (
	littleSpace = 10 << 30
	noSpace     = 1 << 30
)

// folder looks at the state's folder and the disk below it.
func (d *doctor) folder() {
	dir, err := filepath.Abs(d.state)
	if err != nil {
		d.fail("state", "Name one with --state", "the state folder %q is no path (%v)", d.state, err)
		return
	}
	// A folder that isn't there yet is made by the server: what matters is where.
	there := dir
	info, err := os.Stat(there)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(there) != there {
		there = filepath.Dir(there)
		info, err = os.Stat(there)
	}
	switch {
	case err != nil:
		d.fail("state", "", "the state folder %s can't be looked at: %v", dir, err)
		return
	case !info.IsDir():
		d.fail("state", "Name a folder with --state", "%s, where the state should be, is no folder", there)
		return
	}
	if kind, err := store.NetworkFileSystem(there); err != nil {
		d.warn("state", "", "it can't be told which file system %s is on: %v", there, err)
	} else if kind != "" {
		d.fail("state", "Put it on a local disk: --state FOLDER or EASEML_STATE=FOLDER",
			"the state folder %s is on a network file system (%s), where the database would be damaged", dir, kind)
		return
	}
	if file, err := os.CreateTemp(there, ".easeml-doctor-*"); err != nil {
		d.fail("state", "Give it to the user that runs the server", "nothing can be written into %s: %v", there, reason(err))
	} else {
		file.Close()
		os.Remove(file.Name())
	}
	made := ""
	if there != dir {
		made = ", made by the first start"
	} else if info.Mode().Perm()&0o077 != 0 {
		d.warn("state", "Close it: chmod 700 "+dir, "other users of this machine can look into the state folder %s, where all examples and models lie", dir)
	}
	free, known := freeSpace(there)
	switch {
	case !known:
		d.ok("state", "state in %s (local disk)%s", dir, made)
	case free < noSpace:
		d.fail("state", "Make room", "state in %s: only %s free", dir, bytesWords(free))
	case free < littleSpace:
		d.warn("state", "Examples, models and a version's data lie there", "state in %s: %s free are little", dir, bytesWords(free))
	default:
		d.ok("state", "state in %s (local disk, %s free)%s", dir, bytesWords(free), made)
	}
}

// address looks whether a server can listen, or does already.
func (d *doctor) address(ctx context.Context) {
	host, port, err := net.SplitHostPort(d.listen)
	if err != nil {
		d.fail("address", "Say HOST:PORT, as in 127.0.0.1:8700", "%q is no address to listen on", d.listen)
		return
	}
	listener, err := net.Listen("tcp", d.listen)
	if err == nil {
		listener.Close()
		d.ok("address", "%s is free for a server", d.listen)
	} else {
		reach := host
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			reach = "127.0.0.1"
		}
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		client := api.New("http://"+net.JoinHostPort(reach, port), "")
		defer client.Close()
		if h, herr := client.Health(short); herr == nil && h.Service == "easeml" {
			d.ok("address", "an easeml server answers at %s", d.listen)
		} else {
			d.fail("address", "Choose another one: easeml server --listen HOST:PORT", "no server can listen on %s: %v", d.listen, reason(err))
		}
	}
	if ip := net.ParseIP(host); host == "" || ip == nil && host != "localhost" || ip != nil && !ip.IsLoopback() {
		d.warn("address", "Put TLS in front of it: a reverse proxy that passes websockets", "%s is reached from other machines, and tokens travel unencrypted", d.listen)
	}
}

// private looks at the record of this user's private server.
func (d *doctor) private(ctx context.Context) {
	folder := connect.StateFolder(d.getenv)
	r, recorded, answers, exposed := connect.Look(ctx, folder)
	switch {
	case exposed:
		d.fail("private server", "Stop it, its token is new after the next start: easeml server stop", "other users can read the token in %s", folder)
	case recorded && answers:
		d.ok("private server", "your private server answers at %s (process %d)", r.URL, r.PID)
	case recorded:
		d.warn("private server", "The next statement starts a new one; easeml server stop takes the record away",
			"your private server is recorded in %s but does not answer; %s tells more", folder, filepath.Join(folder, "server.log"))
	default:
		d.ok("private server", "no private server of yours runs")
	}
}

// site looks at what decides where this user's kernels go.
func (d *doctor) site(ctx context.Context) {
	s, there, err := connect.ReadSite(d.getenv)
	env := d.getenv("EASEML_SERVER")
	switch {
	case err != nil:
		d.fail("site", "Correct the file; until then no kernel here starts", "%v", err)
		return
	case env != "":
		d.answers(ctx, "EASEML_SERVER")
	case there && s.Server != "":
		d.answers(ctx, s.Path)
	case there && !s.Private:
		d.warn("site", "Name one in it: {\"server\": \"http://HOST:PORT\"}", "%s allows no private server and names no other, so no kernel finds one", s.Path)
	case there:
		d.ok("site", "%s names no server: kernels start private ones", s.Path)
	default:
		d.ok("site", "no site file (%s): kernels start private servers", connect.DefaultSite)
	}
	if s.Token {
		if info, err := os.Stat(s.Path); err == nil && info.Mode().Perm()&0o004 != 0 {
			d.warn("site", "Use token_file, each user's own", "%s holds one token that everybody on this machine can read: all are the same user", s.Path)
		}
	}
	if s.TokenFile != "" {
		path := s.TokenFile
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(d.getenv("HOME"), rest)
		}
		if _, err := os.Stat(path); err != nil {
			d.warn("site", "An admin makes one: easeml token USER --state DIR", "%s points to your token in %s, which is not there", s.Path, path)
		}
	}
}

// answers looks whether the server that is named answers, and takes our token.
func (d *doctor) answers(ctx context.Context, by string) {
	short, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	found, err := connect.Find(short, connect.Options{Getenv: d.getenv})
	if err != nil {
		d.fail("site", "", "%v", err)
		return
	}
	client := api.New(found.URL, found.Token)
	defer client.Close()
	me, err := client.Me(short)
	if p, refused := errors.AsType[*api.Problem](err); refused {
		d.fail("site", "An admin makes one: easeml token USER --state DIR", "%s names the server %s, which answers, but takes no token of yours: %s", by, found.URL, strings.TrimSuffix(p.Detail, "."))
		return
	}
	if err != nil {
		d.fail("site", "", "%s names the server %s: %v", by, found.URL, err)
		return
	}
	d.ok("site", "%s names the server %s, where you are %s", by, found.URL, me.User)
}

// kernel looks whether Jupyter knows the kernel.
func (d *doctor) kernel() {
	dir, err := install.Dir(install.Options{Binary: d.binary, Where: install.User})
	if err != nil {
		d.warn("kernel", "", "it can't be told where Jupyter looks for kernels: %v", err)
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "kernel.json")); err == nil {
		d.ok("kernel", "Jupyter knows the kernel (%s)", dir)
		return
	}
	d.warn("kernel", "If notebooks run here: easeml install, or easeml install --prefix DIR for an environment", "no kernel is installed for you in %s", dir)
}

// reason is the part of an error that names the cause.
func reason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
