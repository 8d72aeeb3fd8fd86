package cells

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"

	"github.com/apache/thrift/lib/go/thrift"
)

// footerLimit is the most bytes of a Parquet file's footer that are read to name its columns.
const footerLimit = 8 << 20

// Numbers of the fields that are read, as Parquet's format gives them (parquet.thrift: FileMetaData, SchemaElement).
const (
	footerSchema    = 2
	elementName     = 4
	elementChildren = 5
)

// parquetColumns are the columns of a Parquet file, which names them in its footer; nil where it names none there.
func parquetColumns(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	// At the end stand the footer, its length and the format's name.
	var tail [8]byte
	if _, err := file.ReadAt(tail[:], info.Size()-int64(len(tail))); err != nil || string(tail[4:]) != "PAR1" {
		return nil
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > footerLimit || length > info.Size()-int64(len(tail)) {
		return nil
	}
	footer, err := io.ReadAll(io.NewSectionReader(file, info.Size()-int64(len(tail))-length, length))
	if err != nil {
		return nil
	}
	return parquetNames(footer)
}

// element is a node of a Parquet file's schema, which stands in it as a list in the order of visits, parents first.
type element struct {
	name     string
	children int
}

// parquetNames are the names of the columns in a footer: of the nodes right below the root.
func parquetNames(footer []byte) []string {
	elements := parquetSchema(footer)
	if len(elements) == 0 {
		return nil
	}
	var names []string
	open := 0 // nodes of the present column that are still to come
	for _, e := range elements[1:] {
		if open == 0 {
			names = append(names, e.name)
			open = 1
		}
		open += e.children - 1
	}
	return names
}

// parquetSchema reads the schema out of a footer; nil where there is none that can be read. The library that writes
// Parquet files would read all of the footer, and make room for as many elements as it claims to have.
func parquetSchema(footer []byte) []element {
	ctx := context.Background()
	limit := int32(len(footer))
	from := thrift.NewTCompactProtocolConf(&thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(footer)},
		&thrift.TConfiguration{MaxMessageSize: limit, MaxFrameSize: limit})
	var elements []element
	fields(ctx, from, func(id int16, kind thrift.TType) (read, more bool) {
		if id != footerSchema || kind != thrift.LIST {
			return false, true
		}
		of, n, err := from.ReadListBegin(ctx)
		if err != nil || of != thrift.STRUCT {
			return true, false
		}
		for range n {
			var e element
			if !fields(ctx, from, func(id int16, kind thrift.TType) (bool, bool) {
				switch {
				case id == elementName && kind == thrift.STRING:
					e.name, err = from.ReadString(ctx)
				case id == elementChildren && kind == thrift.I32:
					var children int32
					children, err = from.ReadI32(ctx)
					e.children = int(children)
				default:
					return false, true
				}
				return true, err == nil
			}) || e.children < 0 || e.children > n {
				elements = nil
				return true, false
			}
			elements = append(elements, e)
		}
		return true, false // nothing of what follows is wanted
	})
	return elements
}

// fields goes through a struct's fields, skips those that take has not read, and ends early where it wants no more. It
// tells whether all were read.
func fields(ctx context.Context, from thrift.TProtocol, take func(id int16, kind thrift.TType) (read, more bool)) bool {
	if _, err := from.ReadStructBegin(ctx); err != nil {
		return false
	}
	for {
		_, kind, id, err := from.ReadFieldBegin(ctx)
		if err != nil {
			return false
		}
		if kind == thrift.STOP {
			return from.ReadStructEnd(ctx) == nil
		}
		read, more := take(id, kind)
		if !more || !read && thrift.SkipDefaultDepth(ctx, from, kind) != nil || from.ReadFieldEnd(ctx) != nil {
			return false
		}
	}
}
