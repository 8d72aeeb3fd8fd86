package http

import (
	"context"
	"net/http"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

type countProgram struct {
	Program string `query:"program" required:"true" doc:"A program's text."`
}

// routePool adds the devices and the catalogue.
func (s *server) routePool() {
	handle(s, http.MethodGet, "/pool", "pool", "The devices", s.pool)
	handle(s, http.MethodGet, "/catalogue", "catalogue", "How many candidates a program would have before any data",
		func(ctx context.Context, in *countProgram) (*answerOf[api.CatalogCount], error) {
			if _, err := schema.Parse(in.Program); err != nil {
				return nil, err
			}
			out := &answerOf[api.CatalogCount]{}
			err := s.Store.Read(ctx, func(r *store.Reader) error { out.Seq = r.Seq(); return nil })
			if err == nil {
				var n search.Counted
				n, err = s.Search.Count(ctx, in.Program)
				out.Body.Light, out.Body.Deep = n.Light, n.Deep-n.Missing
			}
			return out, err
		})
}

// pool shows the devices. Whose trial holds one is only said to that user.
func (s *server) pool(ctx context.Context, _ *struct{}) (*answerOf[api.Pool], error) {
	who := caller(ctx)
	out := &answerOf[api.Pool]{Body: api.Pool{Devices: []api.Device{}, Now: s.Now().UTC()}}
	err := s.Store.Read(ctx, func(r *store.Reader) error { out.Seq = r.Seq(); return nil })
	if err != nil {
		return nil, err
	}
	devices, waiting, err := s.Search.Pool(ctx)
	if err != nil {
		return nil, err
	}
	out.Body.Waiting = waiting
	names := map[string]string{}
	err = s.Store.Read(ctx, func(r *store.Reader) error {
		for _, d := range devices {
			if d.TaskID == "" || d.UserID != who.ID {
				continue
			}
			task, err := r.TaskByID(d.TaskID)
			if err != nil {
				return err
			}
			names[d.TaskID] = task.User + "/" + task.Name
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		mine := d.UserID != "" && d.UserID == who.ID
		v := api.Device{ID: d.ID, Class: d.Class, Name: d.Name, State: d.State, Why: d.Why, Memory: d.Memory, Mine: mine, Ends: d.Ends}
		if mine {
			v.Task, v.Label = names[d.TaskID], d.Label
		}
		out.Body.Devices = append(out.Body.Devices, v)
	}
	return out, nil
}
