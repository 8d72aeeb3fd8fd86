package main

import (
	"context"
	"os"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/api/connect"
	"github.com/easeml/easeml/kernel/cells"
)

// findServer is how kernel and run find a server or start a private one: the one
// that a statement names, the environment, the site's configuration, our own.
func findServer(ctx context.Context, address string) (*api.Client, cells.Found, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, cells.Found{}, err
	}
	s, err := connect.Find(ctx, connect.Options{URL: address, Binary: binary})
	if err != nil {
		return nil, cells.Found{}, err
	}
	return api.New(s.URL, s.Token), cells.Found{URL: s.URL, Private: s.Private, Started: s.Started}, nil
}
