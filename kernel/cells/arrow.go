package cells

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Places of what is read in the tables of an Arrow message, as Arrow's format gives them (Message.fbs, Schema.fbs):
// the n-th field of a table stands at 4 + 2n.
const (
	messageKind   = 6
	messageHeader = 8
	schemaFields  = 6
	fieldName     = 4

	kindSchema = 1 // of MessageHeader
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
func arrowNames(from io.Reader) []string {
	start, _ := io.ReadAll(io.LimitReader(from, headBytes))
	// A file is a stream behind eight bytes, with an index of it at the end. Before a message stand four bytes that
	// say so, which old ones lack, and its length.
	message := bytes.TrimPrefix(start, []byte("ARROW1\x00\x00"))
	message = bytes.TrimPrefix(message, []byte{0xff, 0xff, 0xff, 0xff})
	if len(message) < 4 {
		return nil
	}
	length, message := uint64(binary.LittleEndian.Uint32(message)), message[4:]
	if length > uint64(len(message)) {
		return nil
	}
	return schemaNames(message[:length])
}

// schemaNames are the names of the fields of a message that holds a schema. Only they are read: Arrow's own reader
// makes room for whatever number of fields or of bytes a message claims to have.
func schemaNames(message []byte) (names []string) {
	// What leads out of the message is an index out of range.
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	top := flatbuffers.Table{Bytes: message, Pos: flatbuffers.GetUOffsetT(message)}
	kind, header := top.Offset(messageKind), top.Offset(messageHeader)
	if kind == 0 || header == 0 || top.GetByte(top.Pos+flatbuffers.UOffsetT(kind)) != kindSchema {
		return nil
	}
	var schema flatbuffers.Table
	top.Union(&schema, flatbuffers.UOffsetT(header))
	fields := flatbuffers.UOffsetT(schema.Offset(schemaFields))
	if fields == 0 {
		return nil
	}
	first, room := schema.Vector(fields), len(message)
	for i := range schema.VectorLen(fields) {
		field := flatbuffers.Table{Bytes: message, Pos: schema.Indirect(first + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))}
		var name []byte
		if at := field.Offset(fieldName); at != 0 {
			name = field.ByteVector(field.Pos + flatbuffers.UOffsetT(at))
		}
		// Names of a true schema don't overlap, so they take no more than the message.
		if room -= len(name); room < 0 {
			return nil
		}
		names = append(names, string(name))
	}
	return names
}
