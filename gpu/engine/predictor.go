package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/easeml/easeml/gpu/trial"
)

// ErrPredictorGone is the error of a question to a predictor whose process has left. Open another.
var ErrPredictorGone = errors.New("the predictor has ended")

// Predictor is a resident process that has loaded one model and answers from it, with the very preprocessing of its
// training. It runs on CPUs, outside the pool, and ends with this process. Its methods may be called from several
// goroutines; questions are answered one after the other.
type Predictor struct {
	child *child
	in    *os.File
	log   string
	ready json.RawMessage
	turn  chan struct{} // holds one token: whose turn it is to ask
	gone  chan struct{} // closed when no reply will come any more

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan trial.Reply
}

// OpenPredictor starts a predictor for a model's folder and waits until it has loaded it. What the process prints to
// stderr is appended to logPath. When ctx ends first, the process is ended too. A model that cannot be loaded is an
// error with the process's own sentence, a *trial.Refusal where it gave one.
func OpenPredictor(ctx context.Context, python, modelFolder, logPath string) (*Predictor, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of a predictor: %w", err)
	}
	defer log.Close()
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a predictor: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, fmt.Errorf("start a predictor: %w", err)
	}
	cmd := exec.Command(python, "-m", "easeml.trainer", "predict", modelFolder)
	cmd.Env = environment(quiet, map[string]string{"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, log
	c, err := launch(cmd, true)
	// The child's ends are its own now: while we hold one, its pipe has no end.
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start a predictor with %s: %w", python, err)
	}
	p := &Predictor{child: c, in: in, log: logPath, turn: make(chan struct{}, 1), gone: make(chan struct{}),
		waiting: map[int64]chan trial.Reply{}}
	p.turn <- struct{}{}
	first := make(chan trial.Reply, 1)
	p.waiting[0] = first
	go p.read(out)
	select {
	case r := <-first:
		if r.Failed == nil {
			p.ready = r.Ready
			return p, nil
		}
		err = r.Failed
	case <-p.gone:
		err = p.lost()
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.Close()
	return nil, fmt.Errorf("load the model in %s: %w", modelFolder, err)
}

// Ready is what the process said about its model when it had loaded it.
func (p *Predictor) Ready() json.RawMessage { return p.ready }

// Gone is closed when the process has ended, by itself or by Close.
func (p *Predictor) Gone() <-chan struct{} { return p.gone }

// Answer has the rows of some files answered into a file. A request that is turned down as a whole is a
// *trial.Refusal; a process that is no more is ErrPredictorGone. When ctx ends, the wait ends, not the work.
func (p *Predictor) Answer(ctx context.Context, r trial.Request) (trial.Done, error) {
	reply, err := p.ask(ctx, trial.Question{Request: &r})
	if err != nil {
		return trial.Done{}, err
	}
	if reply.Done == nil {
		return trial.Done{}, errors.New("the predictor's reply has no \"done\"")
	}
	return *reply.Done, nil
}

// Rescore has the model measured on another version of the data; errors are those of Answer.
func (p *Predictor) Rescore(ctx context.Context, r trial.Rescore) (trial.Scored, error) {
	reply, err := p.ask(ctx, trial.Question{Rescore: &r})
	if err != nil {
		return trial.Scored{}, err
	}
	if reply.Scored == nil {
		return trial.Scored{}, errors.New("the predictor's reply has no \"scored\"")
	}
	return *reply.Scored, nil
}

// Close ends the process and waits for it. It may be called more than once.
func (p *Predictor) Close() error {
	p.in.Close()
	p.child.kill(syscall.SIGKILL) // it has nothing to save
	<-p.child.done
	<-p.gone
	return nil
}

func (p *Predictor) ask(ctx context.Context, q trial.Question) (trial.Reply, error) {
	if err := ctx.Err(); err != nil {
		return trial.Reply{}, err
	}
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-p.gone:
		return trial.Reply{}, p.lost()
	case <-ctx.Done():
		return trial.Reply{}, ctx.Err()
	}
	p.mu.Lock()
	p.last++
	q.ID = p.last
	answer := make(chan trial.Reply, 1)
	p.waiting[q.ID] = answer
	p.mu.Unlock()
	line, err := json.Marshal(q)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	if err != nil {
		p.forget(q.ID)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			err = p.lost()
		}
		return trial.Reply{}, err
	}
	select {
	case r := <-answer:
		if r.Failed != nil {
			return r, r.Failed
		}
		return r, nil
	case <-p.gone:
		select {
		case r := <-answer: // its last words
			if r.Failed == nil {
				return r, nil
			}
			return r, r.Failed
		default:
			return trial.Reply{}, p.lost()
		}
	case <-ctx.Done():
		p.forget(q.ID)
		return trial.Reply{}, ctx.Err()
	}
}

func (p *Predictor) forget(id int64) {
	p.mu.Lock()
	delete(p.waiting, id)
	p.mu.Unlock()
}

// lost says why there is no reply, with the log's word for it.
func (p *Predictor) lost() error {
	if why := lastLine(p.log); why != "" {
		return fmt.Errorf("%w: %s", ErrPredictorGone, why)
	}
	return ErrPredictorGone
}

// read hands every reply to whoever waits for it, until the process leaves.
func (p *Predictor) read(out *os.File) {
	defer close(p.gone)
	go func() {
		<-p.child.done
		p.child.kill(syscall.SIGKILL)
		out.SetReadDeadline(time.Now().Add(time.Second)) // whoever else holds the pipe is not waited for
	}()
	eachLine(out, func(line []byte) {
		var r trial.Reply
		if json.Unmarshal(line, &r) != nil {
			return // not ours: a library prints
		}
		p.mu.Lock()
		answer := p.waiting[r.ID]
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if answer != nil {
			answer <- r
		}
	})
	out.Close()
	<-p.child.done
}

// eachLine calls do for every line that could be a JSON object, until the end of the stream.
func eachLine(r io.Reader, do func([]byte)) {
	b := bufio.NewReader(r)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 && line[0] == '{' {
			do(line)
		}
		if err != nil {
			return
		}
	}
}

// lastLine is the last thing that a log says; empty when it says nothing.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 4096 {
		if _, err := f.Seek(-4096, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
