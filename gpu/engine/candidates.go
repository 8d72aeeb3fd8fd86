package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/easeml/easeml/gpu/trial"
)

// Candidates asks the trainer which candidates suit a program and the data that profileJSON (an ingest's profile.json)
// describes. The process ends with ctx.
func Candidates(ctx context.Context, python string, programJSON, profileJSON []byte, template string) ([]trial.Candidate, error) {
	dir, err := os.MkdirTemp("", "easeml-candidates-")
	if err != nil {
		return nil, fmt.Errorf("ask for the candidates: %w", err)
	}
	defer os.RemoveAll(dir)
	program, profile := filepath.Join(dir, "program.json"), filepath.Join(dir, "profile.json")
	if err := os.WriteFile(program, programJSON, 0o600); err != nil {
		return nil, fmt.Errorf("ask for the candidates: %w", err)
	}
	if err := os.WriteFile(profile, profileJSON, 0o600); err != nil {
		return nil, fmt.Errorf("ask for the candidates: %w", err)
	}
	args := []string{"-m", "easeml.trainer", "candidates", "--program", program, "--profile", profile}
	if template != "" {
		args = append(args, "--template", template)
	}
	cmd := exec.Command(python, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.Env = environment(quiet, map[string]string{"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
	cmd.WaitDelay = time.Second // for pipes that a grandchild holds
	c, err := launch(cmd, true)
	if err != nil {
		return nil, fmt.Errorf("ask for the candidates with %s: %w", python, err)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		c.kill(syscall.SIGKILL)
		<-c.done
		return nil, ctx.Err()
	}
	if c.code != 0 {
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("the trainer could not list the candidates (status %d): %s", c.code, lines[len(lines)-1])
	}
	list, err := trial.ReadCandidates(&out)
	if err != nil {
		return nil, fmt.Errorf("the trainer's list of candidates: %w", err)
	}
	return list, nil
}
