package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/probe"
	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/blob"
	"github.com/easeml/easeml/server/history"
	serverhttp "github.com/easeml/easeml/server/http"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// Config of a server.
type Config struct {
	State   string // folder on a local disk
	Listen  string // host:port; port 0 takes a free one
	Python  string // as FindPython returned it
	Devices string // a probe's specification; "" looks for what is there
	Policy  string // of the allocator; "" is the default one
	Version string
	Log     *slog.Logger

	// Private makes a server for one user, who is named by the operating
	// system: it makes its own token and leaves when it was idle for Idle.
	Private bool
	User    string
	Idle    time.Duration // 0 = 15 min
}

// Ready is what a started server tells.
type Ready struct {
	URL      string
	Instance string
	Token    string // of a private server's user
	Python   string
	Devices  []gpu.Device
}

// Names of what lies in the state folder.
const (
	databaseFile = "easeml.db"
	blobFolder   = "blobs"
	answerFolder = "answers"
	trainerLog   = "trainer.log"
)

// Run starts a server, calls ready once it answers, and serves until ctx ends
// or, for a private one, until it was idle for long enough.
func Run(ctx context.Context, cfg Config, ready func(Ready) error) (err error) {
	if cfg.Idle == 0 {
		cfg.Idle = 15 * time.Minute
	}
	if cfg.State, err = filepath.Abs(cfg.State); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return fmt.Errorf("the state folder can't be made: %w", err)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	var closers stack
	defer func() { err = errors.Join(err, closers.close()) }()

	db, err := store.Open(ctx, filepath.Join(cfg.State, databaseFile), cfg.Log)
	if err != nil {
		return err
	}
	closers.push(func(context.Context) error { return db.Close() })
	blobs, err := blob.Open(filepath.Join(cfg.State, blobFolder))
	if err != nil {
		return err
	}
	closers.push(func(context.Context) error { return blobs.Close() })
	answers, err := answer.New(answer.Config{Python: cfg.Python, Root: filepath.Join(cfg.State, answerFolder), Log: cfg.Log})
	if err != nil {
		return err
	}
	closers.push(func(context.Context) error { return answers.Close() })

	if left, err := engine.Sweep(cfg.State); err != nil {
		return fmt.Errorf("end what a former server left running: %w", err)
	} else if len(left) > 0 {
		cfg.Log.Warn("ended what a former server left running", "pids", left)
	}
	local, err := engine.NewLocal(engine.Options{
		Python: cfg.Python, Root: cfg.State, Log: filepath.Join(cfg.State, trainerLog), Logger: cfg.Log,
	})
	if err != nil {
		return err
	}
	closers.push(local.Close)

	prober, err := newProber(cfg.Devices, local.Owns)
	if err != nil {
		return err
	}
	found, err := prober.Probe(ctx)
	if err != nil {
		return fmt.Errorf("look for devices: %w", err)
	}
	for _, note := range found.Notes {
		cfg.Log.Info(note)
	}
	priors, err := history.Load(ctx, db)
	if err != nil {
		return err
	}
	searches, err := search.Open(ctx, search.Config{
		Store: db, Blobs: blobs, Engine: local, Trainer: trainer{python: cfg.Python, answers: answers}, Devices: found.Devices,
		Ready: local.Settled(), Root: cfg.State, Options: allocator.Options{Policy: cfg.Policy}, Priors: priors, Log: cfg.Log,
	})
	if err != nil {
		return err
	}
	closers.push(searches.Close)
	if err := searches.SetDevices(ctx, sighting(found)); err != nil {
		return err
	}

	accounts := account.New(db)
	out := Ready{Instance: uuid.NewString(), Python: cfg.Python, Devices: found.Devices}
	if cfg.Private {
		if out.Token, err = privateToken(ctx, accounts, cfg.User); err != nil {
			return err
		}
	}
	use := newUsage()
	handler := serverhttp.New(serverhttp.Deps{
		Store: db, Blobs: blobs, Search: searches, Answer: answers, Accounts: accounts, Log: cfg.Log,
		Version: cfg.Version, Private: cfg.Private, Policy: cfg.Policy, Instance: out.Instance,
		Activity: use.count,
	})
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	out.URL = "http://" + listener.Addr().String()
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	closers.push(func(ctx context.Context) error {
		leave() // open streams end with it
		if err := web.Shutdown(ctx); err != nil {
			return web.Close()
		}
		return nil
	})
	if err := ready(out); err != nil {
		return err
	}
	go history.Keeper{Store: db, Take: searches.SetPriors, Log: cfg.Log}.Run(ctx)
	go tidy(ctx, db, blobs, searches, cfg.Log)
	go watchDevices(ctx, prober, searches, cfg.Log)
	if cfg.Private {
		go leaveWhenIdle(ctx, leave, cfg.Idle, use, searches, cfg.Log)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return err
	}
}

// stack closes what was opened, the last first.
type stack []func(context.Context) error

func (s *stack) push(f func(context.Context) error) { *s = append(*s, f) }

func (s *stack) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for i := len(*s) - 1; i >= 0; i-- {
		errs = append(errs, (*s)[i](ctx))
	}
	return errors.Join(errs...)
}

// privateToken makes the one token of a private server; those of former
// servers end here.
func privateToken(ctx context.Context, accounts *account.Accounts, name string) (string, error) {
	user, err := accounts.Ensure(ctx, name, "admin")
	if err != nil {
		return "", err
	}
	if _, err := accounts.RevokeLabel(ctx, user, "private"); err != nil {
		return "", err
	}
	return accounts.NewToken(ctx, user, "private")
}

// How long what is only kept for a while is kept.
const (
	keepEvents      = 30 * 24 * time.Hour
	keepEventCount  = 1_000_000
	keepIdempotency = 24 * time.Hour
	keepUnfinished  = 7 * 24 * time.Hour
	keepUnneeded    = 24 * time.Hour
)

// tidy cuts the event log, and drops uploads that nobody has gone on with, files that no task was
// fed from and answers to requests that nobody will repeat.
func tidy(ctx context.Context, db *store.Store, blobs *blob.Store, searches *search.Service, log *slog.Logger) {
	ticker := time.NewTicker(6 * time.Hour)
	defer ticker.Stop()
	for {
		stale, err := blobs.Sweep(keepUnfinished)
		var needed map[string]bool
		if err == nil {
			needed, err = searches.Needed(ctx)
		}
		var unneeded []string
		if err == nil {
			unneeded, err = blobs.SweepBlobs(keepUnneeded, func(sha256 string) bool { return needed[sha256] })
		}
		if err == nil {
			_, err = db.Write(ctx, func(tx *store.Tx) error {
				for _, id := range stale {
					if err := tx.DeleteUpload(id); err != nil && !errors.Is(err, store.ErrNotFound) {
						return err
					}
				}
				for _, sha256 := range unneeded {
					if _, err := blobs.Path(sha256); err == nil {
						continue // somebody has sent it again
					}
					if err := tx.DeleteBlob(sha256); err != nil {
						return err
					}
				}
				if _, err := tx.TrimIdempotent(tx.Now().Add(-keepIdempotency)); err != nil {
					return err
				}
				_, err := tx.TrimEvents(keepEvents, keepEventCount)
				return err
			})
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("tidying up failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// watchDevices tells the pool what the prober finds, now and then.
func watchDevices(ctx context.Context, prober probe.Prober, searches *search.Service, log *slog.Logger) {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		found, err := prober.Probe(ctx)
		if err == nil {
			err = searches.SetDevices(ctx, sighting(found))
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("devices could not be looked at", "error", err)
		}
	}
}

// newProber looks for what is there, or takes a written list of devices.
func newProber(spec string, ours func(pid int) bool) (probe.Prober, error) {
	if spec != "" {
		return probe.ParseSpec(spec, nil)
	}
	visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	return probe.Join(probe.SMI{Visible: probe.VisibleFrom(visible, set), Ours: ours}, probe.CPU{}), nil
}

func sighting(r probe.Report) search.Sighting {
	sick := map[string]string{}
	for _, s := range r.Sick {
		sick[s.Device] = s.Why
	}
	return search.Sighting{Devices: r.Devices, Busy: r.Why, Sick: sick}
}

// usage counts the requests and streams that are open, and knows since when
// there is none.
type usage struct {
	mu    sync.Mutex
	open  int
	since time.Time
}

func newUsage() *usage { return &usage{since: time.Now()} }

func (u *usage) count(delta int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open += delta
	u.since = time.Now()
}

// idle is how long nothing was open.
func (u *usage) idle() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open > 0 {
		u.since = time.Now()
	}
	return time.Since(u.since)
}

// leaveWhenIdle ends a private server that nobody has used for a while and
// that has nothing to run.
func leaveWhenIdle(ctx context.Context, leave func(), after time.Duration, use *usage, searches *search.Service, log *slog.Logger) {
	ticker := time.NewTicker(min(after/4, 30*time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		busy, err := searches.Busy(ctx)
		if err != nil {
			return
		}
		if busy {
			use.count(0)
			continue
		}
		if use.idle() > after {
			log.Info("nobody has used this private server for a while; it ends", "after", after)
			leave()
			return
		}
	}
}
