package answer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/easeml/easeml/gpu/engine"
	"github.com/easeml/easeml/gpu/trial"
)

// Config of a Service; zero fields take the values said.
type Config struct {
	Python string
	Root   string        // folder for answers on their way out and logs
	Keep   int           // predictors that stay open; 0 = 4
	Idle   time.Duration // after which one is closed; 0 = 10 min
	Log    *slog.Logger
}

// Service answers questions from models. Its methods may be called from any
// goroutine.
type Service struct {
	cfg Config

	mu     sync.Mutex
	open   map[string]*resident // by model folder
	closed bool
}

// resident is a predictor that is open, or being opened.
type resident struct {
	ready     chan struct{} // closed when predictor and err are set
	predictor *engine.Predictor
	err       error
	users     int
	used      time.Time
	idle      *time.Timer
}

// ErrClosed is the answer after Close.
var ErrClosed = errors.New("the server is shutting down")

// New makes the folder for answers; nothing is loaded yet. Answers that a
// former server left there are removed.
func New(cfg Config) (*Service, error) {
	if cfg.Keep == 0 {
		cfg.Keep = 4
	}
	if cfg.Idle == 0 {
		cfg.Idle = 10 * time.Minute
	}
	if err := os.RemoveAll(cfg.Root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, open: map[string]*resident{}}, nil
}

// Source is a file of a question.
type Source struct {
	Name string // as its owner knows it
	Path string
}

// Request asks a model for answers to every row of some files.
type Request struct {
	ModelFolder string
	Sources     []Source
	Using       map[string]string
	Fed         map[string][]string // the columns that each field was learned from; they fill it again where they are there
	Options     map[string][]string
}

// Result is a file of NDJSON lines, one an input row, in the trainer's form.
type Result struct {
	Path    string
	Answers int
	Refused int
	Unsure  int
	Drift   []trial.Drift // what lies otherwise than in what the model learned from
	Seconds float64
	Columns map[string]string // kinds of the rows' own columns, where they are known
	Fields  map[string]string // likewise of the answers
}

// Close removes the file.
func (r Result) Close() error { return os.Remove(r.Path) }

// Refusal is a question that can't be answered as a whole: nothing was.
type Refusal struct {
	Detail string
	Hint   string
	Where  *trial.Where
}

func (r *Refusal) Error() string { return r.Detail }

// Status of a Refusal over HTTP.
func (r *Refusal) Status() int { return http.StatusUnprocessableEntity }

// Answer has the model answer. The first question to a model waits until it
// is loaded.
func (s *Service) Answer(ctx context.Context, r Request) (Result, error) {
	out, err := os.CreateTemp(s.cfg.Root, "answers-*.ndjson")
	if err != nil {
		return Result{}, err
	}
	path := out.Name()
	if err := out.Close(); err != nil {
		return Result{}, err
	}
	question := trial.Request{Out: path, Using: map[string]json.RawMessage{}, Fed: r.Fed, Options: map[string]json.RawMessage{}}
	for _, src := range r.Sources {
		question.Sources = append(question.Sources, trial.Source{Name: src.Name, Path: src.Path})
	}
	for field, column := range r.Using {
		question.Using[field], _ = json.Marshal(column) // strings
	}
	for name, values := range r.Options {
		if len(values) == 1 {
			question.Options[name], _ = json.Marshal(values[0])
		} else {
			question.Options[name], _ = json.Marshal(values)
		}
	}
	var done trial.Done
	err = s.with(ctx, r.ModelFolder, func(p *engine.Predictor) (err error) {
		done, err = p.Answer(ctx, question)
		return err
	})
	if err != nil {
		os.Remove(path)
		return Result{}, worded(err)
	}
	return Result{Path: path, Answers: int(done.Answers), Refused: int(done.Refused), Unsure: int(done.Unsure), Drift: done.Drift, Seconds: done.Seconds,
		Columns: done.Columns, Fields: done.Fields}, nil
}

// Prepare loads a model in the background, for a question that will most
// likely come: whoever looks at the best model asks it next.
func (s *Service) Prepare(modelFolder string) {
	go func() {
		if r, err := s.borrow(context.Background(), modelFolder); err == nil {
			s.giveBack(modelFolder, r, false)
		} else if !errors.Is(err, ErrClosed) {
			s.cfg.Log.Warn("a model could not be loaded ahead of a question", "model", modelFolder, "error", err)
		}
	}()
}

// Rescore measures a model on another dataset version, by predicting only.
func (s *Service) Rescore(ctx context.Context, modelFolder string, data trial.Data, metric string) (validation, test *trial.Score, err error) {
	var scored trial.Scored
	err = s.with(ctx, modelFolder, func(p *engine.Predictor) (err error) {
		scored, err = p.Rescore(ctx, trial.Rescore{Data: data, Metric: metric})
		return err
	})
	return scored.Validation, scored.Test, worded(err)
}

func worded(err error) error {
	var refused *trial.Refusal
	if errors.As(err, &refused) {
		return &Refusal{Detail: refused.Error(), Hint: refused.Hint, Where: refused.Where}
	}
	return err
}

// with lends the model's predictor to f, and once more a fresh one when the
// first had left unseen.
func (s *Service) with(ctx context.Context, folder string, f func(*engine.Predictor) error) error {
	for try := 0; ; try++ {
		r, err := s.borrow(ctx, folder)
		if err != nil {
			return err
		}
		err = f(r.predictor)
		gone := errors.Is(err, engine.ErrPredictorGone)
		s.giveBack(folder, r, gone)
		if !gone || try == 1 {
			return err
		}
	}
}

func (s *Service) borrow(ctx context.Context, folder string) (*resident, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	r, known := s.open[folder]
	if !known {
		r = &resident{ready: make(chan struct{})}
		s.open[folder] = r
		s.makeRoom()
		go s.load(folder, r)
	}
	r.users++
	if r.idle != nil {
		r.idle.Stop()
	}
	s.mu.Unlock()
	select {
	case <-r.ready:
	case <-ctx.Done():
		s.giveBack(folder, r, false)
		return nil, ctx.Err()
	}
	if r.err != nil {
		s.giveBack(folder, r, true)
		return nil, r.err
	}
	return r, nil
}

// load opens a predictor; whoever waits for it may have left meanwhile.
func (s *Service) load(folder string, r *resident) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	p, err := engine.OpenPredictor(ctx, s.cfg.Python, folder, filepath.Join(s.cfg.Root, "predict.log"))
	s.mu.Lock()
	defer s.mu.Unlock()
	r.predictor, r.err = p, err
	close(r.ready)
	if err == nil && (s.closed || s.open[folder] != r) && r.users == 0 {
		s.end(r)
	}
}

// makeRoom closes the least recently used predictors that nobody is asking.
func (s *Service) makeRoom() {
	for len(s.open) > s.cfg.Keep {
		var oldest string
		for folder, r := range s.open {
			if r.users == 0 && r.predictor != nil && (oldest == "" || r.used.Before(s.open[oldest].used)) {
				oldest = folder
			}
		}
		if oldest == "" {
			return
		}
		r := s.open[oldest]
		delete(s.open, oldest)
		s.end(r)
	}
}

// end closes a predictor without holding anybody up.
func (s *Service) end(r *resident) {
	if r.idle != nil {
		r.idle.Stop()
	}
	p := r.predictor
	go func() {
		if err := p.Close(); err != nil {
			s.cfg.Log.Warn("a predictor did not close", "error", err)
		}
	}()
}

func (s *Service) giveBack(folder string, r *resident, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.users--
	r.used = time.Now()
	if broken && s.open[folder] == r {
		delete(s.open, folder)
	}
	if r.users > 0 || r.predictor == nil {
		return
	}
	if s.closed || s.open[folder] != r {
		s.end(r)
		return
	}
	r.idle = time.AfterFunc(s.cfg.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.users == 0 && s.open[folder] == r {
			delete(s.open, folder)
			s.end(r)
		}
	})
}

// Close ends every predictor and waits for it.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	var list []*resident
	for folder, r := range s.open {
		delete(s.open, folder)
		list = append(list, r)
	}
	s.mu.Unlock()
	var errs []error
	for _, r := range list {
		<-r.ready
		if r.idle != nil {
			r.idle.Stop()
		}
		if r.predictor != nil {
			errs = append(errs, r.predictor.Close())
		}
	}
	return errors.Join(errs...)
}
