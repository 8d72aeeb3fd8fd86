package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Stop ends a recorded server and waits until its process is gone. A record
// whose server has left already is only taken away.
func Stop(ctx context.Context, folder string, r Record, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if _, is := running(ctx, folder); !is {
		return removeRecord(folder)
	}
	if err := terminate(r.PID); err != nil {
		return fmt.Errorf("the server (process %d) can't be stopped: %w", r.PID, err)
	}
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for alive(r.PID) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server (process %d) has not ended within %s. Look into %s", r.PID, within, filepath.Join(folder, logName))
		case <-ticker.C:
		}
	}
	return removeRecord(folder)
}

func removeRecord(folder string) error {
	if err := os.Remove(filepath.Join(folder, recordName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
