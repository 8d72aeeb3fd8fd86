package jupyter

import "github.com/go-zeromq/zmq4"

// heartbeat sends back whatever it gets: frontends tell by it whether the process is alive.
type heartbeat struct{}

func (heartbeat) kind() zmq4.SocketType             { return zmq4.Rep }
func (heartbeat) opened(*peer)                      {}
func (heartbeat) closed(*peer)                      {}
func (heartbeat) received(p *peer, frames [][]byte) { p.send(raw(frames)) }
