package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxLine bounds one line of an infer stream: a row's text with its probabilities.
const maxLine = 64 << 20

// Infer asks the task's best model for answers and calls each once per row, in
// input order, with an answer or a refusal. An error of each ends the stream and
// is returned. The result says which model answered; a stream that broke off
// before it is a *Lost.
func (c *Client) Infer(ctx context.Context, user, name string, n NewInfer, each func(Answer) error) (done Inferred, err error) {
	err = eachLine(ctx, c, taskPath(user, name, "infer"), n, func(line InferLine) (bool, error) {
		switch {
		case line.Answer != nil:
			return false, each(*line.Answer)
		case line.Problem != nil:
			return true, line.Problem
		case line.Done != nil:
			done = *line.Done
			return true, nil
		}
		return false, nil
	})
	return done, err
}

// eachLine posts body and calls take with each line of the answer until it says
// that it was the last one, or fails. A stream that breaks off before is a *Lost.
func eachLine[T any](ctx context.Context, c *Client, path string, body any, take func(T) (last bool, err error)) error {
	// Leaving early must not read the rest of a long answer first.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.send(ctx, request{method: http.MethodPost, path: path, body: body, accept: NDJSONType})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		text := lines.Bytes()
		if len(text) == 0 {
			continue // the server shows that it is there
		}
		var line T
		if err := json.Unmarshal(text, &line); err != nil {
			return &Problem{Status: answer.StatusCode, Detail: fmt.Sprintf(
				"%s sent an answer that can't be read (%s).", c.base, err)}
		}
		if last, err := take(line); last || err != nil {
			return err
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return &Problem{Status: answer.StatusCode, Detail: "An answer is longer than 64 MB."}
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return c.lost(ctx, err)
}
