package connect

import (
	"context"
	"os"
	"path/filepath"
)

// Site is what the site's configuration says, for who looks after it.
type Site struct {
	Path      string
	Server    string
	Private   bool   // private servers may be started; never where Server is named
	Token     bool   // it holds one token for everybody
	TokenFile string // each user's own, as written
}

// ReadSite reads the site's configuration; false where there is none.
func ReadSite(getenv func(string) string) (Site, bool, error) {
	s, err := readSite(getenv)
	if err != nil || s.path == "" {
		return Site{}, false, err
	}
	if s.Server != "" {
		if _, err := parseAddress(s.Server); err != nil {
			return Site{}, true, err
		}
	}
	return Site{Path: s.path, Server: s.Server, Private: s.allowsPrivate() && s.Server == "", Token: s.Token != "", TokenFile: s.TokenFile}, true, nil
}

// Look tells of the private server that is recorded in a state folder: whether
// there is a record, whether that very server answers, and whether others may
// read the record, which holds a token.
func Look(ctx context.Context, folder string) (r Record, recorded, answers, exposed bool) {
	info, err := os.Stat(filepath.Join(folder, recordName))
	if err != nil {
		return Record{}, false, false, false
	}
	_, answers = running(ctx, folder)
	r, recorded = ReadRecord(folder)
	return r, recorded, answers, info.Mode().Perm()&0o077 != 0
}
