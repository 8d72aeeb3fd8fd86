package show

import (
	"fmt"
	"time"

	"github.com/easeml/easeml/api"
)

// real tells whether there is a model that is more than the guess.
func real(b *api.Best) bool { return b != nil && !b.Baseline }

// standing is where a task stands, in a few words: "searching, 6 of 41".
func standing(t api.Task, now time.Time) string {
	switch t.State {
	case api.TaskDeclared:
		return "no examples yet"
	case api.TaskDropped:
		return "dropped"
	case api.TaskSearching:
		if t.Running == 0 {
			return fmt.Sprintf("waiting for its turn, %s of %s", count(t.Tried), count(t.Candidates))
		}
		return fmt.Sprintf("searching, %s of %s", count(t.Tried), count(t.Candidates))
	}
	return settledWords(t) + since(t, now)
}

// settledWords says why a search has ended for now.
func settledWords(t api.Task) string {
	switch t.Reason {
	case api.SettledLikelyFinal:
		return "likely final"
	case api.SettledExhausted:
		return "all candidates tried"
	case api.SettledStopped:
		return "stopped by you"
	case api.SettledBudget:
		return "resting: the device time is used up"
	case api.SettledNoData:
		return "too few examples to search"
	}
	return "settled"
}

// since says since when a task has been settled.
func since(t api.Task, now time.Time) string {
	if t.SettledAt == nil {
		return ""
	}
	if t.Reason == api.SettledStopped {
		return ", " + clock(*t.SettledAt, now)
	}
	return " since " + clock(*t.SettledAt, now)
}

// triedWords counts the candidates: "22 candidates tried", "10 of 22 candidates tried".
func triedWords(t api.Task) string {
	if t.Tried >= t.Candidates {
		return several(t.Tried, "candidate") + " tried"
	}
	return fmt.Sprintf("%s of %s tried", count(t.Tried), several(t.Candidates, "candidate"))
}

// bestWords is the verdict on the model that answers now, or that there is none.
func bestWords(t api.Task) string {
	if !real(t.Best) {
		return "no real model yet"
	}
	return join(inSearch(t, t.Best.Search), guessing(t.Metric.Name, t.Best.Search, t.Guess))
}
