package search

import (
	"encoding/json"

	"time"

	"github.com/easeml/easeml/server/store"
)

// wait is a search's wait for a device and what was first said of its length, in
// seconds. It is kept with the decision that ended it.
type wait struct {
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Seconds float64 `json:"seconds"` // how long it was
	since   time.Time
}

// short waits are left out of the count: that they are short is all that was said.
const short = 2.0 // seconds

// held tells whether it was as long as people had read, who are told whole seconds.
func (w wait) held() bool { return w.Seconds >= w.Low-1 && w.Seconds <= w.High+1 }

// waits are the last waits that ended, the newest last.
type waits []wait

// lastWaits is how many are counted.
const lastWaits = 100

func (l *waits) add(w wait) {
	if max(w.Seconds, w.High) < short {
		return
	}
	*l = append(*l, w)
	*l = (*l)[max(0, len(*l)-lastWaits):]
}

// held counts the waits that were as long as was first said.
func (l waits) held() (held, all int) {
	for _, w := range l {
		if w.held() {
			held++
		}
	}
	return held, len(l)
}

// served ends a search's wait as its trial starts; nil where it had not waited, or
// nothing was said of it.
func (st *state) served(t *tenant) *wait {
	w := t.wait
	if t.wait = nil; w == nil {
		return nil
	}
	w.Seconds = st.now().Sub(w.since).Seconds()
	st.waits.add(*w)
	return w
}

// recoverWaits reads the last waits from the decisions that ended them.
func (st *state) recoverWaits(r *store.Reader) error {
	reasons, err := r.LastReasons(10 * lastWaits)
	if err != nil {
		return err
	}
	for i := len(reasons) - 1; i >= 0; i-- {
		var d struct {
			Wait *wait `json:"wait"`
		}
		if json.Unmarshal(reasons[i], &d) == nil && d.Wait != nil {
			st.waits.add(*d.Wait)
		}
	}
	return nil
}
