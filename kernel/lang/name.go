package lang

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/easeml/easeml/schema"
)

// BareName is the name of the task that a bare program declares: its kind and
// four hex digits of a hash of the program and, where it is known, of the
// notebook's path ("" where not), such as image_3f9a. So Run All means the same
// task again, and another notebook another one.
func BareName(p schema.Program, notebook string) string {
	sum := sha256.Sum256([]byte(schema.Format(p) + "\x00" + notebook))
	return schema.Kind(p) + "_" + hex.EncodeToString(sum[:2])
}
