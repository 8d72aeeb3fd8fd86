package allocator

// Decision is what a free device should train.
type Decision struct {
	Search    SearchID    `json:"search"`
	Candidate CandidateID `json:"candidate"`
	Class     string      `json:"class"`
	// Limit is after how many seconds the trial is to be put aside, with [TrialOverran]; 0 = never.
	Limit  float64 `json:"limit,omitempty"`
	Reason Reason  `json:"reason"`
}

// Reason says why a decision fell as it did, in numbers a person can check.
type Reason struct {
	Policy string `json:"policy"`
	Prior  string `json:"prior"` // id of the prior value
	// Turn says why this search: a word ("opening", "overdue", "rate", "gap", "robin", "first", "random"), then
	// numbers as name=value.
	Turn string `json:"turn"`
	// AttainedShare is the search's charge per owner weight over the mean of the active searches; 1 = the mean.
	AttainedShare float64 `json:"attained_share"`
	// Mean and SD of the candidate's quality, on the quality scale (median; SD by the slope there).
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Seconds expected on this class, with their standard deviation (log-normal).
	Seconds   float64 `json:"seconds"`
	SecondsSD float64 `json:"seconds_sd"`
	// Score is what the policy maximised over the search's candidates: expected gain in quality per unit of charge
	// (default, mm-ei; before a search's first result in units of the scale), or the upper confidence bound on the prior's scale (hybrid, greedy, roundrobin, fcfs).
	Score    float64       `json:"score"`
	Best     float64       `json:"best"` // best quality so far; -1 if none
	RunnerUp *RunnerUp     `json:"runner_up,omitempty"`
	SetAside []SetAsideArm `json:"set_aside,omitempty"`
}

// RunnerUp is the second candidate of the chosen search by the same score.
type RunnerUp struct {
	Candidate CandidateID `json:"candidate"`
	Score     float64     `json:"score"`
}

// SetAsideArm is an untried candidate that was not considered, with a machine word and numbers: "class" (may not run
// on it), "infeasible" (ended so on this class), "slower elsewhere=CLASS times=N", "opening" (after the first model), "settled" (likely final but for a few that are owed a trial).
type SetAsideArm struct {
	Candidate CandidateID `json:"candidate"`
	Why       string      `json:"why"`
}
