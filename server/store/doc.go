// Package store keeps the server's state in one SQLite file: users, blobs'
// owners, tasks, feeds, examples, dataset versions, searches, candidates,
// trials, attempts, and the log of durable events. All SQL of the server is
// here, one file a noun.
//
// What happens here. [Open] takes a lock (one server, one state), migrates
// the schema and keeps one connection for writing and several for reading.
// [Store.Write] runs a function in one transaction on a [Tx]: the rows and
// the events it makes are committed together or not at all, and a commit is
// on disk before Write returns. [Store.Read] runs a function on a [Reader],
// a consistent snapshot that knows the event it is current to.
// [Store.Changed] tells readers of the log that there is more to read.
//
// What doesn't. No row means anything here: who may write what, in which
// order and why is decided by the rooms above (search changes are made by
// server/search alone), and rows are turned into the wire's structs at the
// edge. File contents are in server/blob.
//
// Conventions. Ids are UUIDv7 strings made by the caller. Times are stored as
// Unix microseconds and come back in UTC; a zero time in a row that is
// inserted becomes the transaction's [Tx.Now]. JSON columns hold what they
// were given; empty means nil. A lookup or update that meets no row returns
// an error that is [ErrNotFound]; an insert of a row that is there already
// returns one that is [ErrExists].
package store
