package search

import (
	"encoding/json"
	"slices"

	"github.com/easeml/easeml/gpu/trial"
	"github.com/easeml/easeml/server/store"
)

// gone are the numbers of the examples that are no longer in the file they came
// from, as it was fed last. Feeds are in the order of their numbers; examples are
// those that everGone names, or more.
func gone(feeds []store.Feed, examples []store.Example) []int {
	names := make([][]string, len(feeds))
	at := make(map[int]int, len(feeds)) // by number
	for i, f := range feeds {
		names[i], at[f.Number] = namesOf(f), i
	}
	byNumber := make(map[int]store.Example, len(examples))
	for _, e := range examples {
		byNumber[e.Number] = e
	}
	missing := map[int]bool{}
	for i, f := range feeds {
		var profile trial.Profile
		if f.State != "ended" || json.Unmarshal(f.Profile, &profile) != nil || profile.Changed == nil {
			continue
		}
		for n := range missing { // this feed has looked for it again, if it read its file
			e := byNumber[n]
			if own := names[at[e.Feed]]; slices.Contains(names[i], e.Source) || !slices.Contains(own, e.Source) && meet(own, names[i]) {
				delete(missing, n)
			}
		}
		for _, n := range profile.Changed.Gone {
			if _, there := byNumber[n]; there {
				missing[n] = true
			}
		}
	}
	numbers := make([]int, 0, len(missing))
	for n := range missing {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// everGone are the numbers of the examples that one of the feeds has missed.
func everGone(feeds []store.Feed) []int {
	var numbers []int
	for _, f := range feeds {
		var profile trial.Profile
		if f.State == "ended" && json.Unmarshal(f.Profile, &profile) == nil && profile.Changed != nil {
			numbers = append(numbers, profile.Changed.Gone...)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// SameFile tells whether two feeds read a file of one name.
func SameFile(a, b store.Feed) bool { return meet(namesOf(a), namesOf(b)) }

// namesOf are the names of the files of a feed.
func namesOf(f store.Feed) []string {
	var request FeedRequest
	_ = json.Unmarshal(f.Request, &request) // written by Feed
	names := make([]string, len(request.Sources))
	for i, s := range request.Sources {
		names[i] = s.Name
	}
	return names
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
