package http

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// number is a float64 of the trainer's files: "nan" and "inf" are strings there.
type number float64

// UnmarshalJSON takes whatever is no finite number as NaN.
func (n *number) UnmarshalJSON(text []byte) error {
	var f float64
	if json.Unmarshal(text, &f) != nil || string(text) == "null" {
		f = math.NaN()
	}
	*n = number(f)
	return nil
}

// finite is 0 for what JSON can't say.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// profile is what views need of the trainer's profile.json.
type profile struct {
	Metric struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	} `json:"metric"`
	Guess *struct {
		Text    string  `json:"text"`
		Quality number  `json:"quality"`
		MAE     *number `json:"mae"`
	} `json:"guess"`
	Warnings []api.Warning     `json:"warnings"`
	ReadAs   []json.RawMessage `json:"read_as"`
	Changed  *api.FileChange   `json:"changed"` // of a feed: since its file was fed before
}

// readAs are the sentences about how the files were understood.
func (p profile) readAs() []string {
	sentences := []string{}
	for _, raw := range p.ReadAs {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			sentences = append(sentences, text)
		}
	}
	return sentences
}

// candidate is what views need of a candidate's object.
type candidate struct {
	ID       string          `json:"id"`
	Version  int             `json:"version"`
	Family   string          `json:"family"`
	Label    string          `json:"label"`
	Baseline bool            `json:"baseline"`
	Settings json.RawMessage `json:"settings"`

	ordinal int
	removed bool
}

// arm is a candidate's key within a search.
type arm struct {
	id      string
	version int
}

// rows is all the store knows about one task, read from one snapshot: what its
// views are made of.
type rows struct {
	task       store.Task
	search     store.Search // zero before the first version
	counts     store.ExampleCounts
	labels     map[string]int
	rejected   int
	doubts     []api.Warning // of its feeds, that nobody has said are fine
	profile    profile
	target     target
	candidates map[arm]candidate
	ordered    []candidate    // by ordinal
	trials     []store.Trial  // of the present search, in the order they were made
	numbers    map[string]int // trial id → the task's number for it
	seconds    float64        // device time of all versions
	charge     float64
	served     search.Best
	serves     bool
}

type target struct {
	Kind   string   `json:"kind"`
	Labels []string `json:"labels"`
}

// readRows reads them.
func readRows(r *store.Reader, taskID string) (x rows, err error) {
	if x.task, err = r.TaskByID(taskID); err != nil {
		return x, err
	}
	x.numbers = map[string]int{}
	if x.counts, err = r.ExampleCounts(taskID); err != nil {
		return x, err
	}
	feeds, err := r.Feeds(taskID)
	if err != nil {
		return x, err
	}
	for _, f := range feeds {
		x.rejected += f.Rejected
		x.doubt(f)
	}
	decode(x.task.Profile, &x.profile)
	decode(x.task.Target, &x.target)
	if x.target.Kind == "classes" {
		if x.labels, err = r.LabelCounts(taskID); err != nil {
			return x, err
		}
	}
	x.served, x.serves = search.Served(x.task)
	if x.task.SearchID == "" {
		return x, nil
	}
	if x.search, err = r.SearchByID(x.task.SearchID); err != nil {
		return x, err
	}
	if x.candidates, x.ordered, err = readCandidates(r, x.task.SearchID); err != nil {
		return x, err
	}
	if x.trials, err = r.Trials(x.task.SearchID); err != nil {
		return x, err
	}
	return x, x.readTrials(r)
}

// doubt adds what a feed warned of and what spoils figures, once for all feeds that say so.
func (x *rows) doubt(f store.Feed) {
	if f.State != "ended" || f.Accepted == 0 || f.AsIs != "" {
		return
	}
	var p profile
	decode(f.Profile, &p)
	for _, w := range p.Warnings {
		same := func(o api.Warning) bool { return o.Code == w.Code && o.Column == w.Column }
		if w.Spoils && !slices.ContainsFunc(x.doubts, same) {
			x.doubts = append(x.doubts, w)
		}
	}
}

// readTrials reads the task's numbers for trials, and adds up what they took.
func (x *rows) readTrials(r *store.Reader) error {
	numbers, err := r.TaskTrials(x.task.ID)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		x.numbers[n.TrialID] = n.Number
	}
	versions, err := r.Versions(x.task.ID)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, v := range versions {
		seen[v.SearchID] = true
	}
	delete(seen, x.task.SearchID)
	all := x.trials
	for id := range seen {
		earlier, err := r.Trials(id)
		if err != nil {
			return err
		}
		all = append(slices.Clip(all), earlier...)
	}
	for _, t := range all {
		if _, known := x.numbers[t.ID]; known {
			x.seconds += finite(t.Seconds)
			x.charge += finite(t.Charge)
		}
	}
	return nil
}

// readCandidates reads a search's candidates, the removed ones too.
func readCandidates(r *store.Reader, searchID string) (byArm map[arm]candidate, ordered []candidate, err error) {
	list, err := r.Candidates(searchID)
	if err != nil {
		return nil, nil, err
	}
	byArm = make(map[arm]candidate, len(list))
	for _, row := range list {
		c := candidate{ID: row.ID, Version: row.Version, Label: row.ID}
		decode(row.Object, &c)
		c.ID, c.Version, c.ordinal, c.removed = row.ID, row.Version, row.Ordinal, row.Removed != nil
		byArm[arm{c.ID, c.Version}] = c
		ordered = append(ordered, c)
	}
	return byArm, ordered, nil
}

// of is the candidate of a trial; one whose row is gone is called by its id.
func (x *rows) of(t store.Trial) candidate {
	if c, ok := x.candidates[arm{t.Candidate, t.CandidateVersion}]; ok {
		return c
	}
	return candidate{ID: t.Candidate, Version: t.CandidateVersion, Label: t.Candidate}
}

// finished tells whether a trial's quality counts.
func finished(t store.Trial) bool {
	return t.Quality != nil && (t.State == "ok" || t.State == "stopped")
}

// byQuality orders finished trials as models are served: the highest quality,
// ties by seconds, then id.
func byQuality(a, b store.Trial) int {
	return cmp.Or(-cmp.Compare(*a.Quality, *b.Quality), cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.ID, b.ID))
}

// decode reads JSON that this server wrote itself or took from the trainer;
// what isn't there or isn't of that form stays zero.
func decode(text json.RawMessage, into any) {
	if len(text) > 0 {
		_ = json.Unmarshal(text, into)
	}
}
