//go:build !linux

package store

// networkFileSystem can't tell here; that WAL holds is checked by Open.
func networkFileSystem(string) (string, error) { return "", nil }
