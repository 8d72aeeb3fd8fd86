package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// shellLoop serves the requests of the shell socket strictly in order. That completion waits for a running cell is meant: an idle in the
// middle of a run makes JupyterLab show the kernel as idle.
func (k *kernel) shellLoop(ctx context.Context) {
	rest := time.AfterFunc(k.limits.rest, k.atRest)
	defer rest.Stop()
	for {
		r, own := k.shell.next(ctx)
		if r == nil {
			return
		}
		rest.Stop()
		if r.kind == "execute_request" {
			k.execute(ctx, own, r)
		} else {
			k.status(r, "busy", nil)
			k.answer(own, r)
			k.status(r, "idle", nil)
		}
		k.shell.done()
		rest.Reset(k.limits.rest)
		if r.kind == "shutdown_request" {
			k.once.Do(func() { close(k.stopped) })
			return
		}
	}
}

// answer serves a request other than a cell, between its busy and its idle.
func (k *kernel) answer(ctx context.Context, r *request) {
	switch r.kind {
	case "kernel_info_request":
		k.kernelInfo(r)
	case "complete_request":
		k.complete(ctx, r)
	case "inspect_request":
		k.inspect(ctx, r)
	case "is_complete_request":
		k.isComplete(r)
	case "history_request":
		k.findHistory(r)
	case "connect_request": // deprecated, but a reply costs nothing and a client that asks waits for it
		k.reply(r, "connect_reply", k.ports)
	case "comm_info_request":
		k.reply(r, "comm_info_reply", commInfoReply{"ok", map[string]any{}})
	case "comm_open":
		// No target is known here. Saying so lets the frontend forget the comm.
		var c commID
		if read(r, &c) == nil && c.ID != "" {
			k.publish(r.header, "comm_close", commClose{c.ID, map[string]any{}})
		}
	case "comm_msg", "comm_close":
	case "interrupt_request":
		// By the time it is read here nothing runs any more; clients that can't use the control socket get their answer all the same.
		k.reply(r, "interrupt_reply", okReply)
	case "shutdown_request":
		k.shutdown(r)
	default:
		k.bad.warn("a request of unknown kind was not answered", "kind", r.kind)
	}
}

// read decodes the content of a request.
func read(r *request, into any) *Failure {
	if err := json.Unmarshal(r.content, into); err != nil {
		return &Failure{Name: "BadRequest", Value: fmt.Sprintf("The %s is not of the form that protocol %s describes: %v.", r.kind, ProtocolVersion, err)}
	}
	return nil
}

func (k *kernel) kernelInfo(r *request) {
	links := k.info.HelpLinks
	if links == nil {
		links = []HelpLink{}
	}
	k.reply(r, "kernel_info_reply", kernelInfoReply{
		Status: "ok", ProtocolVersion: ProtocolVersion, Implementation: k.info.Implementation, ImplementationVersion: k.info.Version,
		LanguageInfo: k.info.Language, Banner: k.info.Banner, HelpLinks: links, SupportedFeatures: []string{},
	})
}

func (k *kernel) complete(ctx context.Context, r *request) {
	var q completeRequest
	if f := read(r, &q); f != nil {
		k.reply(r, "complete_reply", statusError{"error", f.content()})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.limits.complete)
	defer cancel()
	n := utf8.RuneCountInString(q.Code)
	at := min(max(q.Cursor, 0), n)
	var c Completion
	if !k.careful(func() { c = k.handler.Complete(ctx, q.Code, at) }) {
		c = Completion{Start: at, End: at}
	}
	start := min(max(c.Start, 0), n)
	end := min(max(c.End, start), n)
	body := completeReply{Status: "ok", Matches: c.Matches, Start: start, End: end, Metadata: map[string]any{}}
	if body.Matches == nil {
		body.Matches = []string{}
	}
	if len(c.Types) > 0 {
		types := make([]completionType, len(c.Types))
		for i, t := range c.Types {
			types[i] = completionType{t.Text, t.Type, t.Signature, start, end}
		}
		body.Metadata["_jupyter_types_experimental"] = types
	}
	k.reply(r, "complete_reply", body)
}

func (k *kernel) inspect(ctx context.Context, r *request) {
	var q inspectRequest
	if f := read(r, &q); f != nil {
		k.reply(r, "inspect_reply", statusError{"error", f.content()})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.limits.complete)
	defer cancel()
	at := min(max(q.Cursor, 0), utf8.RuneCountInString(q.Code))
	var b Bundle
	var found bool
	if !k.careful(func() { b, found = k.handler.Inspect(ctx, q.Code, at, q.Detail) }) || !found {
		b, found = Bundle{}, false
	}
	b = showable(b)
	k.reply(r, "inspect_reply", inspectReply{"ok", found, b.Data, b.Metadata})
}

func (k *kernel) isComplete(r *request) {
	var q isCompleteRequest
	if f := read(r, &q); f != nil {
		k.reply(r, "is_complete_reply", statusError{"error", f.content()})
		return
	}
	var status, indent string
	k.careful(func() { status, indent = k.handler.IsComplete(q.Code) })
	var body isCompleteReply
	switch status {
	case "complete", "invalid":
		body.Status = status
	case "incomplete":
		body = isCompleteReply{status, &indent}
	default:
		body.Status = "unknown"
	}
	k.reply(r, "is_complete_reply", body)
}

func (k *kernel) findHistory(r *request) {
	var q historyRequest
	if f := read(r, &q); f != nil {
		k.reply(r, "history_reply", statusError{"error", f.content()})
		return
	}
	k.reply(r, "history_reply", historyReply{"ok", k.history.find(q)})
}

// careful calls f and says whether it came back without a panic.
func (k *kernel) careful(f func()) (fine bool) {
	defer func() {
		if p := recover(); p != nil {
			k.mishap(p)
		}
	}()
	f()
	return true
}
