package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/easeml/easeml/api"
)

// TestMain is also the private server that these tests start: it is their own
// binary, called as a kernel calls easeml.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "server" {
		serve(os.Args[4])
	}
	goleak.VerifyTestMain(m)
}

// serve notes its start, publishes itself and answers until it is killed.
func serve(folder string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("EASEML_TEST_FAIL") != "" {
		fail(errors.New("the disk is full"))
	}
	starts, err := os.OpenFile(filepath.Join(folder, "starts"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fail(err)
	}
	session, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	fmt.Fprintf(starts, "%d %d\n", os.Getpid(), session)
	starts.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	instance := fmt.Sprintf("instance-%d", os.Getpid())
	record := Record{URL: "http://" + listener.Addr().String(), PID: os.Getpid(), Token: "secret", Instance: instance}
	if err := Publish(folder, record); err != nil {
		fail(err)
	}
	fail(http.Serve(listener, healthy(instance)))
}

func healthy(instance string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(api.Health{Service: "easeml", Status: "ok", Instance: instance})
	})
}

// environment is a Getenv with only these variables.
func environment(pairs ...string) func(string) string {
	vars := map[string]string{"HOME": "/nonexistent"}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return vars[name] }
}

// stopServers kills what the tests started in a state folder and waits for it.
func stopServers(t *testing.T, folder string) (count int) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(folder, "starts"))
	for line := range strings.Lines(string(text)) {
		var pid, session int
		if _, err := fmt.Sscan(line, &pid, &session); err != nil {
			t.Fatal(err)
		}
		if session != pid {
			t.Errorf("server %d runs in session %d, not in its own", pid, session)
		}
		count++
		syscall.Kill(pid, syscall.SIGKILL)
		for alive(pid) { // until our goroutine has reaped it
			time.Sleep(time.Millisecond)
		}
	}
	return count
}

func site0(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "site.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSixtyKernelsStartOneServer(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	o := Options{Binary: os.Args[0], Getenv: environment("EASEML_STATE", folder)}
	var wait sync.WaitGroup
	servers, errs := make([]Server, 60), make([]error, 60)
	for i := range servers {
		wait.Go(func() { servers[i], errs[i] = Find(t.Context(), o) })
	}
	wait.Wait()
	started := 0
	for i, s := range servers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if s.URL != servers[0].URL || s.Token != "secret" || !s.Private {
			t.Errorf("kernel %d found %+v, kernel 0 %+v", i, s, servers[0])
		}
		if s.Started {
			started++
		}
	}
	if started != 1 {
		t.Errorf("%d of the kernels started a server", started)
	}
	info, err := os.Stat(filepath.Join(folder, recordName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("record: %v, %v", info, err)
	}
	if n := stopServers(t, folder); n != 1 {
		t.Errorf("%d servers were started", n)
	}

	// Its record is stale now: the next kernel starts another one.
	s, err := Find(t.Context(), o)
	if err != nil || !s.Started || s.URL == servers[0].URL {
		t.Errorf("after its end: %+v, %v", s, err)
	}
	if n := stopServers(t, folder); n != 2 {
		t.Errorf("%d servers were started", n)
	}
}

func TestSomethingElseOnThePort(t *testing.T) {
	folder := t.TempDir()
	var tokens sync.Map
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth := r.Header.Get("Authorization"); auth != "" {
			tokens.Store(auth, true)
		}
		healthy("another instance").ServeHTTP(w, r)
	}))
	defer other.Close()
	// Our own pid lives, so only the instance tells.
	if err := Publish(folder, Record{URL: other.URL, PID: os.Getpid(), Token: "old", Instance: "mine"}); err != nil {
		t.Fatal(err)
	}
	s, err := Find(t.Context(), Options{Binary: os.Args[0], Getenv: environment("EASEML_STATE", folder)})
	if err != nil || !s.Started || s.URL == other.URL {
		t.Errorf("found %+v, %v", s, err)
	}
	stopServers(t, folder)
	tokens.Range(func(token, _ any) bool { t.Errorf("the stranger was sent %v", token); return true })
}

func TestOrder(t *testing.T) {
	server := httptest.NewServer(healthy("lab"))
	defer server.Close()
	other := httptest.NewServer(healthy("other"))
	defer other.Close()
	gone := httptest.NewServer(healthy("gone"))
	gone.Close()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	for _, c := range []struct {
		name string
		url  string
		env  []string
		want Server
		err  string
	}{
		{name: "a statement comes first", url: other.URL + "/", env: []string{"EASEML_SERVER", server.URL, "EASEML_TOKEN", "t"},
			want: Server{URL: other.URL}},
		{name: "and has the token of its own server only", url: server.URL, env: []string{"EASEML_SERVER", server.URL, "EASEML_TOKEN", "t"},
			want: Server{URL: server.URL, Token: "t"}},
		{name: "a token alone is for the statement", url: server.URL, env: []string{"EASEML_TOKEN", "t"},
			want: Server{URL: server.URL, Token: "t"}},
		{name: "a statement's server that is away", url: gone.URL, err: "No easeml server answers at " + gone.URL},
		{name: "no address", url: "lab", err: `"lab" is no address of a server`},
		{name: "the environment before the site",
			env:  []string{"EASEML_SERVER", server.URL, "EASEML_TOKEN", "t", "EASEML_SITE", site0(t, `{"server":`+quoted(other.URL)+`}`)},
			want: Server{URL: server.URL, Token: "t"}},
		{name: "an environment's server that is away", env: []string{"EASEML_SERVER", gone.URL}, err: "No private one was started"},
		{name: "the site", env: []string{"EASEML_TOKEN", "t", "EASEML_SITE", site0(t, `{"server":`+quoted(server.URL)+`}`)},
			want: Server{URL: server.URL, Token: "t"}},
		{name: "each user's own token", env: []string{"HOME", home, "EASEML_SITE", site0(t, `{"server":`+quoted(server.URL)+`,"token_file":"~/token"}`)},
			want: Server{URL: server.URL, Token: "from-file"}},
		{name: "a site's server that is away", env: []string{"EASEML_SITE", site0(t, `{"server":`+quoted(gone.URL)+`,"page":"http://hub/easeml"}`)},
			err: "No private one was started (the lab's admin decided so), so as not to take GPUs from others. Ask the admin, or look: http://hub/easeml"},
		{name: "a site without private servers", env: []string{"EASEML_SITE", site0(t, `{"private":false}`)}, err: "allows no private server"},
		{name: "a site's file that is broken", env: []string{"EASEML_SITE", site0(t, `{`)}, err: "tell this lab's admin"},
		{name: "a site's file that is named but missing", env: []string{"EASEML_SITE", home + "/none.json"}, err: "can't be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			got, err := Find(t.Context(), Options{URL: c.url, Binary: os.Args[0],
				Getenv: environment(append([]string{"EASEML_STATE", state}, c.env...)...)})
			if got != c.want || (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %+v, %v", got, err)
			}
			if n := stopServers(t, state); n != 0 {
				t.Errorf("%d private servers were started", n)
			}
		})
	}
}

func TestAServerThatFailsSaysWhy(t *testing.T) {
	t.Setenv("EASEML_TEST_FAIL", "1")
	_, err := Find(t.Context(), Options{Binary: os.Args[0], Getenv: environment("EASEML_STATE", t.TempDir())})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, Options{Binary: os.Args[0], Getenv: environment("EASEML_STATE", t.TempDir())}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestManyProcessesTakeTheLock(t *testing.T) {
	// The lock holds between processes: a shell's flock holds it here.
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("there is no flock program here")
	}
	path := filepath.Join(t.TempDir(), lockName)
	holder := exec.Command(flock, path, "sh", "-c", "echo held; read _")
	in, _ := holder.StdinPipe()
	out, _ := holder.StdoutPipe()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 8))
	short, cancel := context.WithTimeout(t.Context(), 3*look)
	defer cancel()
	if _, err := lock(short, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked twice: %v", err)
	}
	in.Close()
	holder.Wait()
	unlock, err := lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestStateFolder(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"HOME", "/home/a"}, "/home/a/.local/state/easeml"},
		{[]string{"HOME", "/home/a", "XDG_STATE_HOME", "/s"}, "/s/easeml"},
		{[]string{"HOME", "/home/a", "XDG_STATE_HOME", "relative"}, "/home/a/.local/state/easeml"},
		{[]string{"XDG_STATE_HOME", "/s", "EASEML_STATE", "/e"}, "/e"},
	} {
		if got := StateFolder(environment(c.env...)); got != c.want {
			t.Errorf("%v: %s, not %s", c.env, got, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	folder := t.TempDir()
	r := Record{URL: "http://127.0.0.1:1", PID: 1, Token: "t", Instance: "one"}
	if err := Publish(folder, r); err != nil {
		t.Fatal(err)
	}
	if got, ok := ReadRecord(folder); !ok || got != r {
		t.Errorf("read %+v", got)
	}
	if err := Withdraw(folder, "another"); err != nil {
		t.Error(err)
	}
	if _, ok := ReadRecord(folder); !ok {
		t.Error("another server's record was withdrawn")
	}
	for range 2 {
		if err := Withdraw(folder, "one"); err != nil {
			t.Error(err)
		}
	}
	if _, ok := ReadRecord(folder); ok {
		t.Error("the record is still there")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
