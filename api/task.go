package api

import (
	"encoding/json"
	"time"
)

// TaskState says where a task stands.
type TaskState string

const (
	TaskDeclared  TaskState = "declared"  // no accepted examples yet
	TaskSearching TaskState = "searching" // its search has trials to run
	TaskSettled   TaskState = "settled"   // its search has ended for now; Reason says why
	TaskDropped   TaskState = "dropped"
)

// SettledReason says why a search has ended for now.
type SettledReason string

const (
	SettledLikelyFinal SettledReason = "likely_final" // what is left could hardly add anything
	SettledExhausted   SettledReason = "exhausted"    // every candidate has been tried
	SettledStopped     SettledReason = "stopped"      // by its owner
	SettledBudget      SettledReason = "budget"
	SettledNoData      SettledReason = "no_data"
)

// Parts counts examples by part.
type Parts struct {
	Train      int `json:"train"`
	Validation int `json:"validation"`
	Test       int `json:"test"`
}

// Protocol tells how candidates are compared: on a held-out validation part,
// or out of fold on K folds of the training part.
type Protocol struct {
	Kind string `json:"kind"` // holdout | folds
	K    int    `json:"k,omitempty"`
}

// Metric names what a quality measures.
type Metric struct {
	Name   string `json:"name"`             // accuracy, balanced_accuracy, r2, …
	Reason string `json:"reason,omitempty"` // why this one was chosen, a sentence part
}

// Guess is the reference line: what always giving the same answer reaches.
type Guess struct {
	Text    string   `json:"text"`    // e.g. always "5"
	Quality float64  `json:"quality"` // of the metric, in [0,1]
	MAE     *float64 `json:"mae,omitempty"`
}

// Estimate is a measured quality with its 95 % interval on N examples.
// Right is the count of right answers where the metric is a share of them.
type Estimate struct {
	Value   float64            `json:"value"`
	Low     float64            `json:"low"`
	High    float64            `json:"high"`
	N       int                `json:"n"`
	Right   *int               `json:"right,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"` // further metrics in their own units: mae, rmse, …
}

// Best is the model that answers: the highest quality in the search, ties by
// seconds, then id. Search is measured on what chose it, Test on the part the
// search never saw (nil: there is none).
type Best struct {
	Trial     int       `json:"trial"`
	Candidate string    `json:"candidate"`
	Label     string    `json:"label"`
	Family    string    `json:"family"`
	Version   int       `json:"version"` // dataset version it was trained on
	Scored    int       `json:"scored"`  // dataset version its figures are of
	Seconds   float64   `json:"seconds"`
	Search    Estimate  `json:"search"`
	Test      *Estimate `json:"test"`
	TiedWith  []string  `json:"tied_with"` // labels of candidates that can't be told apart from it
	Baseline  bool      `json:"baseline"`  // only the guess has been tried so far
	Sample    *Sample   `json:"sample,omitempty"`
}

// Sample says with how many of the examples a trial worked whose slot has not
// the memory for all of them.
type Sample struct {
	Rows        int64 `json:"rows"`
	Of          int64 `json:"of"`
	MemoryBytes int64 `json:"memory_bytes"` // of the slot
}

// Task is one row of `tasks`: a declared program with its examples, owned by
// a user.
type Task struct {
	User        string         `json:"user"`
	Name        string         `json:"name"`
	Program     string         `json:"program"`     // canonical text
	Template    string         `json:"template"`    // slug: image_classification, table, …
	Description string         `json:"description"` // "pictures of 8×8, 1 channel → one of 10 classes"
	Options     map[string]any `json:"options"`
	State       TaskState      `json:"state"`
	Reason      SettledReason  `json:"reason,omitempty"`
	Stopped     bool           `json:"stopped"`
	Version     int            `json:"version"`
	Examples    int            `json:"examples"` // on
	Off         int            `json:"off"`
	Rejected    int            `json:"rejected"`
	Labels      []string       `json:"labels,omitempty"`
	Classes     map[string]int `json:"classes,omitempty"`
	Parts       Parts          `json:"parts"`
	Protocol    Protocol       `json:"protocol"`
	Metric      Metric         `json:"metric"`
	Guess       *Guess         `json:"guess"`
	Best        *Best          `json:"best"`
	Doubts      []Warning      `json:"doubts,omitempty"` // that spoil its figures, and that nobody has said are fine
	Candidates  int            `json:"candidates"`       // without the guess, as everywhere
	Tried       int            `json:"tried"`
	Failed      int            `json:"failed"` // tried without a result, or nothing here can run them
	Running     int            `json:"running"`
	Seconds     float64        `json:"seconds"` // device time so far
	Charge      float64        `json:"charge"`
	Share       *float64       `json:"share,omitempty"` // attained charge over a fair share
	Rho         *float64       `json:"rho,omitempty"`   // finish-time fairness
	Created     time.Time      `json:"created"`
	Changed     time.Time      `json:"changed"`
	SettledAt   *time.Time     `json:"settled_at,omitempty"`
	Queue       *Queue         `json:"queue,omitempty"` // nil while something of this task runs, or nothing shall
}

// View is what `watch` and a page draw: GET /tasks/{user}/{name}.
type View struct {
	Task
	Rows     []Row         `json:"rows"`    // the leaderboard: tried first, best first; failed last
	Live     []Live        `json:"live"`    // trials running now
	Curve    []Point       `json:"curve"`   // finished trials in order of their end
	Outlook  *Outlook      `json:"outlook"` // nil before the first model
	Feed     *FeedProgress `json:"feed"`    // the feed being read now
	Warnings []Warning     `json:"warnings"`
	Deep     *DeepNote     `json:"deep,omitempty"` // set by a declaration where PyTorch is missing
	Now      time.Time     `json:"now"`
}

// DeepNote counts the candidates that are left out because PyTorch is not
// installed where the trainer runs.
type DeepNote struct {
	Missing int `json:"missing"`
}

// Row is one candidate with the state of its trial.
type Row struct {
	Candidate string          `json:"candidate"`
	Version   int             `json:"version"`
	Label     string          `json:"label"`
	Family    string          `json:"family"`
	Baseline  bool            `json:"baseline"`
	State     string          `json:"state"` // open | queued | running | paused | ok | stopped | failed | set_aside
	Trial     *int            `json:"trial"` // the task's number of the trial
	Search    *Estimate       `json:"search"`
	Seconds   *float64        `json:"seconds"` // device time of its trial
	Tied      bool            `json:"tied"`    // can't be told apart from the best
	Kind      string          `json:"kind,omitempty"`
	Message   string          `json:"message,omitempty"` // why it failed or is set aside
	Expected  *Expected       `json:"expected,omitempty"`
	Settings  json.RawMessage `json:"settings,omitempty"`
}

// Expected is the allocator's posterior for an untried candidate.
type Expected struct {
	Mean      float64 `json:"mean"`
	SD        float64 `json:"sd"`
	Seconds   float64 `json:"seconds"`
	SecondsSD float64 `json:"seconds_sd"`
	Gain      float64 `json:"gain"`   // expected improvement over the best, in quality; 0 before there is a best
	Chance    float64 `json:"chance"` // that it beats the best; likewise
}

// Live is a running trial with its latest progress.
type Live struct {
	Trial     int       `json:"trial"`
	Candidate string    `json:"candidate"`
	Label     string    `json:"label"`
	Device    string    `json:"device"`
	Started   time.Time `json:"started"`
	Phase     string    `json:"phase,omitempty"`
	Step      int       `json:"step,omitempty"`
	Of        int       `json:"of,omitempty"`
	Unit      string    `json:"unit,omitempty"`
	Quality   *float64  `json:"quality,omitempty"`
	Expected  float64   `json:"expected"` // seconds it was expected to take
}

// Point is one finished trial on the chart.
type Point struct {
	Time      time.Time `json:"time"`
	Seconds   float64   `json:"seconds"` // device seconds the task had used by then
	Trial     int       `json:"trial"`
	Label     string    `json:"label"`
	Quality   float64   `json:"quality"`
	Best      float64   `json:"best"` // best so far
	Baseline  bool      `json:"baseline"`
	Candidate string    `json:"candidate"`
}

// Outlook says what going on could bring.
type Outlook struct {
	LikelyFinal  bool    `json:"likely_final"`
	ExpectedGain float64 `json:"expected_gain"` // in quality
	Chance       float64 `json:"chance"`        // that anything left is really better
	Untried      int     `json:"untried"`
	SecondsLow   float64 `json:"seconds_low"` // until the search has ended, at the present pace
	SecondsHigh  float64 `json:"seconds_high"`
}

// Queue says what a task waits for.
type Queue struct {
	WaitingFor string  `json:"waiting_for"` // e.g. "a CPU slot"
	Position   int     `json:"position"`    // 0: there is no order, all wait for the same
	Of         int     `json:"of"`          // how many wait, this one included
	EtaLow     float64 `json:"eta_low"`     // seconds
	EtaHigh    float64 `json:"eta_high"`    // 0: no estimate yet

	Ahead    *Ahead     `json:"ahead,omitempty"` // who comes next, where that is another task
	InTheWay InTheWay   `json:"in_the_way"`
	Light    bool       `json:"light"`   // its light candidates go on meanwhile, on CPU slots
	Waited   float64    `json:"waited"`  // seconds so far
	Thought  [2]float64 `json:"thought"` // seconds that were first said of the whole wait; zero: nothing yet
	Held     int        `json:"held"`    // of the last Waits on this server, those as long as was first said
	Waits    int        `json:"waits"`
}

// Ahead is the task whose turn comes next.
type Ahead struct {
	Name string  `json:"name,omitempty"` // of a task of the same user; empty: it is somebody else's
	Had  float64 `json:"had"`            // device seconds of its search
	Mine float64 `json:"mine"`           // of the one that waits
}

// InTheWay counts the devices that are waited for by why they can't be had.
type InTheWay struct {
	Working  int `json:"working"`
	Outside  int `json:"outside"`  // used from outside easeml
	Unusable int `json:"unusable"` // drained or gone
}

// Declare is the body of PUT /tasks/{user}/{name}.
type Declare struct {
	Program string         `json:"program"`
	Options map[string]any `json:"options,omitempty"`
}

// Declared is its answer. Outcome is created, same, replaced, or changed: other
// options, by which a new search measures.
type Declared struct {
	Outcome string       `json:"outcome"`
	View    View         `json:"view"`
	Count   CatalogCount `json:"count"`
}

// CatalogCount counts the candidates a program would have before any data.
type CatalogCount struct {
	Light int `json:"light"`
	Deep  int `json:"deep"`
}

// PatchTask is the body of PATCH /tasks/{user}/{name}; nil fields stay. AsIs says
// that the examples are fine as they are: what their feeds warned of raises no doubts.
type PatchTask struct {
	Stopped *bool          `json:"stopped,omitempty"`
	Options map[string]any `json:"options,omitempty"`
	AsIs    bool           `json:"as_is,omitempty"`
}

// Version is one dataset version of a task: who made it, and what of a refinement changed.
type Version struct {
	Number  int       `json:"number"`
	Hash    string    `json:"hash"`
	On      int       `json:"on"`
	Off     int       `json:"off"`
	Parts   Parts     `json:"parts"`
	Cause   string    `json:"cause"` // feed | refine | options
	Feed    *int      `json:"feed,omitempty"`
	By      string    `json:"by,omitempty"`
	Changes *Changes  `json:"changes,omitempty"` // of a refinement
	Created time.Time `json:"created"`
}

// Changes is what a refinement changed.
type Changes struct {
	On       []int     `json:"on,omitempty"`  // numbers that were switched on
	Off      []int     `json:"off,omitempty"` // and off
	Labels   []Relabel `json:"labels,omitempty"`
	Suspects bool      `json:"suspects,omitempty"` // Off were the suspects
	Parts    Parts     `json:"parts"`              // of all examples that changed
}

// Relabel is a label that was corrected.
type Relabel struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// Example is one accepted example.
type Example struct {
	Number int    `json:"number"`
	Part   string `json:"part"`
	Label  string `json:"label,omitempty"`
	Fed    string `json:"fed,omitempty"` // the label as it was fed, where it was corrected since
	On     bool   `json:"on"`
	Feed   int    `json:"feed"`
	Source string `json:"source"`
	Row    int64  `json:"row"`
	Hash   string `json:"hash"`

	Content []Content `json:"content,omitempty"` // only where it was asked for
}

// Content is what one field of an example holds, small enough to be shown. Kind
// says which of Text, Numbers and PNG is meant.
type Content struct {
	Field   string     `json:"field"`
	Kind    string     `json:"kind"` // text | numbers | picture
	Missing bool       `json:"missing,omitempty"`
	Shape   []int      `json:"shape,omitempty"`   // of a tensor; of a series the steps first
	Text    string     `json:"text,omitempty"`    // a label
	Numbers []*float64 `json:"numbers,omitempty"` // all, or the means of 64 stretches of them; null = missing
	PNG     []byte     `json:"png,omitempty"`     // a small picture
}

// The kinds of Content.
const (
	ContentText    = "text"
	ContentNumbers = "numbers"
	ContentPicture = "picture"
)

// PatchExamples is the body of PATCH …/examples: numbers and ranges of
// examples to switch on or off, such as "17" and "90..95", or "all", and labels
// to correct. Off may also be "gone": what is no longer in the file it came from.
// Suspects says that Off are the task's suspects.
type PatchExamples struct {
	On       []string     `json:"on,omitempty"`
	Off      []string     `json:"off,omitempty"`
	Labels   []Correction `json:"labels,omitempty"`
	Suspects bool         `json:"suspects,omitempty"`
}

// Correction is the right label of some examples.
type Correction struct {
	Examples []string `json:"examples"` // numbers and ranges
	Label    string   `json:"label"`
}

// ExamplesQuery chooses examples: those after number After, at most Limit (0:
// the server's own limit), of a Part and a State, where these are given.
type ExamplesQuery struct {
	After int
	Limit int
	Part  string // train | validation | test
	State string // on | off
	// Content asks also for what is in the examples, at most 100 of them at a time.
	// Only the task's owner gets it.
	Content bool
}
