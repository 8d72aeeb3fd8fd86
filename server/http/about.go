package http

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/store"
)

// routeServer adds what is about the server itself.
func (s *server) routeServer() {
	open := []map[string][]string{{}} // no token
	healthy := &huma.Response{Description: "It answers.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: s.schemaOf(reflect.TypeFor[api.Health]())},
	}}
	s.plain(huma.Operation{OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Security: open,
		Summary: "Does this process answer?", Responses: map[string]*huma.Response{"200": healthy},
	}, func(w http.ResponseWriter, r *http.Request) { s.sayHealth(w) })
	s.plain(huma.Operation{OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Security: open,
		Summary: "Can it read its state?", Responses: map[string]*huma.Response{"200": healthy},
	}, func(w http.ResponseWriter, r *http.Request) {
		if err := s.Store.Read(r.Context(), func(reader *store.Reader) error { _, err := reader.LastSeq(); return err }); err != nil {
			s.Log.Error("the state can't be read", "error", err)
			s.sendProblem(w, r, refuse(http.StatusServiceUnavailable, "", "The server can't read its state."))
			return
		}
		s.sayHealth(w)
	})
	s.plain(huma.Operation{OperationID: "metrics", Method: http.MethodGet, Path: "/metrics", Security: open,
		Summary:   "Figures for Prometheus",
		Responses: map[string]*huma.Response{"200": {Description: "In Prometheus's text format."}},
	}, promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{Registry: s.Metrics}).ServeHTTP)
	s.plain(huma.Operation{OperationID: "openapi", Method: http.MethodGet, Path: prefix + "/openapi.json", Security: open,
		Summary:   "This document",
		Responses: map[string]*huma.Response{"200": {Description: "OpenAPI 3.1."}},
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		w.Write(s.document)
	})

	handle(s, http.MethodGet, "/me", "me", "Who the token belongs to",
		func(ctx context.Context, _ *struct{}) (*answerOf[api.Me], error) {
			user := caller(ctx)
			out := &answerOf[api.Me]{Body: api.Me{User: user.Name, Role: user.Role}}
			return out, s.Store.Read(ctx, func(r *store.Reader) error { out.Seq = r.Seq(); return nil })
		})
	handle(s, http.MethodGet, "/server", "server", "What this server is and can do",
		func(ctx context.Context, _ *struct{}) (*answerOf[api.Server], error) {
			out := &answerOf[api.Server]{Body: api.Server{
				Version: s.Version, Private: s.Private, Policy: s.Policy, Features: append([]string{}, s.Features...),
			}}
			return out, s.Store.Read(ctx, func(r *store.Reader) error { out.Seq = r.Seq(); return nil })
		})
}

func (s *server) sayHealth(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(api.Health{Service: "easeml", Status: "ok", Instance: s.Instance})
}
