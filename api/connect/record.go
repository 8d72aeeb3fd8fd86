package connect

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// recordName is the file in the state folder by which a private server is found.
const recordName = "server.json"

// Record is what a private server leaves in its state folder, readable by its
// user only.
type Record struct {
	URL      string `json:"url"`
	PID      int    `json:"pid"`
	Token    string `json:"token"`
	Instance string `json:"instance"` // what its /healthz says
}

// StateFolder is where the private server of this user keeps its state:
// EASEML_STATE, or easeml in the XDG state folder.
func StateFolder(getenv func(string) string) string {
	if folder := getenv("EASEML_STATE"); folder != "" {
		return folder
	}
	if folder := getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "easeml")
	}
	return filepath.Join(homeFolder(getenv), ".local", "state", "easeml")
}

// Publish makes a server known, once it can answer. The file appears whole or
// not at all.
func Publish(folder string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, recordName+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already once it is renamed
	_, err = file.Write(append(text, '\n'))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(folder, recordName))
}

// Withdraw takes the record of this instance away; that of another one stays.
func Withdraw(folder, instance string) error {
	if r, ok := ReadRecord(folder); !ok || r.Instance != instance {
		return nil
	}
	return os.Remove(filepath.Join(folder, recordName))
}

// ReadRecord reads the record in a state folder. Whether that server still runs
// is another question.
func ReadRecord(folder string) (Record, bool) {
	text, err := os.ReadFile(filepath.Join(folder, recordName))
	if err != nil {
		return Record{}, false
	}
	var r Record
	if json.Unmarshal(text, &r) != nil || r.URL == "" || r.Token == "" {
		return Record{}, false
	}
	return r, true
}
