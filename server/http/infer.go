package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

const (
	// stillHere is how often a waiting infer shows that it is there.
	stillHere = 10 * time.Second
	maxLine   = 64 << 20
)

// model is what answers: a trial's kept model.
type model struct {
	folder string
	best   api.Best
}

// infer answers every row of some uploads. It is a read: nothing is changed.
func (s *server) infer(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	lines := &lineWriter{w: w, control: http.NewResponseController(w)}
	if err := s.inferInto(ctx, r, lines); err != nil {
		if !lines.begun {
			s.sendProblem(w, r, err)
			return
		}
		p := s.toProblem(ctx, err)
		if lines.put(api.InferLine{Problem: &p.Problem}) == nil {
			lines.flush()
		}
	}
}

func (s *server) inferInto(ctx context.Context, r *http.Request, lines *lineWriter) error {
	task, err := s.find(ctx, OfTask{User: r.PathValue("user"), Name: r.PathValue("name")})
	if err != nil {
		return err
	}
	var in api.NewInfer
	if err := decodeBody(r, &in); err != nil {
		return err
	}
	if len(in.Uploads) == 0 {
		return refuse(http.StatusUnprocessableEntity, "", "There is nothing to answer: no file was named.")
	}
	request := answer.Request{Using: in.Using, Fed: fedColumns(task.Profile), Options: map[string][]string{}}
	for name, values := range in.Options {
		if name != "trial" {
			request.Options[name] = values
		}
	}
	err = s.Store.Read(ctx, func(reader *store.Reader) error {
		uploads, err := sources(reader, caller(ctx), in.Uploads)
		for _, u := range uploads {
			path, perr := s.Blobs.Path(u.SHA256)
			if err == nil && perr != nil {
				err = perr
			}
			request.Sources = append(request.Sources, answer.Source{Name: u.Name, Path: path})
		}
		if err != nil {
			return err
		}
		return readAsFed(reader, task.ID, request)
	})
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		m, err := s.chooseModel(ctx, task.ID, in, lines)
		if err != nil {
			return err
		}
		request.ModelFolder = m.folder
		result, err := s.answer(ctx, request, lines)
		if err != nil {
			// The search may have dropped this model for a better one in between.
			if _, gone := os.Stat(m.folder); gone != nil && try == 0 {
				continue
			}
			return err
		}
		return s.sendAnswers(result, m, lines)
	}
}

// formOptions say how a kind of file is to be read.
var formOptions = []string{"delimiter", "decimal", "encoding", "header", "sheet", "series"}

// readAsFed adds to a question's options those that the last feed was read by: what it
// called "no value" is none in a question either, and files of the same ending have the
// same form. What the question says itself holds.
func readAsFed(reader *store.Reader, taskID string, request answer.Request) error {
	feeds, err := reader.Feeds(taskID)
	last := store.Feed{}
	for _, f := range feeds {
		if f.State == "ended" && f.Number > last.Number {
			last = f
		}
	}
	if err != nil || last.Number == 0 {
		return err
	}
	var fed search.FeedRequest
	if err := json.Unmarshal(last.Request, &fed); err != nil {
		return err
	}
	endings := map[string]bool{}
	for _, source := range fed.Sources {
		endings[strings.ToLower(path.Ext(source.Name))] = true
	}
	names := []string{"missing"}
	if !slices.ContainsFunc(request.Sources, func(source answer.Source) bool { return !endings[strings.ToLower(path.Ext(source.Name))] }) {
		names = append(names, formOptions...)
	}
	for _, name := range names {
		if values := fed.Options[name]; len(values) > 0 && len(request.Options[name]) == 0 {
			request.Options[name] = values
		}
	}
	return nil
}

// fedColumns are the columns that each field was filled from at the last feed.
func fedColumns(profile json.RawMessage) map[string][]string {
	var p struct {
		Fields []struct {
			Name    string   `json:"name"`
			Columns []string `json:"columns"`
		} `json:"fields"`
	}
	// Without a profile that can be read, columns are found by name and order.
	_ = json.Unmarshal(profile, &p)
	fed := map[string][]string{}
	for _, f := range p.Fields {
		if len(f.Columns) > 0 {
			fed[f.Name] = f.Columns
		}
	}
	return fed
}

// answer has the model answer. While that takes long (a model that has to be
// loaded first) the client gets empty lines.
func (s *server) answer(ctx context.Context, request answer.Request, lines *lineWriter) (answer.Result, error) {
	type outcome struct {
		result answer.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := s.Answer.Answer(ctx, request)
		done <- outcome{result, err}
	}()
	ticker := time.NewTicker(stillHere)
	defer ticker.Stop()
	for {
		select {
		case o := <-done:
			return o.result, o.err
		case <-ticker.C:
			// A client that is gone ends ctx, and with it the question.
			if err := lines.begin(); err == nil {
				lines.blank()
			}
		}
	}
}

// chooseModel is the model that answers, or the one that the option trial asks
// for. Where there is none yet it is waited for if the request says so.
func (s *server) chooseModel(ctx context.Context, taskID string, in api.NewInfer, lines *lineWriter) (model, error) {
	trial := 0
	if texts := in.Options["trial"]; len(texts) > 0 {
		var err error
		if trial, err = strconv.Atoi(texts[0]); err != nil || trial < 1 || len(texts) > 1 {
			return model{}, refuse(http.StatusUnprocessableEntity, "", "The option trial is %s; it must be a trial's number.", strings.Join(texts, ", "))
		}
	}
	ticker := time.NewTicker(stillHere)
	defer ticker.Stop()
	for {
		changed := s.Store.Changed()
		var m model
		var none *problem // why there is no model now
		hopeless := true
		err := s.Store.Read(ctx, func(r *store.Reader) error {
			x, err := readRows(r, taskID)
			if err != nil {
				return err
			}
			if x.task.State == "dropped" {
				return refuse(http.StatusNotFound, "", "There is no task %s/%s.", x.task.User, x.task.Name)
			}
			if trial > 0 {
				m, err = x.modelOf(r, trial)
				return err
			}
			if x.serves && !x.served.Baseline {
				tr, err := r.TrialByID(x.served.TrialID)
				if err == nil {
					m = model{folder: tr.Model, best: *x.best()}
				}
				return err
			}
			none, hopeless, err = x.noModel(r)
			return err
		})
		if err != nil {
			return model{}, err
		}
		if none == nil {
			if m.folder == "" {
				return model{}, refuse(http.StatusConflict, "", "The best model's files are gone; the next one that is as good will answer.")
			}
			return m, nil
		}
		if hopeless || !in.Wait {
			return model{}, none
		}
		if err := lines.begin(); err != nil {
			return model{}, err
		}
		select {
		case <-changed:
		case <-ticker.C:
			if err := lines.blank(); err != nil {
				return model{}, err
			}
		case <-ctx.Done():
			return model{}, ctx.Err()
		}
	}
}

// noModel says why only the guess could answer, and whether waiting is hopeless.
func (x *rows) noModel(r *store.Reader) (none *problem, hopeless bool, err error) {
	name := x.task.Name
	feeds, err := r.Feeds(x.task.ID)
	if err != nil {
		return nil, true, err
	}
	reading := slices.ContainsFunc(feeds, func(f store.Feed) bool { return f.State == "running" })
	guess := ""
	if g := x.profile.Guess; g != nil && g.Text != "" {
		guess = fmt.Sprintf(", only the guess (%s)", g.Text)
	}
	switch {
	case x.task.Version == 0 && reading, x.task.State == "searching":
		return refuse(http.StatusConflict, "It is being searched for: wait for it.", "%s has no real model yet%s.", name, guess), false, nil
	case x.task.Version == 0:
		return refuse(http.StatusConflict, "Feed some first.", "%s has no examples yet, so it has no model.", name), true, nil
	case reading:
		return refuse(http.StatusConflict, "Wait until its feed is read.", "%s has no real model%s.", name, guess), false, nil
	case x.task.Stopped:
		return refuse(http.StatusConflict, "Let it go on: resume "+name, "%s was stopped before it had a real model%s.", name, guess), true, nil
	}
	return refuse(http.StatusConflict, "See what failed: models "+name, "%s has ended without a real model%s.", name, guess), true, nil
}

// modelOf is the kept model of one of the task's trials.
func (x *rows) modelOf(r *store.Reader, number int) (model, error) {
	tr, err := findTrial(r, x.task, number)
	if err != nil {
		return model{}, err
	}
	if tr.Model == "" {
		var kept []int
		for _, other := range x.trials {
			if n, known := x.numbers[other.ID]; known && other.Model != "" {
				kept = append(kept, n)
			}
		}
		slices.Sort(kept)
		hint := "No models are kept yet."
		if len(kept) > 0 {
			hint = "Models are kept of: trial " + strings.Trim(strings.ReplaceAll(fmt.Sprint(kept), " ", ", trial "), "[]") + "."
		}
		return model{}, refuse(http.StatusConflict, hint, "The model of trial %d is not kept.", number)
	}
	of, err := ofSearch(r, x.task, tr.SearchID)
	if err != nil {
		return model{}, err
	}
	of.numbers = x.numbers
	best := of.bestOf(tr, of.of(tr))
	if versions, err := r.Versions(x.task.ID); err != nil {
		return model{}, err
	} else if i := slices.IndexFunc(versions, func(v store.Version) bool { return v.SearchID == tr.SearchID }); i >= 0 {
		best.Version = versions[i].Number
	}
	return model{folder: tr.Model, best: *best}, nil
}

// answerLine is a line of the trainer's answers.
type answerLine struct {
	Source        string         `json:"source"`
	Row           int64          `json:"row"`
	Values        cellsOfRow     `json:"values"`
	Answer        map[string]any `json:"answer"`
	Sure          *float64       `json:"sure"`
	Probabilities map[string]any `json:"probabilities"`
	Refused       *struct {
		Line   *int64 `json:"line"`
		Column string `json:"column"`
		Value  any    `json:"value"`
		Reason string `json:"reason"`
		Remedy string `json:"remedy"`
	} `json:"refused"`
}

// cellsOfRow are a row's own columns in their order: the trainer writes them as
// an object, whose order counts, or as a list of pairs.
type cellsOfRow []api.Cell

// UnmarshalJSON keeps the order that a map would lose.
func (c *cellsOfRow) UnmarshalJSON(text []byte) error {
	var pairs [][2]string
	if json.Unmarshal(text, &pairs) == nil {
		for _, pair := range pairs {
			*c = append(*c, api.Cell{Column: pair[0], Text: pair[1]})
		}
		return nil
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	if start, err := tokens.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("a row's columns are neither an object nor pairs")
	}
	for tokens.More() {
		column, err := tokens.Token()
		if err != nil {
			return err
		}
		var value string
		if err := tokens.Decode(&value); err != nil {
			return err
		}
		*c = append(*c, api.Cell{Column: column.(string), Text: value})
	}
	return nil
}

// view is the line as clients get it.
func (l answerLine) view() *api.Answer {
	v := &api.Answer{Source: l.Source, Row: l.Row, Values: l.Values, Answer: l.Answer, Sure: l.Sure}
	for label, p := range l.Probabilities {
		if f, ok := p.(float64); ok {
			if v.Probabilities == nil {
				v.Probabilities = map[string]float64{}
			}
			v.Probabilities[label] = f
		}
	}
	if x := l.Refused; x != nil {
		v.Refused = &api.Reject{Source: l.Source, Row: l.Row, Line: x.Line, Column: x.Column, Reason: x.Reason, Remedy: x.Remedy}
		switch value := x.Value.(type) {
		case nil:
		case string:
			v.Refused.Value = value
		default:
			v.Refused.Value = fmt.Sprint(value)
		}
	}
	return v
}

// sendAnswers passes the trainer's lines on, and says last which model answered.
func (s *server) sendAnswers(result answer.Result, m model, lines *lineWriter) error {
	defer result.Close()
	file, err := os.Open(result.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := lines.begin(); err != nil {
		return err
	}
	reader := bufio.NewScanner(file)
	reader.Buffer(make([]byte, 0, 64<<10), maxLine)
	for reader.Scan() {
		if len(reader.Bytes()) == 0 {
			continue
		}
		var line answerLine
		if err := json.Unmarshal(reader.Bytes(), &line); err != nil {
			return fmt.Errorf("an answer of the trainer: %w", err)
		}
		if err := lines.put(api.InferLine{Answer: line.view()}); err != nil {
			return err
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	done := &api.Inferred{
		Answers: result.Answers, Refused: result.Refused, Unsure: result.Unsure, Seconds: finite(result.Seconds),
		Columns: result.Columns, Fields: result.Fields, Version: m.best.Version, Best: m.best,
	}
	for _, d := range result.Drift {
		done.Drift = append(done.Drift, api.Drift{Field: d.Field, Message: d.Message})
	}
	if err := lines.put(api.InferLine{Done: done}); err != nil {
		return err
	}
	return lines.flush()
}

// lineWriter writes NDJSON.
type lineWriter struct {
	w       io.Writer
	control *http.ResponseController
	begun   bool
	buffer  *bufio.Writer
	encoder *json.Encoder
}

// begin sends the header; from then on errors are lines.
func (l *lineWriter) begin() error {
	if l.begun {
		return nil
	}
	l.begun = true
	if w, ok := l.w.(http.ResponseWriter); ok {
		w.Header().Set("Content-Type", api.NDJSONType)
		w.WriteHeader(http.StatusOK)
	}
	l.buffer = bufio.NewWriterSize(l.w, 64<<10)
	l.encoder = json.NewEncoder(l.buffer)
	return l.control.Flush()
}

// put writes one line.
func (l *lineWriter) put(line any) error { return l.encoder.Encode(line) }

// blank shows a client, and the proxies on the way, that somebody is here.
func (l *lineWriter) blank() error {
	if err := l.buffer.WriteByte('\n'); err != nil {
		return err
	}
	return l.flush()
}

func (l *lineWriter) flush() error {
	if err := l.buffer.Flush(); err != nil {
		return err
	}
	return l.control.Flush()
}
