package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/easeml/easeml/allocator"
	"github.com/easeml/easeml/gpu"
	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/history"
	"github.com/easeml/easeml/server/store"
)

// Blobs finds a complete upload's file.
type Blobs interface {
	Path(sha256 string) (string, error)
}

// Trainer answers the two questions that need the trainer but no lease.
type Trainer interface {
	// Candidates lists the models that suit a program and the profile of its data.
	Candidates(ctx context.Context, program, profile []byte, template string) ([]trial.Candidate, error)
	// Rescore measures a kept model on another dataset version, by predicting only.
	Rescore(ctx context.Context, model string, data trial.Data, metric string) (validation, test *trial.Score, err error)
}

// Config is what a Service needs; nil and zero fields have no default unless said.
type Config struct {
	Store   *store.Store
	Blobs   Blobs
	Engine  engine.Engine
	Trainer Trainer
	Devices []gpu.Device
	Root    string // folder of trials, data and feeds
	Options allocator.Options
	Priors  history.Priors // by kind of search; where it has none, the allocator's own
	Log     *slog.Logger
	Ready   <-chan struct{} // no trial is started before it is closed; nil: at once

	TrialSeconds float64          // longest one attempt may take; 0 = one hour
	LeastLimit   time.Duration    // before that no trial is put aside for taking longer than was thought; 0 = 1 min
	Grace        time.Duration    // between asking a trial to leave and killing it; 0 = 5 s
	Now          func() time.Time // nil: time.Now
}

// Service runs searches. All methods may be called from any goroutine.
type Service struct {
	cfg   Config
	inbox chan func(*state)
	hub   *Hub
	done  chan struct{} // closed when the loop has ended
	stop  context.CancelFunc

	services dispatch       // folders run on service slots: ingests
	work     sync.WaitGroup // background changes

	counts countCache
}

// ErrClosed is the answer after Close.
var ErrClosed = errors.New("the server is shutting down")

// Open rebuilds the state of every search from the store, absorbs what
// finished while no server ran, and starts the loop.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.TrialSeconds == 0 {
		cfg.TrialSeconds = 3600
	}
	if cfg.LeastLimit == 0 {
		cfg.LeastLimit = time.Minute
	}
	if cfg.Grace == 0 {
		cfg.Grace = 5 * time.Second
	}
	pool, err := gpu.NewPool(cfg.Devices)
	if err != nil {
		return nil, err
	}
	cfg.Options.Rates = rates(cfg.Devices)
	alloc, err := allocator.New(cfg.Options)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Service{cfg: cfg, inbox: make(chan func(*state)), hub: newHub(), done: make(chan struct{}), stop: stop}
	if err := alloc.Apply(poolOf(pool)); err != nil {
		stop()
		return nil, err
	}
	st := &state{
		Service: s, ctx: life, alloc: alloc, pool: pool,
		runs: map[string]*run{}, tenants: map[string]*tenant{}, changes: map[string]*changes{}, fair: fairness{},
	}
	if err := st.recover(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("rebuild the searches from the store: %w", err)
	}
	go s.loop(life, st)
	return s, nil
}

// SetPriors takes priors fitted anew, for searches that begin. One that has
// results goes on with the prior it has: the new one knows them already, and they
// would count twice.
func (s *Service) SetPriors(ctx context.Context, priors history.Priors) error {
	return s.ask(ctx, func(st *state) error {
		st.cfg.Priors = priors
		for id, t := range st.tenants {
			prior := priors.For(t.row)
			if prior.Prior == nil || prior == t.prior {
				continue
			}
			if view, ok := st.alloc.View(allocator.SearchID(id)); !ok || view.Best >= 0 {
				continue
			}
			if err := st.alloc.Apply(allocator.PriorChanged{Search: allocator.SearchID(id), Prior: prior.Prior}); err != nil {
				return err
			}
			t.prior = prior
		}
		st.schedule()
		return nil
	})
}

// priorOf is the prior that a search goes by: the one of its last decision, so
// that a restart changes nothing; the newest where it has none yet.
func (st *state) priorOf(r *store.Reader, row store.Search) (history.Fitted, error) {
	trials, err := r.Trials(row.ID)
	if err != nil {
		return history.Fitted{}, err
	}
	var last store.Trial
	for _, tr := range trials {
		if tr.ID > last.ID { // the ids count time
			last = tr
		}
	}
	var decision struct {
		Prior   string `json:"prior"`
		Earlier int    `json:"earlier"`
	}
	if last.ID == "" || json.Unmarshal(last.Reason, &decision) != nil {
		return st.cfg.Priors.For(row), nil
	}
	for _, t := range st.tenants { // one value in memory for all that go by it
		if t.prior.Prior != nil && t.prior.ID == decision.Prior {
			return t.prior, nil
		}
	}
	if newest := st.cfg.Priors.For(row); newest.Prior != nil && newest.ID == decision.Prior {
		return newest, nil
	}
	kept, err := r.PriorByID(decision.Prior)
	switch {
	case err == nil:
		if prior, err := history.Decode(kept); err == nil {
			return prior, nil
		}
		return st.cfg.Priors.For(row), nil // it is of another program
	case !errors.Is(err, store.ErrNotFound):
		return history.Fitted{}, err
	case decision.Earlier > 0:
		return st.cfg.Priors.For(row), nil // from a time when priors were not kept
	}
	return history.Fitted{}, nil // it began without any history
}

// shareSeconds lets searches that are open learn from each other how long
// candidates take.
func (st *state) shareSeconds() error {
	for _, e := range st.alloc.LivePriors() {
		if err := st.alloc.Apply(e); err != nil {
			return err
		}
	}
	return nil
}

// poolOf counts the devices of each class that could be had.
func poolOf(pool *gpu.Pool) allocator.PoolChanged {
	devices := map[string]int{}
	for _, d := range pool.Snapshot() {
		if d.State != gpu.Lost && d.State != gpu.Draining {
			devices[d.Device.Class]++
		}
	}
	return allocator.PoolChanged{Devices: devices}
}

func rates(devices []gpu.Device) map[string]float64 {
	r := map[string]float64{}
	for _, d := range devices {
		if d.Rate > 0 {
			r[d.Class] = d.Rate
		}
	}
	return r
}

// state is what the loop's goroutine owns; nothing else touches it.
type state struct {
	*Service
	ctx     context.Context // ends with the service
	alloc   *allocator.Allocator
	pool    *gpu.Pool
	ready   bool                // trials may be started
	runs    map[string]*run     // attempts at work, by folder
	tenants map[string]*tenant  // searches the allocator knows, by id
	changes map[string]*changes // feeds and refines at work or waiting, by task id
	fair    fairness
	waits   waits
}

func (s *Service) loop(ctx context.Context, st *state) {
	defer close(s.done)
	st.resumeFeeds()
	st.erase()
	ready := s.cfg.Ready
	if ready == nil {
		st.ready = true
		st.schedule()
	}
	notices := s.cfg.Engine.Notices()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.inbox:
			f(st)
		case <-ready:
			ready, st.ready = nil, true
			st.schedule()
		case n, open := <-notices:
			if !open {
				notices = nil
				continue
			}
			if !s.services.deliver(n) {
				st.notice(n)
			}
		}
	}
}

// ask runs f on the loop's goroutine and waits for it.
func (s *Service) ask(ctx context.Context, f func(*state) error) error {
	answer := make(chan error, 1)
	select {
	case s.inbox <- func(st *state) { answer <- f(st) }:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
	select {
	case err := <-answer:
		return err
	case <-s.done:
		return ErrClosed
	}
}

// tell hands f to the loop without waiting for it; after Close it is dropped.
func (s *Service) tell(f func(*state)) {
	select {
	case s.inbox <- f:
	case <-s.done:
	}
}

// Close stops the loop and waits for background work. Running attempts are
// the engine's to end; their rows are absorbed or queued again by the next Open.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	idle := make(chan struct{})
	go func() { s.work.Wait(); <-s.done; close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Busy reports whether a trial or a feed is at work or could be: a private
// server stays while it is.
func (s *Service) Busy(ctx context.Context) (busy bool, err error) {
	err = s.ask(ctx, func(st *state) error {
		busy = len(st.runs) > 0 || len(st.changes) > 0
		for _, t := range st.tenants {
			busy = busy || t.row.State == "open" && len(t.tasks) > 0 && !t.paused
		}
		return nil
	})
	return busy, err
}

// Transients is where progress is published: the latest by key.
func (s *Service) Transients() *Hub { return s.hub }

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }
