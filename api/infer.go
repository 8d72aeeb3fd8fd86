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
func (c *Client) Infer(ctx context.Context, user, name string, n NewInfer, each func(Answer) error) (Inferred, error) {
	// Leaving early must not read the rest of a long answer first.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.send(ctx, request{
		method: http.MethodPost, path: taskPath(user, name, "infer"), body: n, accept: NDJSONType,
	})
	if err != nil {
		return Inferred{}, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		text := lines.Bytes()
		if len(text) == 0 {
			continue // the server still waits for a model and shows that it is there
		}
		var line InferLine
		if err := json.Unmarshal(text, &line); err != nil {
			return Inferred{}, &Problem{Status: answer.StatusCode, Detail: fmt.Sprintf(
				"%s sent an answer that can't be read (%s).", c.base, err)}
		}
		switch {
		case line.Answer != nil:
			if err := each(*line.Answer); err != nil {
				return Inferred{}, err
			}
		case line.Problem != nil:
			return Inferred{}, line.Problem
		case line.Done != nil:
			return *line.Done, nil
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return Inferred{}, &Problem{Status: answer.StatusCode, Detail: "An answer is longer than 64 MB."}
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return Inferred{}, c.lost(ctx, err)
}
