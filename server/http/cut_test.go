package http

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cutter is a proxy on TCP that cuts connections in the middle: after so many
// bytes in one of the two directions, as the budgets say, one a connection. When
// there are no more budgets nothing is cut.
type cutter struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	up      []int64 // bytes from the client
	down    []int64 // bytes from the server
	open    map[net.Conn]bool
	refused bool
	cuts    int
	wait    sync.WaitGroup
}

func newCutter(t *testing.T, target string, up, down []int64) *cutter {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, target: target, up: up, down: down, open: map[net.Conn]bool{}}
	c.wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.wait.Go(func() { c.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		c.cutAll()
		c.wait.Wait()
	})
	return c
}

func (c *cutter) url() string { return "http://" + c.listener.Addr().String() }

// cutAll cuts what is open.
func (c *cutter) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.Close()
	}
}

// refuse closes new connections at once, until it is called with false.
func (c *cutter) refuse(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = yes
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	c.mu.Lock()
	refused := c.refused
	up, down := next(&c.up), next(&c.down)
	c.mu.Unlock()
	if refused {
		return
	}
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer server.Close()
	c.mu.Lock()
	c.open[client], c.open[server] = true, true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, client)
		delete(c.open, server)
	}()
	var wait sync.WaitGroup
	pass := func(to, from net.Conn, budget int64) {
		reader := io.Reader(from)
		if budget >= 0 {
			reader = io.LimitReader(from, budget)
		}
		n, _ := io.Copy(to, reader)
		if n == budget {
			c.mu.Lock()
			c.cuts++
			c.mu.Unlock()
		}
		client.Close()
		server.Close()
	}
	wait.Go(func() { pass(server, client, up) })
	wait.Go(func() { pass(client, server, down) })
	wait.Wait()
}

// next takes the first budget off; none is -1.
func next(budgets *[]int64) int64 {
	if len(*budgets) == 0 {
		return -1
	}
	n := (*budgets)[0]
	*budgets = (*budgets)[1:]
	return n
}
