// Package jupytertest is a Jupyter frontend for tests: it starts a kernel in the same process, or connects to one that runs already, speaks
// the protocol over the real sockets, and makes a test of a few lines of it:
//
//	c := jupytertest.Start(t, func(ctx context.Context, connectionFile string) error {
//		return jupyter.Serve(ctx, jupyter.Config{ConnectionFile: connectionFile}, handler)
//	})
//	r := c.Run(`print "hello"`)
//	if r.Stdout() != "hello\n" {
//		t.Error(r)
//	}
//
// It signs, frames and waits with code of its own, so it also tests that of the kernel. Whatever takes longer than [Patience] fails the test
// with what was awaited and what had come. Everything it opens is closed when the test ends.
package jupytertest
