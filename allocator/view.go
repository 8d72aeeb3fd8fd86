package allocator

// ArmState is where a candidate stands in its search.
type ArmState string

// The states of a candidate.
const (
	Untried         ArmState = "untried"
	Running         ArmState = "running"
	TriedOK         ArmState = "ok"
	TriedCensored   ArmState = "censored"
	TriedInfeasible ArmState = "infeasible" // on every class it could have run on
	TriedFailed     ArmState = "failed"
)

// SearchView is what the allocator thinks of a search.
type SearchView struct {
	Search        SearchID        `json:"search"`
	Prior         string          `json:"prior"`
	Owners        float64         `json:"owners"`
	Paused        bool            `json:"paused"`
	Attained      float64         `json:"attained"`  // charge of ended and lost trials
	InFlight      float64         `json:"in_flight"` // expected charge of running trials
	Share         float64         `json:"share"`     // (Attained+InFlight)/Owners over the mean of the active searches
	Best          float64         `json:"best"`      // -1 if none
	BestCandidate CandidateID     `json:"best_candidate,omitempty"`
	Outlook       Outlook         `json:"outlook"`
	Candidates    []CandidateView `json:"candidates"` // by id
}

// CandidateView is the posterior of one candidate.
type CandidateView struct {
	ID      CandidateID         `json:"id"`
	Version int                 `json:"version"`
	Family  string              `json:"family"`
	State   ArmState            `json:"state"`
	Mean    float64             `json:"mean"`   // of the quality: median, in [0,1]
	SD      float64             `json:"sd"`     // of the quality, by the slope at Mean
	Gain    float64             `json:"gain"`   // expected improvement over the best, in quality; 0 unless untried and there is a best
	Chance  float64             `json:"chance"` // that its quality exceeds the best one; likewise
	Seconds map[string]Forecast `json:"seconds"`
	Quality float64             `json:"quality"` // observed; -1 if none
	Charge  float64             `json:"charge"`  // summed over attempts
}

// Forecast is the expected duration on one device class.
type Forecast struct {
	Seconds    float64 `json:"seconds"`
	SD         float64 `json:"sd"`
	Infeasible bool    `json:"infeasible,omitempty"`
}

// Outlook says what a search may still bring. The bounds are upper bounds under the model (README, "likely final").
type Outlook struct {
	LikelyFinal  bool    `json:"likely_final"`
	Exhausted    bool    `json:"exhausted"`     // nothing is left to try and nothing is running
	Untried      int     `json:"untried"`       // candidates that could still be started
	ExpectedGain float64 `json:"expected_gain"` // at most this much more quality, on average
	Chance       float64 `json:"chance"`        // at most this probability that one beats the best by more than Resolution
	Resolution   float64 `json:"resolution"`    // the difference of quality that counts as one
}
