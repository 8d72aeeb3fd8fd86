package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

const (
	firstRejects = 20 // of a feed's view
	rejectsPage  = 1000
	maxSources   = 10_000
)

type newFeed struct {
	OfTask
	Body api.NewFeed
}

// OfFeed are the path's parameters of a feed.
type OfFeed struct {
	OfTask
	Feed int `path:"feed" doc:"The task's number for the feed."`
}

type listRejects struct {
	OfFeed
	Offset int `query:"offset" minimum:"0" doc:"Leave out so many."`
	Limit  int `query:"limit" minimum:"0" maximum:"10000" doc:"At most so many; 0: 1000."`
}

// routeFeeds adds the feeding of examples.
func (s *server) routeFeeds() {
	const feeds = "/tasks/{user}/{name}/feeds"
	handle(s, http.MethodPost, feeds, "create-feed",
		"Feed complete uploads: 202, they are read in the background; 200 with the earlier feed of the same content", s.createFeed)
	handle(s, http.MethodGet, feeds, "list-feeds", "A task's feeds",
		func(ctx context.Context, in *OfTask) (*answerOf[[]api.Feed], error) {
			return read(s, ctx, *in, func(r *store.Reader, task store.Task) ([]api.Feed, error) {
				list, err := r.Feeds(task.ID)
				if err != nil {
					return nil, err
				}
				views := []api.Feed{}
				for _, f := range list {
					v, err := viewFeed(r, f)
					if err != nil {
						return nil, err
					}
					views = append(views, v)
				}
				return views, nil
			})
		})
	handle(s, http.MethodGet, feeds+"/{feed}", "get-feed", "One feed",
		func(ctx context.Context, in *OfFeed) (*answerOf[api.Feed], error) {
			return read(s, ctx, in.OfTask, func(r *store.Reader, task store.Task) (api.Feed, error) {
				f, err := findFeed(r, task, in.Feed)
				if err != nil {
					return api.Feed{}, err
				}
				return viewFeed(r, f)
			})
		})
	handle(s, http.MethodGet, feeds+"/{feed}/rejects", "list-rejects", "Rows of a feed that were not accepted",
		func(ctx context.Context, in *listRejects) (*answerOf[[]api.Reject], error) {
			return read(s, ctx, in.OfTask, func(r *store.Reader, task store.Task) ([]api.Reject, error) {
				f, err := findFeed(r, task, in.Feed)
				if err != nil {
					return nil, err
				}
				limit := in.Limit
				if limit == 0 {
					limit = rejectsPage
				}
				return viewRejects(r, f.ID, in.Offset, limit)
			})
		})
}

func (s *server) createFeed(ctx context.Context, in *newFeed) (*answerOf[api.Feed], error) {
	task, err := s.find(ctx, in.OfTask)
	if err != nil {
		return nil, err
	}
	if len(in.Body.Uploads) > maxSources {
		return nil, refuse(http.StatusUnprocessableEntity, "Put them into an archive.", "One feed takes at most %d files.", maxSources)
	}
	request := search.FeedRequest{Output: in.Body.Output, Using: in.Body.Using, Options: in.Body.Options, Hidden: in.Body.Hidden, By: caller(ctx).Name}
	err = s.Store.Read(ctx, func(r *store.Reader) error {
		uploads, err := sources(r, caller(ctx), in.Body.Uploads)
		for _, u := range uploads {
			request.Sources = append(request.Sources, feed.Source{Name: u.Name, SHA256: u.SHA256})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	row, earlier, err := s.Search.Feed(ctx, task, request)
	if err != nil {
		return nil, err
	}
	out := &answerOf[api.Feed]{Status: http.StatusAccepted}
	if earlier {
		out.Status = http.StatusOK
	}
	return out, s.Store.Read(ctx, func(r *store.Reader) error {
		out.Seq = r.Seq()
		// It may have been read meanwhile.
		if row, err = r.Feed(task.ID, row.Number); err != nil {
			return err
		}
		out.Body, err = viewFeed(r, row)
		out.Body.Earlier = earlier
		return err
	})
}

func findFeed(r *store.Reader, task store.Task, number int) (store.Feed, error) {
	f, err := r.Feed(task.ID, number)
	if errors.Is(err, store.ErrNotFound) {
		return f, refuse(http.StatusNotFound, "", "%s has no feed %d.", task.Name, number)
	}
	return f, err
}

func viewFeed(r *store.Reader, f store.Feed) (api.Feed, error) {
	v := api.Feed{
		Number: f.Number, State: f.State, Sources: []string{}, Read: f.Read, Accepted: f.Accepted, Known: f.Known,
		Rejected: f.Rejected, Rejects: []api.Reject{}, Version: f.Version, Seconds: finite(f.Seconds), Created: f.Created,
	}
	var request search.FeedRequest
	decode(f.Request, &request)
	for _, source := range request.Sources {
		v.Sources = append(v.Sources, source.Name)
	}
	var p profile
	decode(f.Profile, &p)
	if v.Changed = p.Changed; v.Changed != nil {
		feeds, err := r.Feeds(f.TaskID)
		if err != nil {
			return v, err
		}
		for _, before := range feeds {
			if before.Number < f.Number && before.State == "ended" && search.SameFile(before, f) {
				v.Changed.Since = &before.Created
			}
		}
	}
	v.ReadAs, v.Warnings = p.readAs(), append([]api.Warning{}, p.Warnings...)
	if len(f.Error) > 0 {
		v.Error = &api.Problem{}
		if err := json.Unmarshal(f.Error, v.Error); err != nil {
			return v, err
		}
	}
	if f.Rejected > 0 {
		var err error
		v.Rejects, err = viewRejects(r, f.ID, 0, firstRejects)
		return v, err
	}
	return v, nil
}

// viewRejects lists a feed's rejects; they are numbered from 1.
func viewRejects(r *store.Reader, feedID string, offset, limit int) ([]api.Reject, error) {
	list, err := r.Rejects(feedID, offset, limit)
	if err != nil {
		return nil, err
	}
	views := []api.Reject{}
	for _, x := range list {
		views = append(views, api.Reject{
			Source: x.Source, Row: x.Row, Line: x.Line, Column: x.Column, Value: x.Value, Reason: x.Reason, Remedy: x.Remedy,
		})
	}
	return views, nil
}
