package cells

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
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
	r, err := ipc.NewReader(bytes.NewReader(stream), ipc.WithAllocator(bounded{memory.NewGoAllocator(), len(stream)}))
	if err != nil {
		return nil
	}
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// bounded makes no room that is larger than what is read: a message's own words about its length are not believed.
type bounded struct {
	memory.Allocator
	most int
}

func (b bounded) Allocate(size int) []byte {
	b.check(size)
	return b.Allocator.Allocate(size)
}

func (b bounded) Reallocate(size int, old []byte) []byte {
	b.check(size)
	return b.Allocator.Reallocate(size, old)
}

func (b bounded) check(size int) {
	if size > b.most+64 { // to the next multiple of 64
		panic("more than there is")
	}
}
