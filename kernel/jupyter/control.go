package jupyter

import "context"

// controlLoop serves the requests of the control socket, while a cell runs as well as at rest.
func (k *kernel) controlLoop(ctx context.Context) {
	for {
		r, _ := k.control.next(ctx)
		if r == nil {
			return
		}
		k.controlStatus(r, "busy")
		switch r.kind {
		case "kernel_info_request":
			k.kernelInfo(r)
		case "interrupt_request":
			k.interrupt()
			k.reply(r, "interrupt_reply", okReply)
		case "shutdown_request":
			k.shutdown(r)
		default:
			k.bad.warn("a request of unknown kind was not answered", "kind", r.kind)
		}
		k.controlStatus(r, "idle")
		k.control.done()
		if r.kind == "shutdown_request" {
			k.once.Do(func() { close(k.stopped) })
			return
		}
	}
}

// interrupt stops the running cell and the cells behind it: who interrupts "Run All" means all.
func (k *kernel) interrupt() { k.shell.stop(ErrInterrupted) }

// shutdown answers the request at once, since whoever sent it waits only for a few seconds, then lets the running cell say its last, and
// tells the other clients.
func (k *kernel) shutdown(r *request) {
	var q shutdownRequest
	_ = read(r, &q) // a malformed one is a plain shutdown
	body := shutdownReply{"ok", q.Restart}
	k.reply(r, "shutdown_reply", body)
	if r.from == k.routers.control {
		k.endShell()
	}
	k.publish(r.header, "shutdown_reply", body)
}
