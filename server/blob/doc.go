// Package blob keeps the contents of files on disk, each once, under the
// SHA-256 of its bytes, and takes them in by uploads that can be broken off
// and resumed.
//
// What happens here. An upload is a file under root/uploads, named by its id;
// its offset is its size, so nothing else has to survive a restart.
// [Store.Append] adds bytes at the offset, [Store.Commit] hashes the file and
// renames it to root/blobs/ab/abcd…, where it is never changed again. A commit
// that was cut short by a crash is finished by the next one.
//
// What doesn't. Who may send or find what, how large a file was announced to
// be and whether its hash is the announced one is known to the caller; names
// of files are nowhere here. Ids and hashes are checked, and all paths are
// resolved inside the root.
package blob
