package jupyter

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
)

// execute serves an execute_request between its busy and its idle: the input, the outputs, the reply.
func (k *kernel) execute(loop, ctx context.Context, r *request) {
	begun := time.Now()
	if k.shell.isAborted(r) {
		k.status(r, "busy", nil)
		k.replyWith(r, "execute_reply", abortedReply{"aborted", k.count}, cellTimes(begun, "aborted"))
		k.status(r, "idle", nil)
		return
	}
	var q executeRequest
	invalid := read(r, &q)
	store := !q.Silent && orTrue(q.StoreHistory)
	if invalid == nil && store {
		k.count++
	}
	c := &cell{k: k, r: r, ctx: ctx, silent: q.Silent, stdin: orTrue(q.AllowStdin), count: k.count}
	k.status(r, "busy", c)
	if !q.Silent {
		k.publish(r.header, "execute_input", executeInput{q.Code, k.count})
	}
	var reply ExecuteReply
	failure := invalid
	if failure == nil {
		reply, failure = k.runCell(ctx, q, c, store)
	}
	c.end(failure)
	if store && invalid == nil {
		if err := k.history.add(k.count, q.Code, c.result); err != nil {
			k.log.Warn("history", "error", err)
		}
	}
	interrupted := errors.Is(context.Cause(ctx), ErrInterrupted)
	if failure != nil && orTrue(q.StopOnError) || interrupted {
		k.shell.settle(loop, k.limits.quiet, k.limits.settle)
		k.shell.abort()
	}
	body := executeReply{Status: "ok", Count: k.count, Payload: []any{}, UserExpressions: map[string]any{}}
	if failure != nil {
		body.Status = "error"
		k.replyWith(r, "execute_reply", executeError{body, failure.content()}, cellTimes(begun, body.Status))
	} else {
		for _, p := range reply.Payload {
			if p.body != nil {
				body.Payload = append(body.Payload, p.body)
			}
		}
		for key := range q.UserExpressions {
			body.UserExpressions[key] = expression(reply.UserExpressions, key)
		}
		k.replyWith(r, "execute_reply", body, cellTimes(begun, body.Status))
	}
	k.status(r, "idle", nil)
}

// cellTimes is the metadata of an execute_reply: JupyterLab shows from it how long a cell took.
func cellTimes(begun time.Time, status string) []byte {
	return mustJSON(map[string]string{"started": stamp(begun), "status": status})
}

// runCell calls the Handler and makes its error one that can be shown.
func (k *kernel) runCell(ctx context.Context, q executeRequest, c *cell, store bool) (reply ExecuteReply, failure *Failure) {
	defer func() {
		if p := recover(); p != nil {
			reply, failure = ExecuteReply{}, k.mishap(p)
		}
	}()
	reply, err := k.handler.Execute(ctx, ExecuteRequest{
		Code: q.Code, Silent: q.Silent, StoreHistory: store, AllowStdin: c.stdin, Count: c.count, UserExpressions: q.UserExpressions,
		Metadata: c.r.metadata, Out: c, Prompt: c,
	})
	switch {
	case err == nil:
		return reply, nil
	case errors.As(err, &failure):
		return reply, failure
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return reply, &Failure{Name: "Interrupted", Value: "You interrupted this cell; cells that were waiting behind it were not run."}
	case errors.Is(context.Cause(ctx), ErrShutdown):
		return reply, &Failure{Name: "Interrupted", Value: "The kernel was shut down while this cell ran."}
	}
	return reply, &Failure{Name: "Error", Value: err.Error()}
}

// mishap logs a panic of the Handler and words it without its stack.
func (k *kernel) mishap(p any) *Failure {
	id := uuid.NewString()[:8]
	k.log.Error("a request ended in a panic", "id", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return &Failure{
		Name:  "InternalError",
		Value: fmt.Sprintf("Something went wrong inside the kernel; the kernel goes on. Its log has the details under %s.", id),
	}
}

// expression is the entry of an execute_reply for one user expression.
func expression(all map[string]Expression, key string) any {
	e, found := all[key]
	switch {
	case !found:
		f := Failure{Name: "NotEvaluated", Value: "This kernel doesn't evaluate that expression."}
		return statusError{"error", f.content()}
	case e.Failure != nil:
		return statusError{"error", e.Failure.content()}
	}
	b := showable(e.Value)
	return statusData{"ok", b.Data, b.Metadata}
}

func orTrue(b *bool) bool { return b == nil || *b }
