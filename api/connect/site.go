package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultSite is where an admin leaves the site's configuration; EASEML_SITE
// names another place.
const DefaultSite = "/etc/easeml/site.json"

// site is that configuration. A token in it is everybody's who can read the
// file; token_file, which may begin with ~/, is each user's own.
type site struct {
	Server    string `json:"server"`
	Token     string `json:"token"`
	TokenFile string `json:"token_file"`
	Private   *bool  `json:"private"` // false: no private servers here
	Page      string `json:"page"`    // where people can look when the server is away

	path string
	home string
}

// readSite reads the configuration; none at the default place is an empty one.
func readSite(getenv func(string) string) (site, error) {
	path := getenv("EASEML_SITE")
	named := path != ""
	if !named {
		path = DefaultSite
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return site{}, nil
	}
	if err != nil {
		// Going on could start a private server where the admin wants none.
		return site{}, fmt.Errorf("the site's configuration can't be read: %w", err)
	}
	s := site{path: path, home: homeFolder(getenv)}
	if err := json.Unmarshal(text, &s); err != nil {
		return site{}, fmt.Errorf("%s is no JSON object with \"server\" (%w); tell this lab's admin", path, err)
	}
	return s, nil
}

func (s site) allowsPrivate() bool { return s.Private == nil || *s.Private }

// token is the one that goes with the site's server; a missing token file is none.
func (s site) token() (string, error) {
	if s.Token != "" || s.TokenFile == "" {
		return s.Token, nil
	}
	path := s.TokenFile
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(s.home, rest)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("your token can't be read: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// away is what to say when the site's server does not answer.
func (s site) away(address string) string {
	look := s.Page
	if look == "" {
		look = address
	}
	return "This lab's server is not running. No private one was started (the lab's admin decided so), " +
		"so as not to take GPUs from others. Ask the admin, or look: " + look
}

func homeFolder(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return home
}
