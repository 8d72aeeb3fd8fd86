package http

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// taskName is what a task may be called (LANGUAGE §1, NAME).
var taskName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)

// OfTask are the path's parameters of everything about a task. (It is exported
// because huma sees no fields of an embedded type that is not.)
type OfTask struct {
	User string `path:"user" doc:"The owner's name."`
	Name string `path:"name" doc:"The task's name."`
}

// find looks a task up that the caller may see. One that they may not see is
// answered exactly as one that does not exist.
func find(r *store.Reader, who store.User, of OfTask) (store.Task, error) {
	none := refuse(http.StatusNotFound, "", "There is no task %s/%s.", of.User, of.Name)
	owner := who
	if of.User != who.Name {
		if who.Role != account.RoleAdmin {
			return store.Task{}, none
		}
		var err error
		if owner, err = r.UserByName(of.User); errors.Is(err, store.ErrNotFound) {
			return store.Task{}, none
		} else if err != nil {
			return store.Task{}, err
		}
	}
	task, err := r.TaskByName(owner.ID, of.Name)
	if errors.Is(err, store.ErrNotFound) {
		return store.Task{}, none
	}
	return task, err
}

// find reads a task that the caller may see.
func (s *server) find(ctx context.Context, of OfTask) (task store.Task, err error) {
	err = s.Store.Read(ctx, func(r *store.Reader) (err error) {
		task, err = find(r, caller(ctx), of)
		return err
	})
	return task, err
}

// read answers a GET about a task from one snapshot.
func read[T any](s *server, ctx context.Context, of OfTask, f func(r *store.Reader, task store.Task) (T, error)) (*answerOf[T], error) {
	out := &answerOf[T]{}
	return out, s.Store.Read(ctx, func(r *store.Reader) error {
		task, err := find(r, caller(ctx), of)
		if err != nil {
			return err
		}
		out.Seq = r.Seq()
		out.Body, err = f(r, task)
		return err
	})
}

type listTasks struct {
	Of string `query:"of" doc:"me (the default), shared, class:NAME, or all that the caller may see."`
}

type declareTask struct {
	OfTask
	Body api.Declare
}

type patchTask struct {
	OfTask
	Body api.PatchTask
}

// routeTasks adds the tasks themselves.
func (s *server) routeTasks() {
	handle(s, http.MethodGet, "/tasks", "list-tasks", "Tasks", s.listTasks)
	handle(s, http.MethodPut, "/tasks/{user}/{name}", "declare-task",
		"Declare a task: 201 where it is new, 200 where it is as before or had no examples, else 409", s.declareTask)
	handle(s, http.MethodGet, "/tasks/{user}/{name}", "get-task", "The whole view of a task",
		func(ctx context.Context, in *OfTask) (*answerOf[api.View], error) {
			task, err := s.find(ctx, *in)
			if err != nil {
				return nil, err
			}
			return s.view(ctx, task.ID)
		})
	handle(s, http.MethodPatch, "/tasks/{user}/{name}", "patch-task", "Stop or resume a task, change its options, or say that its examples are fine as they are", s.patchTask)
	handle(s, http.MethodDelete, "/tasks/{user}/{name}", "drop-task", "Drop a task",
		func(ctx context.Context, in *OfTask) (*nothing, error) {
			task, err := s.find(ctx, *in)
			if err != nil {
				return nil, err
			}
			return &nothing{}, s.Search.Drop(ctx, task)
		})
}

func (s *server) listTasks(ctx context.Context, in *listTasks) (*answerOf[[]api.Task], error) {
	who := caller(ctx)
	out := &answerOf[[]api.Task]{Body: []api.Task{}}
	var tasks []store.Task
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		switch {
		case in.Of == "" || in.Of == "me" || in.Of == "all" && who.Role != account.RoleAdmin:
			tasks, err = r.Tasks(who.ID)
		case in.Of == "all":
			tasks, err = r.AllTasks()
		case in.Of == "shared":
		case strings.HasPrefix(in.Of, "class:"):
			return refuse(http.StatusNotFound, "", "There is no class %s.", strings.TrimPrefix(in.Of, "class:"))
		default:
			return refuse(http.StatusUnprocessableEntity, "Say me, shared, class:NAME or all.", "There are no tasks of %q.", in.Of)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// What is live is asked for first: rows that are newer than it do no harm, the other way round would.
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.ID
	}
	live, err := s.Search.Lives(ctx, ids)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r *store.Reader) error {
		out.Seq = r.Seq()
		for _, task := range tasks {
			rows, err := readRows(r, task.ID)
			if err != nil {
				return err
			}
			if rows.task.State != "dropped" {
				out.Body = append(out.Body, rows.summary(live[task.ID]))
			}
		}
		return nil
	})
	return out, err
}

func (s *server) declareTask(ctx context.Context, in *declareTask) (*answerOf[api.Declared], error) {
	who := caller(ctx)
	if in.User != who.Name {
		return nil, refuse(http.StatusNotFound, "Yours are called "+who.Name+"/NAME.", "You can't declare %s/%s.", in.User, in.Name)
	}
	if !taskName.MatchString(in.Name) {
		return nil, refuse(http.StatusUnprocessableEntity, "A small letter, then small letters, digits and _.",
			"A task can't be called %q.", in.Name)
	}
	if _, err := schema.Parse(in.Body.Program); err != nil {
		return nil, err
	}
	outcome, task, err := s.Search.Declare(ctx, who, in.Name, in.Body.Program, in.Body.Options)
	if err != nil {
		return nil, err
	}
	view, err := s.view(ctx, task.ID)
	if err != nil {
		return nil, err
	}
	out := &answerOf[api.Declared]{Status: http.StatusOK, Seq: view.Seq, Body: api.Declared{Outcome: outcome, View: view.Body}}
	if outcome == search.Created {
		out.Status = http.StatusCreated
	}
	count, err := s.Search.Count(ctx, task.Program)
	if err != nil {
		// The task is declared; how many candidates it would have is only said beside it.
		s.Log.WarnContext(ctx, "candidates could not be counted", "error", err)
	}
	out.Body.Count = api.CatalogCount{Light: count.Light, Deep: count.Deep}
	if count.Missing > 0 {
		out.Body.View.Deep = &api.DeepNote{Missing: count.Missing}
	}
	return out, nil
}

func (s *server) patchTask(ctx context.Context, in *patchTask) (*answerOf[api.View], error) {
	task, err := s.find(ctx, in.OfTask)
	if err != nil {
		return nil, err
	}
	if in.Body.Options != nil {
		if task, err = s.Search.SetOptions(ctx, task, in.Body.Options); err != nil {
			return nil, err
		}
	}
	if in.Body.AsIs {
		if err := s.Search.AsIs(ctx, task, caller(ctx).Name); err != nil {
			return nil, err
		}
	}
	if in.Body.Stopped != nil {
		if task, err = s.Search.SetStopped(ctx, task, *in.Body.Stopped); err != nil {
			return nil, err
		}
	}
	return s.view(ctx, task.ID)
}
