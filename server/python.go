package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// FindPython returns the Python that the trainer runs in: the given one, or
// EASEML_PYTHON, or the .venv beside or above our own binary, or python3. It is
// checked by asking it for the trainer's package.
func FindPython(ctx context.Context, given, binary string) (string, error) {
	var tried []string
	for _, choice := range []string{given, os.Getenv("EASEML_PYTHON")} {
		if choice == "" {
			continue
		}
		path, err := exec.LookPath(choice)
		if err != nil {
			return "", fmt.Errorf("there is no Python at %s", choice)
		}
		if err := hasTrainer(ctx, path); err != nil {
			return "", err
		}
		return filepath.Abs(path) // it is started in other folders, too
	}
	folder := filepath.Dir(binary)
	for _, choice := range []string{
		filepath.Join(folder, "python"), filepath.Join(folder, ".venv", "bin", "python"), filepath.Join(folder, "..", ".venv", "bin", "python"), "python3",
	} {
		path, err := exec.LookPath(choice)
		if err != nil {
			continue
		}
		if hasTrainer(ctx, path) == nil {
			return filepath.Abs(path) // not resolved further: a virtual environment is known by its path
		}
		tried = append(tried, path)
	}
	return "", fmt.Errorf("no Python with the package easeml was found (tried %s). Name one with --python or EASEML_PYTHON", strings.Join(tried, ", "))
}

func hasTrainer(ctx context.Context, python string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c", "import easeml.trainer").CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if why := lines[len(lines)-1]; why != "" {
		err = errors.New(why)
	}
	return fmt.Errorf("the Python %s can't run the trainer: %w", python, err)
}
