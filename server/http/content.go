package http

import (
	"context"
	"math"
	"net/http"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/store"
)

// contentPage is at how many examples at a time a person may look.
const contentPage = 100

// ContentQuery asks for what is in the examples of a list.
type ContentQuery struct {
	Content bool `query:"content" doc:"Also what is in them, at most 100 at a time. Only the owner gets it."`
	Side    int  `query:"side" minimum:"8" maximum:"256" default:"64" doc:"Of a picture: its longest side in pixels."`
}

// page is how many examples are listed where limit (0: no limit) was asked for.
// What is in examples is shown to their owner alone, not to an admin either.
func (q ContentQuery) page(ctx context.Context, task store.Task, limit int) (int, error) {
	most := examplesPage
	if q.Content {
		if task.UserID != caller(ctx).ID {
			return 0, refuse(http.StatusForbidden, "", "Only the owner of %s may see what is in its examples.", task.Name)
		}
		most = contentPage
	}
	if limit == 0 || q.Content && limit > most {
		limit = most
	}
	return limit, nil
}

// fill adds to a list what is in the examples, if that was asked for.
func (q ContentQuery) fill(r *store.Reader, task store.Task, list []api.Example) error {
	if !q.Content || len(list) == 0 {
		return nil
	}
	search, err := r.SearchByID(task.SearchID)
	if err != nil {
		return err
	}
	program, err := schema.Parse(task.Program)
	if err != nil {
		return err
	}
	numbers := make([]int, len(list))
	for i, e := range list {
		numbers[i] = e.Number
	}
	all, err := feed.Contents(search.DataPath, program, search.Profile, numbers, q.Side)
	if err != nil {
		return err
	}
	for i := range list {
		for _, c := range all[list[i].Number] {
			view := api.Content{Field: c.Field, Kind: string(c.Kind), Missing: c.Missing, Shape: c.Shape, Text: c.Text, PNG: c.PNG}
			for _, x := range c.Numbers {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					view.Numbers = append(view.Numbers, nil)
				} else {
					view.Numbers = append(view.Numbers, new(x))
				}
			}
			list[i].Content = append(list[i].Content, view)
		}
	}
	return nil
}
