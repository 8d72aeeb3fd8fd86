package cells

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
)

// typist answers with a token and notes how it was asked.
type typist struct {
	says  string
	err   error
	asked []string
}

func (p *typist) Input(_ context.Context, prompt string, password bool) (string, error) {
	if !password {
		prompt += " (shown)"
	}
	p.asked = append(p.asked, prompt)
	return p.says, p.err
}

// A named server that wants a token asks for it as a password; it is used there only, also when that server is looked for again.
func TestTokenIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.task("digits")
	locked := httptest.NewServer(http.HandlerFunc(func(r http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer secret" {
			refuse(r, http.StatusUnauthorized, "This server wants a token.", "Ask its admin.")
			return
		}
		w.http.Config.Handler.ServeHTTP(r, q)
	}))
	defer locked.Close()
	var looked []string
	c := New(Config{Folder: w.folder, Connect: func(_ context.Context, address string) (*api.Client, Found, error) {
		looked = append(looked, address)
		if address == "" {
			address = w.http.URL
		}
		return api.New(address, ""), Found{URL: address}, nil
	}})
	defer c.Close()
	execute := func(code string, p jupyter.Prompter) (*recorder, *jupyter.Failure) {
		r := &recorder{}
		_, err := c.Execute(t.Context(), jupyter.ExecuteRequest{Code: code, Out: r, Prompt: p})
		f, _ := errors.AsType[*jupyter.Failure](err)
		return r, f
	}
	named := `server "` + locked.URL + `"`
	for name, p := range map[string]*typist{"wrong": {says: "guess"}, "empty": {}, "nobody there": {err: jupyter.ErrNoStdin}} {
		if _, f := execute(named, p); f == nil || f.Name != notAllowed || strings.Contains(f.Value, "guess") {
			t.Errorf("%s: %v", name, f)
		}
	}
	p := &typist{says: " secret\n"}
	if r, f := execute(named, p); f != nil || !strings.Contains(r.text(), "You are alice") || strings.Contains(r.text(), "secret") {
		t.Errorf("%v, %s", f, r.text())
	}
	if len(p.asked) != 1 || p.asked[0] != "Your token for "+locked.URL+": " {
		t.Errorf("asked %q", p.asked)
	}
	if r, f := execute("best digits", p); f != nil || !strings.Contains(r.text(), "97 % right") {
		t.Errorf("%v", f)
	}
	c.session.lost()
	looked = nil
	if _, f := execute("best digits; "+named, p); f != nil || len(p.asked) != 1 || strings.Join(looked, " ") != locked.URL+" "+locked.URL {
		t.Errorf("%v, asked %q, looked for %q", f, p.asked, looked)
	}
	// Another server gets no token, and is the one that is looked for from then on.
	if _, f := execute(`server "`+w.http.URL+`"`, p); f != nil || len(p.asked) != 1 {
		t.Errorf("%v, asked %q", f, p.asked)
	}
	c.session.lost()
	looked = nil
	if _, f := execute("tasks", p); f != nil || strings.Join(looked, " ") != w.http.URL {
		t.Errorf("%v, looked for %q", f, looked)
	}
}
