package allocator

import "errors"

// Allocator holds the state. It is not safe for use by several goroutines at once.
type Allocator struct{ opts Options }

// New makes an empty allocator, or says which option is wrong.
func New(opts Options) (*Allocator, error) {
	o, err := opts.filled()
	if err != nil {
		return nil, err
	}
	return &Allocator{opts: o}, nil
}

var errSoon = errors.New("allocator: not built yet")

// Apply takes an event in. An impossible event (unknown search, double end, a number that is not finite) is an error
// and changes nothing.
func (a *Allocator) Apply(e Event) error { return errSoon }

// Next says what a free device of the class should train; false = nothing for it now. It does not change state: the
// caller applies [TrialStarted] when it has done so.
func (a *Allocator) Next(class string) (Decision, bool) { return Decision{}, false }

// View returns what is thought of a search; false = unknown search.
func (a *Allocator) View(id SearchID) (SearchView, bool) { return SearchView{}, false }

// Searches lists the searches, sorted by id.
func (a *Allocator) Searches() []SearchID { return nil }

// Snapshot writes the whole state as JSON.
func (a *Allocator) Snapshot() ([]byte, error) { return nil, errSoon }

// Restore makes an allocator from a snapshot; its next decisions are those of the original.
func Restore(b []byte) (*Allocator, error) { return nil, errSoon }

// Row is one past search: what was measured in it. Cells may be missing.
type Row struct {
	Quality            map[CandidateID]float64
	Seconds            map[CandidateID]float64
	Class              map[CandidateID]string // device class of Seconds; missing = unknown
	Examples, Features int
}

// FitOptions choose what is fitted; the zero value is right for history of this service.
type FitOptions struct{}

// FitPrior makes a prior from past searches.
func FitPrior(history []Row, family func(CandidateID) string, opts FitOptions) (*Prior, error) {
	return nil, errSoon
}

// DefaultPrior is the prior when nothing is known.
func DefaultPrior(arms []Arm) *Prior { return nil }
