package connect

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
)

const (
	// DefaultWithin is how long a private server may take to answer.
	DefaultWithin = 30 * time.Second
	// answerWithin is how long a server that should be there may take.
	answerWithin = 5 * time.Second
)

// Options says where to look. The zero value looks in the environment and in
// the site's configuration, and can't start anything.
type Options struct {
	// URL is the server that a statement names; it comes before all else.
	URL string
	// Binary is our own executable, which a private server is started from.
	Binary string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Within bounds the start of a private server; 0 means DefaultWithin.
	Within time.Duration
}

// Server is what a kernel needs to talk to one.
type Server struct {
	URL     string
	Token   string
	Private bool // made for one user, by some kernel of theirs
	Started bool // by this very call
}

// Find finds a server that answers, or starts a private one. Errors are sentences
// for people. Where the environment or the site names a server, no private one is
// ever started, whether that server answers or not.
func Find(ctx context.Context, o Options) (Server, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Within == 0 {
		o.Within = DefaultWithin
	}
	site, err := readSite(o.Getenv)
	if err != nil {
		return Server{}, err
	}
	env := o.Getenv("EASEML_SERVER")
	switch {
	case o.URL != "":
		address, err := parseAddress(o.URL)
		if err != nil {
			return Server{}, fmt.Errorf("%w. Give it as  server \"http://HOST:PORT\"", err)
		}
		server := Server{URL: address}
		if server.Token, err = tokenFor(address, env, site, o.Getenv); err != nil {
			return Server{}, err
		}
		if server.Token == "" {
			if running, ok := ReadRecord(StateFolder(o.Getenv)); ok && running.URL == address {
				server.Token, server.Private = running.Token, true
			}
		}
		if !answers(ctx, address) {
			return Server{}, notThere(ctx, "No easeml server answers at "+address+". Check the address.")
		}
		return server, nil

	case env != "":
		address, err := parseAddress(env)
		if err != nil {
			return Server{}, fmt.Errorf("EASEML_SERVER: %w", err)
		}
		if !answers(ctx, address) {
			return Server{}, notThere(ctx, "No easeml server answers at "+address+
				", which EASEML_SERVER names. No private one was started. Correct or unset the variable, or start that server.")
		}
		return Server{URL: address, Token: o.Getenv("EASEML_TOKEN")}, nil

	case site.Server != "":
		address, err := parseAddress(site.Server)
		if err != nil {
			return Server{}, fmt.Errorf("%s: %w", site.path, err)
		}
		if !answers(ctx, address) {
			return Server{}, notThere(ctx, site.away(address))
		}
		token, err := tokenFor(address, env, site, o.Getenv)
		return Server{URL: address, Token: token}, err

	case !site.allowsPrivate():
		return Server{}, fmt.Errorf("%s allows no private server, and names no other. Ask this lab's admin which server to use", site.path)
	}
	return findPrivate(ctx, o)
}

// tokenFor chooses the token for a server. A token is never sent to another
// server than the one it came with: a notebook from somebody else may name any.
func tokenFor(address, env string, site site, getenv func(string) string) (string, error) {
	if site.Server != "" && sameServer(address, site.Server) {
		token, err := site.token()
		if token != "" || err != nil {
			return token, err
		}
		if env == "" {
			return getenv("EASEML_TOKEN"), nil
		}
	}
	if env != "" && sameServer(address, env) || env == "" && site.Server == "" {
		return getenv("EASEML_TOKEN"), nil
	}
	return "", nil
}

// sameServer compares scheme and host, not the path.
func sameServer(a, b string) bool {
	one, err := url.Parse(a)
	if err != nil {
		return false
	}
	other, err := url.Parse(b)
	return err == nil && strings.EqualFold(one.Scheme, other.Scheme) && strings.EqualFold(one.Host, other.Host)
}

// parseAddress checks an address and takes the slash off its end.
func parseAddress(text string) (string, error) {
	address, err := url.Parse(strings.TrimSpace(text))
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return "", fmt.Errorf("%q is no address of a server", text)
	}
	if address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return "", fmt.Errorf("%q holds more than an address; tokens belong in EASEML_TOKEN", address.Redacted())
	}
	return strings.TrimRight(address.String(), "/"), nil
}

// answers asks whether an easeml server is there.
func answers(ctx context.Context, address string) bool {
	_, ok := health(ctx, address, answerWithin)
	return ok
}

// health asks a server who it is.
func health(ctx context.Context, address string, within time.Duration) (api.Health, bool) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	client := api.New(address, "")
	defer client.Close()
	h, err := client.Health(ctx)
	return h, err == nil && h.Service == "easeml"
}

// notThere is a sentence for people, unless the caller gave up first.
func notThere(ctx context.Context, sentence string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &Away{Sentence: sentence}
}

// Away says that the server which was named does not answer.
type Away struct{ Sentence string }

func (a *Away) Error() string { return a.Sentence }
