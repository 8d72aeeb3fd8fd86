package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/easeml/easeml/gpu/trial"
)

func openFake(t *testing.T) (*Predictor, string) {
	t.Helper()
	t.Setenv("PYTHONPATH", fakeTrainer(nil)["PYTHONPATH"])
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "info.json"), []byte(`{"labels":["a","b"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(folder, "predict.log")
	p, err := OpenPredictor(context.Background(), fakePython(t), folder, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, log
}

func TestPredictor(t *testing.T) {
	p, _ := openFake(t)
	if string(p.Ready()) != `{"labels": ["a", "b"]}` {
		t.Errorf("ready: %s", p.Ready())
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			done, err := p.Answer(context.Background(), trial.Request{Sources: make([]trial.Source, n+1), Out: "/o"})
			if err != nil || done.Answers != int64(n+1) {
				t.Errorf("%d sources: %+v %v", n+1, done, err)
			}
		})
	}
	all.Wait()
	_, err := p.Answer(context.Background(), trial.Request{})
	var refusal *trial.Refusal
	if !errors.As(err, &refusal) || refusal.Message != "There is nothing to answer." || refusal.Hint == "" || *refusal.Where.Row != 3 {
		t.Errorf("refused: %v", err)
	}
	scored, err := p.Rescore(context.Background(), trial.Rescore{Data: trial.Data{Rows: 7}, Metric: "accuracy"})
	if err != nil || scored.Validation.N != 7 || scored.Test != nil {
		t.Errorf("rescored: %+v %v", scored, err)
	}
	// A wait that is given up does not shift the replies of those after it.
	ctx, cancel := context.WithCancel(context.Background())
	gate := filepath.Join(t.TempDir(), "gate")
	text, _ := json.Marshal(gate)
	asked := make(chan error)
	go func() {
		_, err := p.Answer(ctx, trial.Request{Sources: make([]trial.Source, 99), Options: map[string]json.RawMessage{"wait": text}})
		asked <- err
	}()
	until(t, "the question is on its way", func() bool { return p.pending() == 1 })
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if done, err := p.Answer(context.Background(), trial.Request{Sources: make([]trial.Source, 2)}); err != nil || done.Answers != 2 {
		t.Errorf("after it: %+v %v", done, err)
	}
	if err := p.Close(); err != nil || alive(p.child.pid) {
		t.Errorf("close: %v, alive %v", err, alive(p.child.pid))
	}
	if _, err := p.Answer(context.Background(), trial.Request{}); !errors.Is(err, ErrPredictorGone) {
		t.Errorf("after Close: %v", err)
	}
}

func (p *Predictor) pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

func TestPredictorDies(t *testing.T) {
	p, _ := openFake(t)
	_, err := p.Answer(context.Background(), trial.Request{Options: map[string]json.RawMessage{"die": json.RawMessage("true")}})
	if !errors.Is(err, ErrPredictorGone) || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("its last words: %v", err)
	}
	<-p.Gone()
	q, _ := openFake(t)
	if err := syscall.Kill(q.child.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-q.Gone()
	if _, err := q.Rescore(context.Background(), trial.Rescore{}); !errors.Is(err, ErrPredictorGone) {
		t.Errorf("after a kill: %v", err)
	}
}

func TestPredictorCannotLoad(t *testing.T) {
	t.Setenv("PYTHONPATH", fakeTrainer(nil)["PYTHONPATH"])
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	_, err := OpenPredictor(context.Background(), fakePython(t), folder, log)
	if !errors.Is(err, ErrPredictorGone) || !strings.Contains(err.Error(), "info.json") {
		t.Errorf("no model: %v", err)
	}
	if _, err := OpenPredictor(context.Background(), filepath.Join(folder, "python"), folder, log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no Python: %v", err)
	}
}
