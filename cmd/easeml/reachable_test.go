//go:build unix

package main

import (
	"os"
	"testing"
)

func TestReachable(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"http://127.0.0.1:8700": "http://127.0.0.1:8700", "http://10.1.2.3:80": "http://10.1.2.3:80", "http://lab.example:80": "http://lab.example:80",
		"http://[::]:8700": "http://" + name + ":8700", "http://0.0.0.0:8700": "http://" + name + ":8700",
	} {
		if got := reachable(given); got != want {
			t.Errorf("%s is reached at %s, not %s", given, got, want)
		}
	}
}
