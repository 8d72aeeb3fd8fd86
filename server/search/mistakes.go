package search

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// surely is the probability from which on an answer counts as sure, as infer
// marks it.
const surely = 0.8

// keptPairs is how many kinds of mistakes are kept of a trial, and fewest how
// many examples a class needs to be called the weakest;
// keptClasses bounds the classes that are counted each: of more no picture can be
// made.
const (
	keptPairs   = 200
	keptClasses = 40
	fewest      = 5
)

// Mistakes is how a model of classes errs on the examples that compare
// candidates, or on the test part; of series of labels, place by place. It
// outlives the trial's folder.
type Mistakes struct {
	N       int       `json:"n"`
	Wrong   int       `json:"wrong"`
	Pairs   []Pair    `json:"pairs,omitempty"`   // the most frequent first
	Classes []OfClass `json:"classes,omitempty"` // by label; nil where there are too many
	Weakest *OfClass  `json:"weakest,omitempty"` // the class with the smallest share right
	Sure    *RightOfN `json:"sure,omitempty"`    // nil where the model tells no probabilities
	Unsure  *RightOfN `json:"unsure,omitempty"`
}

// Pair is a kind of mistake: N examples of one class were taken for another.
type Pair struct {
	Truth  string `json:"truth"`
	Answer string `json:"answer"`
	N      int    `json:"n"`
}

// RightOfN counts right answers.
type RightOfN struct {
	Right int `json:"right"`
	N     int `json:"n"`
}

// OfClass is the right answers of one class.
type OfClass struct {
	Label string `json:"label"`
	RightOfN
}

// mistakes counts them; nil for models that answer numbers.
func mistakes(rows []trial.Prediction) *Mistakes {
	m := &Mistakes{}
	classes, pairs := map[string]*RightOfN{}, map[[2]string]int{}
	var sure, unsure RightOfN
	told := 0
	count := func(truth, answer string, side *RightOfN) {
		c := classes[truth]
		if c == nil {
			c = &RightOfN{}
			classes[truth] = c
		}
		m.N, c.N, side.N = m.N+1, c.N+1, side.N+1
		if truth == answer {
			c.Right, side.Right = c.Right+1, side.Right+1
			return
		}
		m.Wrong++
		pairs[[2]string{truth, answer}]++
	}
	for _, p := range rows {
		if len(p.Truth.Numbers) > 0 {
			return nil
		}
		if len(p.Truth.Labels) > 0 {
			eachPlace(p, func(truth, answer string) { count(truth, answer, &unsure) })
			continue
		}
		side := &unsure
		if len(p.Probabilities) > 0 {
			told++
			if slices.Max(p.Probabilities) >= surely {
				side = &sure
			}
		}
		count(p.Truth.Label, p.Prediction.Label, side)
	}
	if m.N == 0 {
		return nil
	}
	if told == m.N {
		m.Sure, m.Unsure = &sure, &unsure
	}
	for k, n := range pairs {
		m.Pairs = append(m.Pairs, Pair{Truth: k[0], Answer: k[1], N: n})
	}
	slices.SortFunc(m.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Truth, b.Truth), cmp.Compare(a.Answer, b.Answer))
	})
	m.Pairs = m.Pairs[:min(len(m.Pairs), keptPairs)]
	for label, c := range classes {
		if len(classes) <= keptClasses {
			m.Classes = append(m.Classes, OfClass{Label: label, RightOfN: *c})
		}
		if c.N < fewest || c.Right == c.N {
			continue
		}
		next := &OfClass{Label: label, RightOfN: *c}
		if w := m.Weakest; w == nil || weaker(*next, *w) {
			m.Weakest = next
		}
	}
	slices.SortFunc(m.Classes, func(a, b OfClass) int {
		return cmp.Or(cmp.Compare(numberOr(a.Label), numberOr(b.Label)), cmp.Compare(a.Label, b.Label))
	})
	return m
}

// weaker compares shares right, without dividing; ties go to the larger class,
// then by label.
func weaker(a, b OfClass) bool {
	return cmp.Or(cmp.Compare(a.Right*b.N, b.Right*a.N), cmp.Compare(b.N, a.N), cmp.Compare(a.Label, b.Label)) < 0
}

// numberOr is a label as a number, 0 where it is none: 9 comes before 10.
func numberOr(label string) float64 {
	x, err := strconv.ParseFloat(label, 64)
	if err != nil {
		return 0
	}
	return x
}

// MistakesOf is what was kept of a trial's mistakes: on the test part where there
// is one, else in the search; nil where nothing was.
func MistakesOf(tr store.Trial) (m *Mistakes, ofTest bool) {
	var kept struct {
		Mistakes *Mistakes `json:"mistakes"`
		OfTest   *Mistakes `json:"test_mistakes"`
	}
	if len(tr.Result) == 0 || json.Unmarshal(tr.Result, &kept) != nil {
		return nil, false
	}
	if kept.OfTest != nil {
		return kept.OfTest, true
	}
	return kept.Mistakes, false
}
