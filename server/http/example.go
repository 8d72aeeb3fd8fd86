package http

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

const examplesPage = 1000

type listExamples struct {
	OfTask
	After int    `query:"after" minimum:"0" doc:"Numbers after this one."`
	Limit int    `query:"limit" minimum:"0" maximum:"10000" doc:"At most so many; 0: 1000."`
	Part  string `query:"part" enum:"train,validation,test"`
	State string `query:"state" enum:"on,off"`
	ContentQuery
}

type patchExamples struct {
	OfTask
	Body api.PatchExamples
}

// routeExamples adds examples and the dataset versions made of them.
func (s *server) routeExamples() {
	handle(s, http.MethodGet, "/tasks/{user}/{name}/examples", "list-examples", "Accepted examples; with content also what is in them",
		func(ctx context.Context, in *listExamples) (*answerOf[[]api.Example], error) {
			return read(s, ctx, in.OfTask, func(r *store.Reader, task store.Task) ([]api.Example, error) {
				filter := store.ExampleFilter{Part: in.Part}
				if in.State != "" {
					filter.On = new(in.State == "on")
				}
				limit, err := in.page(ctx, task, in.Limit)
				if err != nil {
					return nil, err
				}
				list, err := r.Examples(task.ID, in.After, limit, filter)
				if err != nil {
					return nil, err
				}
				views := []api.Example{}
				for _, e := range list {
					views = append(views, api.Example{
						Number: e.Number, Part: e.Part, Label: e.Label, Fed: e.Fed, On: e.On, Feed: e.Feed, Source: e.Source, Row: e.Row, Hash: e.ExampleHash,
					})
				}
				return views, in.fill(r, task, views)
			})
		})
	handle(s, http.MethodPatch, "/tasks/{user}/{name}/examples", "refine", "Switch examples on or off, or correct labels: a new version, unless nothing changes", s.refine)
	handle(s, http.MethodGet, "/tasks/{user}/{name}/versions", "list-versions", "Dataset versions",
		func(ctx context.Context, in *OfTask) (*answerOf[[]api.Version], error) {
			return read(s, ctx, *in, func(r *store.Reader, task store.Task) ([]api.Version, error) {
				list, err := r.Versions(task.ID)
				if err != nil {
					return nil, err
				}
				views := []api.Version{}
				for _, v := range list {
					views = append(views, viewVersion(v))
				}
				return views, nil
			})
		})
}

func (s *server) refine(ctx context.Context, in *patchExamples) (*answerOf[api.Version], error) {
	task, err := s.find(ctx, in.OfTask)
	if err != nil {
		return nil, err
	}
	if task.NextExample <= 1 {
		return nil, refuse(http.StatusConflict, "Feed some first.", "%s has no examples yet.", task.Name)
	}
	on, err := numbers(in.Body.On, task)
	if err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(slices.Clone(in.Body.Off), func(text string) bool { return text == "gone" })
	gone := len(rest) < len(in.Body.Off)
	off, err := numbers(rest, task)
	if err != nil {
		return nil, err
	}
	r := search.Refinement{On: on, Off: off, Labels: map[int]string{}, Gone: gone, Suspects: in.Body.Suspects, By: caller(ctx).Name}
	for _, c := range in.Body.Labels {
		list, err := numbers(c.Examples, task)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			if other, twice := r.Labels[n]; twice && other != c.Label {
				return nil, refuse(http.StatusUnprocessableEntity, "", "Example %d is called both %q and %q. Nothing was changed.", n, other, c.Label)
			}
			r.Labels[n] = c.Label
		}
	}
	if len(on)+len(off)+len(r.Labels) == 0 && !gone {
		return nil, refuse(http.StatusUnprocessableEntity, `Say {"off": ["17", "90..95"]}.`, "No examples were named.")
	}
	number, err := s.Search.Refine(ctx, task, r)
	if err != nil {
		return nil, err
	}
	out := &answerOf[api.Version]{}
	return out, s.Store.Read(ctx, func(r *store.Reader) error {
		out.Seq = r.Seq()
		v, err := r.Version(task.ID, number)
		out.Body = viewVersion(v)
		return err
	})
}

// numbers reads numbers and ranges of examples, such as "17", "90..95" and
// "all". Nothing beyond the task's examples is named, so they can't grow large.
func numbers(texts []string, task store.Task) ([]int, error) {
	last := task.NextExample - 1
	seen := make(map[int]bool)
	list := []int{}
	for _, text := range texts {
		from, to, isRange := strings.Cut(text, "..")
		if !isRange {
			to = from
		}
		low, errLow := strconv.Atoi(from)
		high, errHigh := strconv.Atoi(to)
		if text == "all" {
			low, high, errLow, errHigh = 1, last, nil, nil
		}
		if errLow != nil || errHigh != nil {
			return nil, refuse(http.StatusUnprocessableEntity, `Say 17, 90..95 or all.`, "%q names no examples.", text)
		}
		if low < 1 || high > last || low > high {
			return nil, refuse(http.StatusUnprocessableEntity, "", "%s has the examples 1 to %d, so not %s. Nothing was changed.", task.Name, last, text)
		}
		for n := low; n <= high; n++ {
			if !seen[n] {
				seen[n] = true
				list = append(list, n)
			}
		}
	}
	return list, nil
}

func viewVersion(v store.Version) api.Version {
	view := api.Version{
		Number: v.Number, Hash: v.Hash, On: v.On, Off: v.Off, Cause: v.Cause, Feed: v.Feed, By: v.By, Created: v.Created,
	}
	decode(v.Parts, &view.Parts)
	if len(v.Changes) > 0 {
		view.Changes = &api.Changes{}
		decode(v.Changes, view.Changes)
	}
	return view
}
