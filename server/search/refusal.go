package search

import (
	"fmt"
	"net/http"

	"github.com/easeml/easeml/server/feed"
)

// Refusal is an error that people may see: one sentence, and what to do.
type Refusal struct {
	Status int // HTTP status
	Detail string
	Hint   string
	Where  *Place
}

// Place names a place in somebody's file.
type Place struct {
	File   string `json:"file,omitempty"`
	Row    *int64 `json:"row,omitempty"`
	Line   *int64 `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
}

func (r *Refusal) Error() string {
	if r.Hint == "" {
		return r.Detail
	}
	return r.Detail + " " + r.Hint
}

func refuse(status int, hint, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// fromFeed words a feed that could not be read.
func fromFeed(r *feed.Refusal) *Refusal {
	out := &Refusal{Status: http.StatusUnprocessableEntity, Detail: r.Message, Hint: r.Hint}
	if w := r.Where; w != nil {
		out.Where = &Place{File: w.File, Row: w.Row, Line: w.Line, Column: w.Column, Field: w.Field}
	}
	return out
}
