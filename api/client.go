package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Client sends requests to one server with one token. It is safe for use by
// several goroutines.
//
// An error is a *Problem where the server answered with one, a *Lost where it
// could not be reached, and the context's own error where that ended.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a Client for the server at baseURL, with a path where it stands
// behind a proxy. The token goes into the Authorization header, nowhere else;
// it may be empty.
func New(baseURL, token string) *Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		IdleConnTimeout:       60 * time.Second,
		MaxIdleConnsPerHost:   8,
		ExpectContinueTimeout: time.Second,
	}
	return &Client{
		base:  strings.TrimRight(baseURL, "/"),
		token: token,
		http: &http.Client{
			Transport: transport,
			// A redirect could carry the token elsewhere: it is an answer like any other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// URL is the server's base URL.
func (c *Client) URL() string { return c.base }

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Lost says that the server could not be reached, or went away in the middle.
type Lost struct {
	URL string
	Err error
}

func (l *Lost) Error() string { return "The server at " + l.URL + " does not answer." }
func (l *Lost) Unwrap() error { return l.Err }

// IsLost tells whether an error says that the server could not be reached.
func IsLost(err error) bool {
	_, ok := errors.AsType[*Lost](err)
	return ok
}

// IsStatus tells whether an error is a Problem with this HTTP status.
func IsStatus(err error, status int) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == status
}

// request is one call: body is sent as JSON unless it is nil.
type request struct {
	method string
	path   string
	query  url.Values
	body   any
	accept string
}

// taskPath is the path of a task, and of what is below it.
func taskPath(user, name string, below ...string) string {
	path := prefix + "/tasks/" + url.PathEscape(user) + "/" + url.PathEscape(name)
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// send does a request and returns an answer below 400; the caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("request to %s: %w", r.path, err)
		}
		body = bytes.NewReader(text)
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, &Problem{Status: http.StatusBadRequest, Detail: "\"" + c.base + "\" is no address of a server."}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	accept := r.accept
	if accept == "" {
		accept = "application/json"
	}
	req.Header.Set("Accept", accept+", "+ProblemType)
	if r.method != http.MethodGet && r.method != http.MethodHead {
		// With a key net/http repeats a write by itself when a kept connection turns out to be dead.
		req.Header.Set(IdempotencyKey, uuid.NewString())
	}
	return c.do(req)
}

// do adds the token, does the request and turns every other outcome into an error.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(req.Context(), err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	return answer, c.problem(req.Context(), answer)
}

// lost tells a context that ended from a server that can't be reached.
func (c *Client) lost(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return &Lost{URL: c.base, Err: err}
}

// problem reads an error answer. What a proxy says for a server that is away
// counts as Lost.
func (c *Client) problem(ctx context.Context, answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return c.lost(ctx, err)
	}
	p := &Problem{}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), ProblemType) && json.Unmarshal(text, p) == nil && p.Detail != "" {
		p.Status = answer.StatusCode
		return p
	}
	switch answer.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &Lost{URL: c.base, Err: errors.New(answer.Status)}
	}
	return &Problem{
		Status: answer.StatusCode,
		Title:  http.StatusText(answer.StatusCode),
		Detail: fmt.Sprintf("%s answered %s, which is not what an easeml server says.", c.base, answer.Status),
		Hint:   "Check the address.",
	}
}

// call does a request and decodes its answer into out, unless that is nil. It
// returns the event that the answer is current to, 0 where the server named none.
func (c *Client) call(ctx context.Context, r request, out any) (int64, error) {
	answer, err := c.send(ctx, r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	seq, _ := strconv.ParseInt(answer.Header.Get(SeqHeader), 10, 64)
	if out == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	} else {
		var text []byte
		if text, err = io.ReadAll(answer.Body); err == nil {
			if err := json.Unmarshal(text, out); err != nil {
				return 0, &Problem{Status: answer.StatusCode, Detail: fmt.Sprintf(
					"%s answered something that is not what an easeml server says (%s).", c.base, err)}
			}
		}
	}
	if err != nil {
		return 0, c.lost(ctx, err)
	}
	return seq, nil
}

// get is call for a GET.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) (int64, error) {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, out)
}
