//go:build !linux

package allocator

import "time"

// threadTime is not known here.
func threadTime() time.Duration { return 0 }
