// Package jupyter speaks the Jupyter messaging protocol, version 5.5, for a kernel written in Go.
//
// [Serve] reads a connection file, binds the five sockets in it and hands what comes in to a [Handler]: cells, completion, inspection and
// is_complete. What a cell shows goes out through a [Sink], questions to the person through a [Prompter]. All the rest of the protocol is
// answered here: busy and idle around every request, the order of messages, counters and history, the abort of queued cells after an error,
// interrupt and shutdown by message, the heartbeat, comms (every target is unknown), and the end of the kernel with its parent process.
//
// Nothing here knows the language of the cells, a server, or machine learning.
//
// From the outside in, one file each:
//
//	connection    the connection file
//	guard         frames read from a peer we do not trust: lengths, counts, pings
//	peer, outbox  one connection and what waits to be written to it
//	socket        a listening socket: handshakes, caps, drain
//	router, publisher, heartbeat   the three kinds of socket a kernel has
//	wire          messages: signature, header, frames
//	content       the bodies of messages
//	publication   a message to all, until its turn to be written
//	kernel        wiring, start and end
//	queue         requests that wait, and the one being served
//	shell, control   the two request loops
//	execute, cell    one execute_request: its outputs, its questions, its end
//	stdin         questions and their answers
//	history       the inputs of this and earlier sessions, in a file
//	parent        is the process that started us still there
//	limits        the numbers that keep one peer from hurting the others
//
// The folder jupytertest has a frontend for tests, of this and of whole kernels.
//
// ZeroMQ comes from github.com/go-zeromq/zmq4, of which only the handshake and the framing of one connection are used (zmq4.Open): its
// sockets let one silent or slow peer stop all others, and believe any frame length a stranger claims.
package jupyter
