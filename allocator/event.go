package allocator

// SearchID names a search, the allocator's tenant. Ties between searches go to the smaller id.
type SearchID string

// CandidateID names a candidate (an arm) by its stable slug, such as "svm-rbf.c10".
type CandidateID string

// Arm is a candidate as a search offers it.
type Arm struct {
	ID      CandidateID `json:"id"`
	Version int         `json:"version,omitempty"`
	// Family groups candidates that behave alike ("svm", "resnet"); it shapes the covariance where history is silent.
	Family string `json:"family,omitempty"`
	// Baseline marks the reference line (the dummy): it runs before everything else in its search.
	Baseline bool `json:"baseline,omitempty"`
	// Estimate is the trainer's own guess of the seconds per device class; it may be empty.
	Estimate map[string]float64 `json:"estimate,omitempty"`
	// Classes are the device classes the candidate may run on; empty means all.
	Classes []string `json:"classes,omitempty"`
}

// Outcome says how a trial ended.
type Outcome string

// The outcomes. A trial that was lost is no outcome but a [TrialLost] event.
const (
	OK         Outcome = "ok"         // ran to its end; Quality and Seconds are observations
	Censored   Outcome = "censored"   // stopped or out of time, with a quality: a lower bound of both
	Infeasible Outcome = "infeasible" // cannot run on this device class (memory, unsupported); others stay open
	Failed     Outcome = "failed"     // broke; never "quality 0", no observation
)

// Event is something that has happened. The types in this file are all there are.
type Event interface{ event() }

// SearchAdded brings a search in. Weights are relative: a search with Owners 2 is owed twice the device time.
type SearchAdded struct {
	Search SearchID
	Owners float64 // > 0; 0 is read as 1
	Arms   []Arm
	// Examples and Features are the size of the data, for the regression of the seconds; 0 = unknown.
	Examples, Features int
	// Resolution is the smallest difference of quality that matters; 0 = one standard error at the best quality,
	// from Examples (see README, "likely final").
	Resolution float64
	Prior      *Prior // nil: DefaultPrior of the arms
	// Inherited are observations of the search before this data version. They are taken with inflated noise and
	// their arms stay untried.
	Inherited []Observation
}

// Observation is what one finished trial taught, as handed from an earlier search to its successor.
type Observation struct {
	Candidate CandidateID `json:"candidate"`
	Class     string      `json:"class,omitempty"`
	Quality   float64     `json:"quality"`
	Seconds   float64     `json:"seconds,omitempty"` // 0 = unknown
	// Examples and Features of the data it was made on; 0 = as the search that inherits.
	Examples int `json:"examples,omitempty"`
	Features int `json:"features,omitempty"`
}

// ArmsChanged adds and removes candidates. An added arm with a known id must have a higher version and replaces the
// old one, which becomes an inherited observation. A removed arm that is in flight may still end; only its charge counts.
type ArmsChanged struct {
	Search  SearchID
	Added   []Arm
	Removed []CandidateID
}

// SearchRemoved forgets a search and all that was learned in it.
type SearchRemoved struct{ Search SearchID }

// SearchPaused keeps a search from being served. Pausing a paused search changes nothing.
type SearchPaused struct{ Search SearchID }

// SearchResumed lets a search be served again. A search that was likely final goes on until it is exhausted.
type SearchResumed struct{ Search SearchID }

// OwnersChanged sets the weight of a search's owners.
type OwnersChanged struct {
	Search SearchID
	Owners float64
}

// TrialStarted puts a candidate in flight on a device class.
type TrialStarted struct {
	Search    SearchID
	Candidate CandidateID
	Class     string
}

// TrialProgress tells what an in-flight trial has cost so far, so that a trial that runs late weighs on its
// search's share before it ends. It is optional.
type TrialProgress struct {
	Search    SearchID
	Candidate CandidateID
	Charge    float64
}

// TrialEnded ends an in-flight trial. Quality (in [0,1]) is read for OK and Censored only, Seconds (> 0, or 0 for
// unknown) likewise; Charge (>= 0) always counts.
type TrialEnded struct {
	Search    SearchID
	Candidate CandidateID
	Class     string // "" = the class it was started on
	Outcome   Outcome
	Quality   float64
	Seconds   float64
	Charge    float64
}

// TrialLost takes an in-flight trial back: its candidate is untried again, nothing was observed, the charge stays. The
// search is not likely final before the candidate has been started again.
type TrialLost struct {
	Search    SearchID
	Candidate CandidateID
	Class     string // "" = the class it was started on
	Charge    float64
}

// TrialOverran takes an in-flight trial back that was put aside at its [Decision.Limit]: its candidate is untried again,
// and it is known to take longer than Seconds (> 0).
type TrialOverran struct {
	Search    SearchID
	Candidate CandidateID
	Class     string // "" = the class it was started on
	Seconds   float64
	Charge    float64
}

// Rescored tells the quality of a model of an earlier data version on this one (predicted, not trained again). It
// becomes the quality to beat; the candidate stays untried.
type Rescored struct {
	Search    SearchID
	Candidate CandidateID
	Quality   float64
}

// PriorChanged starts a search's posteriors from another prior, such as one refitted from newer history; everything
// observed so far is taken in again. nil = DefaultPrior of the arms.
type PriorChanged struct {
	Search SearchID
	Prior  *Prior
}

// PoolChanged tells which device classes exist and how many devices of each. It is optional; with it, a candidate is
// not given to a class on which it would take [Options.Patience] times as long as on another class of the pool.
type PoolChanged struct{ Devices map[string]int }

func (SearchAdded) event()   {}
func (ArmsChanged) event()   {}
func (SearchRemoved) event() {}
func (SearchPaused) event()  {}
func (SearchResumed) event() {}
func (OwnersChanged) event() {}
func (TrialStarted) event()  {}
func (TrialProgress) event() {}
func (TrialEnded) event()    {}
func (TrialLost) event()     {}
func (TrialOverran) event()  {}
func (Rescored) event()      {}
func (PriorChanged) event()  {}
func (PoolChanged) event()   {}
