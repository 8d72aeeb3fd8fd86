package cells

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowColumns are the columns of an Arrow file or stream, which names them in its
// first bytes; nil where it names none there.
func arrowColumns(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	return arrowNames(file)
}

// arrowNames reads the columns of what begins as an Arrow file or stream.
func arrowNames(from io.Reader) (names []string) {
	// The reader panics at some of what is no Arrow.
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	start, _ := io.ReadAll(io.LimitReader(from, headBytes))
	// A file is a stream behind eight bytes, with an index of it at the end.
	stream := bytes.TrimPrefix(start, []byte("ARROW1\x00\x00"))
	// The reader makes room for whatever length stands there.
	head := bytes.TrimPrefix(stream, []byte{0xff, 0xff, 0xff, 0xff})
	if len(head) < 4 || uint64(binary.LittleEndian.Uint32(head)) > uint64(len(head)-4) {
		return nil
	}
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil
	}
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	return names
}
