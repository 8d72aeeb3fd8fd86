//go:build race

package jupyter

// raced says whether the race detector looks on.
const raced = true
