package store

// NetworkFileSystem names the network or cluster file system that an existing
// folder is on, "" where it is on a local disk. Open refuses any other.
func NetworkFileSystem(dir string) (string, error) { return networkFileSystem(dir) }
