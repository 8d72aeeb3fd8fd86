package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	lockName = "start.lock"
	logName  = "server.log"
	// look is how often the lock and the record are looked at while another
	// kernel starts the server.
	look = 50 * time.Millisecond
)

// findPrivate finds the user's private server or starts it. Of many kernels that
// come at once one holds the lock and starts; the others find what it started.
func findPrivate(ctx context.Context, o Options) (Server, error) {
	folder := StateFolder(o.Getenv)
	if r, ok := running(ctx, folder); ok {
		return Server{URL: r.URL, Token: r.Token, Private: true}, nil
	}
	if o.Binary == "" {
		return Server{}, errors.New("no easeml server runs here, and none can be started from this program")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Server{}, fmt.Errorf("the folder for a private server can't be made: %w. Set EASEML_STATE to one on a local disk", err)
	}
	limited, cancel := context.WithTimeout(ctx, o.Within)
	defer cancel()
	unlock, err := lock(limited, filepath.Join(folder, lockName))
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			err = fmt.Errorf("another kernel has been starting the private server for %s. Look into %s",
				o.Within.Round(time.Second), filepath.Join(folder, logName))
		}
		return Server{}, err
	}
	defer unlock()
	if r, ok := running(limited, folder); ok {
		return Server{URL: r.URL, Token: r.Token, Private: true}, nil
	}
	// What is recorded here is stale: that process is gone, or something else answers in its place.
	if err := os.Remove(filepath.Join(folder, recordName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Server{}, err
	}
	r, err := start(limited, o.Binary, folder)
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			err = fmt.Errorf("the private server did not answer within %s. Look into %s",
				o.Within.Round(time.Second), filepath.Join(folder, logName))
		}
		return Server{}, err
	}
	return Server{URL: r.URL, Token: r.Token, Private: true, Started: true}, nil
}

// running tells whether the recorded server is still that server. The token is
// sent to nobody else: the process must live, and what answers must say the
// recorded instance.
func running(ctx context.Context, folder string) (Record, bool) {
	r, ok := ReadRecord(folder)
	if !ok || !alive(r.PID) {
		return Record{}, false
	}
	h, ok := health(ctx, r.URL, answerWithin)
	return r, ok && h.Instance == r.Instance
}

// start runs the binary in a session of its own and waits until it answers.
func start(ctx context.Context, binary, folder string) (Record, error) {
	log, err := os.OpenFile(filepath.Join(folder, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Record{}, err
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return Record{}, err
	}
	cmd := exec.Command(binary, "server", "--private", "--state", folder)
	cmd.Dir = folder // not the notebook's: that may be moved or unmounted
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return Record{}, fmt.Errorf("the private server can't be started: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // for as long as it runs, so that it leaves no zombie
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		if r, ok := running(ctx, folder); ok {
			return r, nil
		}
		select {
		case err := <-ended:
			return Record{}, fmt.Errorf("the private server ended at its start (%s)%s", status(err), said(log.Name(), from))
		case <-ctx.Done():
			return Record{}, ctx.Err()
		case <-ticker.C:
		}
	}
}

func status(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// said is the last line of the log since an offset: most likely the reason.
func said(path string, from int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		from = max(from, size-4096)
	}
	text := make([]byte, 4096)
	n, _ := file.ReadAt(text, from)
	lines := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ". Look into " + path
	}
	return ": " + last + ". More in " + path
}
