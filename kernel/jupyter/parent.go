package jupyter

import (
	"context"
	"os"
	"strconv"
	"time"
)

// findParent notes which process started this one. Jupyter names itself in JPY_PARENT_PID; it need not be the direct parent, since a script
// may stand between. A process that Jupyter names but that can't be seen from here, because it lives on another machine or in another
// container, is not watched.
func findParent() parent {
	named, _ := strconv.Atoi(os.Getenv("JPY_PARENT_PID"))
	return watchParent(named)
}

// awaitEnd looks at the parent now and then, and is true when it is gone, false when ctx ends first.
func (p parent) awaitEnd(ctx context.Context, every time.Duration) bool {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if p.gone() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}
