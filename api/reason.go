package api

import "encoding/json"

// Reason is the account of a decision: which candidate a device went to, what
// was expected of it and of others at that time, and whose turn it was. What an
// earlier server kept may lack the fields below Rivals.
type Reason struct {
	Policy        string    `json:"policy"`
	Prior         string    `json:"prior"`          // what was believed before the first trial
	Turn          string    `json:"turn"`           // a word, then name=value
	AttainedShare float64   `json:"attained_share"` // device time of the search over the mean of those that search
	Mean          float64   `json:"mean"`           // of the quality
	SD            float64   `json:"sd"`
	Seconds       float64   `json:"seconds"`
	SecondsSD     float64   `json:"seconds_sd"`
	Score         float64   `json:"score"` // what the policy maximised; by default the expected gain per second
	Best          float64   `json:"best"`  // quality of the best then; -1: there was none
	RunnerUp      *RunnerUp `json:"runner_up"`
	SetAside      []Aside   `json:"set_aside"`

	Device       string  `json:"device"`
	DeviceClass  string  `json:"device_class"`
	Gain         float64 `json:"gain"` // expected improvement over Best; 0 where there was none
	Chance       float64 `json:"chance"`
	Results      int     `json:"results"`       // trials of the search that had told a quality
	Inherited    int     `json:"inherited"`     // results of the version before that count a little
	Earlier      int     `json:"earlier"`       // earlier data sets that it was expected from
	PriorVersion int     `json:"prior_version"` // of the prior that history gave; 0: families and estimates alone
	Rivals       []Rival `json:"rivals"`
}

// RunnerUp is the candidate that came second by the same score.
type RunnerUp struct {
	Candidate string  `json:"candidate"`
	Score     float64 `json:"score"`
}

// Aside is an untried candidate that was not considered, with a machine word.
type Aside struct {
	Candidate string `json:"candidate"`
	Why       string `json:"why"`
}

// Rival is an untried candidate that was not chosen.
type Rival struct {
	Candidate string  `json:"candidate"`
	Mean      float64 `json:"mean"`
	SD        float64 `json:"sd"`
	Gain      float64 `json:"gain"`
	Chance    float64 `json:"chance"`
	Seconds   float64 `json:"seconds"` // on the class of the decision
	SecondsSD float64 `json:"seconds_sd"`
	Aside     string  `json:"aside,omitempty"`
}

// Account reads the decision's reason; false where none was kept.
func (d Decision) Account() (Reason, bool) {
	var r Reason
	if len(d.Reason) == 0 || json.Unmarshal(d.Reason, &r) != nil || r.Policy == "" {
		return Reason{}, false
	}
	return r, true
}
