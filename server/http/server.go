package http

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/account"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

const (
	prefix  = "/api/v1"
	maxBody = 2 << 20 // of a request in JSON; a program is at most 1 MiB
)

// Tasks are the commands that change a task.
type Tasks interface {
	Declare(ctx context.Context, user store.User, name, program string, options map[string]any) (outcome string, task store.Task, err error)
	SetStopped(ctx context.Context, task store.Task, stopped bool) (store.Task, error)
	AsIs(ctx context.Context, task store.Task, by string) error
	SetOptions(ctx context.Context, task store.Task, options map[string]any) (store.Task, error)
	Drop(ctx context.Context, task store.Task) error
}

// Data are the commands that change a task's examples, and one of its trials.
type Data interface {
	Feed(ctx context.Context, task store.Task, r search.FeedRequest) (feed store.Feed, earlier bool, err error)
	Refine(ctx context.Context, task store.Task, r search.Refinement) (version int, err error)
	Propose(ctx context.Context, sources []feed.Source, output []string, options map[string][]string, progress func(search.StudyProgress)) (json.RawMessage, error)
	Study(ctx context.Context, task store.Task, q search.Question, progress func(search.StudyProgress)) (json.RawMessage, error)
	StopTrial(ctx context.Context, task store.Task, trial int) error
}

// Sight is what is known beside the rows of the store.
type Sight interface {
	Live(ctx context.Context, taskID string) (search.Live, error)
	Lives(ctx context.Context, taskIDs []string) (map[string]search.Live, error)
	Pool(ctx context.Context) (devices []search.PoolDevice, waiting int, err error)
	Count(ctx context.Context, program string) (search.Counted, error)
	Transients() *search.Hub
}

// Search is all of the search that this room talks to.
type Search interface {
	Tasks
	Data
	Sight
}

// Answerer answers questions from a model.
type Answerer interface {
	Answer(ctx context.Context, r answer.Request) (answer.Result, error)
	Prepare(modelFolder string) // ahead of a question that will most likely come
}

// Blobs takes uploads in.
type Blobs interface {
	Create(id string) error
	Offset(id string) (int64, error)
	Append(id string, offset int64, r io.Reader, size int64) (newOffset int64, err error)
	Commit(id string) (sha256 string, size int64, err error)
	Remove(id string) error
	Path(sha256 string) (string, error)
	Open(sha256 string) (*os.File, error)
}

var (
	_ Search   = (*search.Service)(nil)
	_ Answerer = (*answer.Service)(nil)
)

// Deps is what the handlers need.
type Deps struct {
	Store    *store.Store
	Blobs    Blobs
	Search   Search
	Answer   Answerer
	Accounts account.Authenticator
	Log      *slog.Logger // nil: none

	Version  string
	Policy   string   // of the allocator
	Features []string // what this server can do beside the rest
	Private  bool     // made by a kernel for one user
	Instance string   // made anew at each start; /healthz says it

	// Origins are pages' origins, such as https://hub.example.org, that may talk
	// to this server beside its own.
	Origins []string
	// Activity is told +1 when an authenticated request or stream begins and -1
	// when it ends; nil: nobody counts.
	Activity func(delta int)
	// Metrics is where this room registers its own and what /metrics shows; nil
	// makes one.
	Metrics *prometheus.Registry
	// Now is the clock of views; nil: time.Now.
	Now func() time.Time
}

// server holds what the handlers share.
type server struct {
	Deps
	mux        *http.ServeMux
	api        huma.API
	document   []byte // the OpenAPI document
	flights    flights
	metrics    metrics
	bodyWithin time.Duration // for a client to send a request in JSON
	// Of streams; tests shorten them.
	pingEvery, deadAfter, settle time.Duration
	batch                        int
}

// New makes the handler. Streams and waiting requests end with the context of
// their request, so a server that shuts down cancels its http.Server's BaseContext.
func New(d Deps) http.Handler { return newServer(d).handler() }

func newServer(d Deps) *server {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Activity == nil {
		d.Activity = func(int) {}
	}
	if d.Metrics == nil {
		d.Metrics = prometheus.NewRegistry()
	}
	s := &server{
		Deps: d, mux: http.NewServeMux(), bodyWithin: 30 * time.Second,
		pingEvery: 20 * time.Second, deadAfter: 60 * time.Second, settle: 100 * time.Millisecond, batch: 500,
	}
	s.metrics = newMetrics(d.Metrics)
	config := huma.DefaultConfig("easeml", d.Version)
	// The document is served by hand: huma makes it at the first request, unguarded.
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil // no $schema in bodies
	config.Transformers = append(config.Transformers, wordValidation)
	config.Info.Description = "Model selection as a service. Every GET answers Easeml-Seq, the event it is current to; " +
		"writes take Idempotency-Key; errors are application/problem+json."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer"},
	}
	config.Security = []map[string][]string{{"token": {}}}
	s.api = humago.New(s.mux, config)

	s.routeServer()
	s.routeTasks()
	s.routeUploads()
	s.routeFeeds()
	s.routeExamples()
	s.routeTrials()
	s.routeBest()
	s.routeStudies()
	s.routePool()
	s.routeStream()

	schemas := s.api.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel") // huma's own, which wordValidation replaces
	delete(schemas, "ErrorDetail")
	var err error
	if s.document, err = json.Marshal(s.api.OpenAPI()); err != nil {
		s.Log.Error("the OpenAPI document can't be made", "error", err)
	}
	return s
}

// answerOf is an answer with the event it is current to.
type answerOf[T any] struct {
	Status int
	Seq    int64 `header:"Easeml-Seq" doc:"The event that the answer is current to; a stream since it misses nothing."`
	Body   T
}

// succeed makes 200 the status of an answer that names none.
func (a *answerOf[T]) succeed() {
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
}

// nothing is an answer without a body.
type nothing struct{}

// handle adds a resource to the API. f returns the answer, or an error of any kind.
func handle[I, O any](s *server, method, path, id, summary string, f func(ctx context.Context, in *I) (*O, error)) {
	status := http.StatusOK
	if reflect.TypeFor[O]() == reflect.TypeFor[nothing]() {
		status = http.StatusNoContent
	}
	op := huma.Operation{
		OperationID: id, Method: method, Path: prefix + path, Summary: summary, DefaultStatus: status,
		MaxBodyBytes: maxBody, Responses: s.problems(),
		// The gate has read the body within its time. A deadline of huma's would outlast
		// the reading, and end the context of every handler that takes longer.
		BodyReadTimeout: -1,
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, s.toProblem(ctx, err)
		}
		if x, ok := any(out).(interface{ succeed() }); ok {
			x.succeed()
		}
		return out, nil
	})
}

// plain adds a handler on net/http, and its operation to the document.
func (s *server) plain(op huma.Operation, f http.HandlerFunc) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for status, response := range s.problems() {
		op.Responses[status] = response
	}
	s.api.OpenAPI().AddOperation(&op)
	s.mux.HandleFunc(op.Method+" "+op.Path, f)
}

// lines is plain for a request of JSON that is answered by a stream of lines.
func (s *server) lines(op huma.Operation, body, line reflect.Type, answer string, f http.HandlerFunc) {
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: s.schemaOf(body)}}}
	op.Responses = map[string]*huma.Response{"200": {
		Description: answer,
		Content:     map[string]*huma.MediaType{api.NDJSONType: {Schema: s.schemaOf(line)}},
	}}
	s.plain(op, f)
}

// ofTask are the parameters of a path that names a task.
func ofTask() []*huma.Param {
	parameter := func(name, about string) *huma.Param {
		return &huma.Param{Name: name, In: "path", Required: true, Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return []*huma.Param{parameter("user", "The owner's name."), parameter("name", "The task's name.")}
}

// problems is the answer of every operation that fails.
func (s *server) problems() map[string]*huma.Response {
	return map[string]*huma.Response{"default": {
		Description: "What is wrong, in a sentence, and what to do.",
		Content:     map[string]*huma.MediaType{api.ProblemType: {Schema: s.schemaOf(reflect.TypeFor[api.Problem]())}},
	}}
}

func (s *server) schemaOf(t reflect.Type) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}
