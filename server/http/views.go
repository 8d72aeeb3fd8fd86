package http

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/schema"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// view makes the whole view of a task.
func (s *server) view(ctx context.Context, taskID string) (*answerOf[api.View], error) {
	// What is live is asked for first: a trial that ends in between is in the rows then.
	live, err := s.Search.Live(ctx, taskID)
	if err != nil {
		return nil, err
	}
	out := &answerOf[api.View]{}
	return out, s.Store.Read(ctx, func(r *store.Reader) error {
		x, err := readRows(r, taskID)
		if err != nil {
			return err
		}
		out.Seq = r.Seq()
		out.Body = x.view(live)
		out.Body.Now = s.Now().UTC()
		return nil
	})
}

func (x *rows) view(live search.Live) api.View {
	v := api.View{
		Task:     x.summary(live),
		Rows:     x.leaderboard(live),
		Live:     x.live(live),
		Curve:    x.curve(),
		Warnings: append([]api.Warning{}, x.profile.Warnings...),
	}
	if o := live.Outlook; o != nil {
		v.Outlook = &api.Outlook{
			LikelyFinal: o.LikelyFinal, ExpectedGain: finite(o.ExpectedGain), Chance: finite(o.Chance), Untried: o.Untried,
			SecondsLow: finite(o.SecondsLow), SecondsHigh: finite(o.SecondsHigh),
		}
	}
	if f := live.Feed; f != nil {
		v.Feed = &api.FeedProgress{Feed: f.Feed, Phase: f.Phase, Rows: f.Rows, Of: f.Of}
	}
	return v
}

// summary is the task's row in a list.
func (x *rows) summary(live search.Live) api.Task {
	t := x.task
	v := api.Task{
		User: t.User, Name: t.Name, Program: t.Program, Template: t.Template, Options: map[string]any{},
		State: api.TaskState(t.State), Reason: api.SettledReason(t.Reason), Stopped: t.Stopped, Version: t.Version,
		Examples: x.counts.On, Off: x.counts.Off, Rejected: x.rejected,
		Parts:   api.Parts{Train: x.counts.Train, Validation: x.counts.Validation, Test: x.counts.Test},
		Seconds: x.seconds, Charge: x.charge, Share: finiteOrNil(live.Share), Rho: finiteOrNil(live.Rho),
		Created: t.Created, Changed: t.Changed, SettledAt: t.Settled,
	}
	decode(t.Options, &v.Options)
	if p, err := schema.Parse(t.Program); err == nil {
		v.Description = schema.Describe(p)
	}
	if x.target.Kind == "classes" {
		v.Labels, v.Classes = x.target.Labels, x.labels
	}
	decode(x.search.Protocol, &v.Protocol)
	v.Metric.Name = x.metric()
	if x.profile.Metric.Name == v.Metric.Name {
		v.Metric.Reason = x.profile.Metric.Reason
	}
	if g := x.profile.Guess; g != nil {
		v.Guess = &api.Guess{Text: g.Text, Quality: finite(float64(g.Quality))}
		if g.MAE != nil && !math.IsNaN(float64(*g.MAE)) {
			v.Guess.MAE = new(float64(*g.MAE))
		}
	}
	begun := map[arm]bool{}
	for _, tr := range x.trials {
		begun[arm{tr.Candidate, tr.CandidateVersion}] = true
		switch baseline := x.of(tr).Baseline; {
		case tr.State == "running":
			v.Running++
		case baseline:
		case tr.State == "failed":
			v.Failed++
		case finished(tr):
			v.Tried++
		}
	}
	for _, c := range x.ordered {
		if c.Baseline || c.removed {
			continue
		}
		v.Candidates++
		if live.Arms[c.ID].State == "set_aside" && !begun[arm{c.ID, c.Version}] {
			v.Failed++ // nothing here can run it
		}
	}
	if q := live.Queue; q != nil && v.State == api.TaskSearching {
		v.Queue = queueOf(t, *q)
	}
	v.Best, v.Doubts = x.best(), x.doubts
	return v
}

// queueOf is what a task waits for. Of another user's task that is ahead only what it had is told.
func queueOf(t store.Task, q search.Queue) *api.Queue {
	out := &api.Queue{
		WaitingFor: q.WaitingFor, Position: q.Position, Of: q.Of, EtaLow: finite(q.EtaLow), EtaHigh: finite(q.EtaHigh),
		InTheWay: api.InTheWay(q.InTheWay), Light: q.Light, Waited: finite(q.Waited),
		Thought: [2]float64{finite(q.Thought[0]), finite(q.Thought[1])}, Held: q.Held, Waits: q.Waits,
	}
	if a := q.Ahead; a != nil {
		out.Ahead = &api.Ahead{Had: finite(a.Had), Mine: finite(a.Mine)}
		if a.Task.UserID == t.UserID {
			out.Ahead.Name = a.Task.Name
		}
	}
	return out
}

// metric is the search's, or the one that the declaration asks for.
func (x *rows) metric() string {
	if x.search.Metric != "" {
		return x.search.Metric
	}
	var options struct {
		Metric string `json:"metric"`
	}
	decode(x.task.Options, &options)
	return options.Metric
}

// best is the model that answers, or the guess where only that has been tried.
func (x *rows) best() *api.Best {
	if x.serves {
		b := x.served
		v := &api.Best{
			Trial: x.numbers[b.TrialID], Candidate: b.Candidate, Label: b.Label, Family: b.Family, Version: b.Version, Scored: b.Scored,
			Seconds: finite(b.Seconds), Baseline: b.Baseline, TiedWith: []string{}, Search: x.estimate(b.Search),
		}
		if b.Test != nil {
			v.Test = new(x.estimate(*b.Test))
		}
		for _, tr := range x.trials {
			if tr.ID == b.TrialID {
				v.Sample = sampleOf(tr)
			}
		}
		tied := x.ties()
		for _, tr := range x.ranked() {
			if tied[tr.ID] {
				v.TiedWith = append(v.TiedWith, x.of(tr).Label)
			}
		}
		return v
	}
	for _, tr := range x.trials {
		if c := x.of(tr); c.Baseline && finished(tr) {
			return x.bestOf(tr, c)
		}
	}
	return nil
}

// bestOf words a finished trial as the model that answers.
func (x *rows) bestOf(tr store.Trial, c candidate) *api.Best {
	v := &api.Best{
		Trial: x.numbers[tr.ID], Candidate: c.ID, Label: c.Label, Family: c.Family, Version: x.task.Version, Scored: x.task.Version,
		Seconds: finite(tr.Seconds), Baseline: c.Baseline, TiedWith: []string{},
	}
	v.Sample = sampleOf(tr)
	inSearch, test := search.Measured(tr)
	v.Search = x.estimate(inSearch)
	if test != nil {
		v.Test = new(x.estimate(*test))
	}
	return v
}

func sampleOf(tr store.Trial) *api.Sample {
	s := search.SampleOf(tr)
	if s == nil {
		return nil
	}
	return &api.Sample{Rows: s.Rows, Of: s.Of, MemoryBytes: s.MemoryBytes}
}

func (x *rows) estimate(e search.Estimate) api.Estimate { return estimate(e, x.metric()) }

// estimate adds the count of right answers where the metric is their share.
func estimate(e search.Estimate, metric string) api.Estimate {
	v := api.Estimate{Value: finite(e.Value), Low: finite(e.Low), High: finite(e.High), N: e.N}
	if metric == "accuracy" {
		v.Right = new(int(math.Round(v.Value * float64(v.N))))
	}
	for name, value := range e.Metrics {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			if v.Metrics == nil {
				v.Metrics = map[string]float64{}
			}
			v.Metrics[name] = value
		}
	}
	return v
}

// ranked are the finished trials of real candidates, best first.
func (x *rows) ranked() []store.Trial {
	var list []store.Trial
	for _, tr := range x.trials {
		if finished(tr) && !x.of(tr).Baseline {
			list = append(list, tr)
		}
	}
	slices.SortFunc(list, byQuality)
	return list
}

// ties are the trials that can't be told apart from the model that answers. A
// model of an earlier version was measured on other examples: nothing is tied
// with it.
func (x *rows) ties() map[string]bool {
	if !x.serves {
		return nil
	}
	ranked := x.ranked()
	i := slices.IndexFunc(ranked, func(tr store.Trial) bool { return tr.ID == x.served.TrialID })
	if i < 0 {
		return nil
	}
	return search.Ties(ranked[i], ranked)
}

// Places on the leaderboard, from the top.
const (
	placeTried = iota
	placeBaseline
	placeRunning
	placeOpen
	placeSetAside
	placeFailed
)

// leaderboard lists every candidate: the tried ones best first, then the guess,
// what runs, what is open, what failed.
func (x *rows) leaderboard(live search.Live) []api.Row {
	type placed struct {
		api.Row
		place   int
		ordinal int
		trial   *store.Trial
	}
	latest := map[arm]*store.Trial{}
	for i, tr := range x.trials {
		latest[arm{tr.Candidate, tr.CandidateVersion}] = &x.trials[i]
	}
	tied := x.ties()
	list := []placed{}
	for _, c := range x.ordered {
		tr := latest[arm{c.ID, c.Version}]
		if c.removed && tr == nil {
			continue
		}
		row := placed{ordinal: c.ordinal, trial: tr, place: placeOpen, Row: api.Row{
			Candidate: c.ID, Version: c.Version, Label: c.Label, Family: c.Family, Baseline: c.Baseline,
			State: "open", Settings: c.Settings,
		}}
		posterior, known := live.Arms[c.ID]
		switch {
		case tr == nil && known && posterior.State == "set_aside":
			row.place, row.State, row.Message = placeSetAside, "set_aside", posterior.Why
		case tr == nil:
		default:
			row.State, row.Kind, row.Message = tr.State, tr.Kind, tr.Message
			if n, ok := x.numbers[tr.ID]; ok {
				row.Trial = &n
			}
			switch {
			case finished(*tr):
				inSearch, _ := search.Measured(*tr)
				row.Search, row.Seconds, row.Tied = new(x.estimate(inSearch)), new(finite(tr.Seconds)), tied[tr.ID]
				row.place = placeTried
				if c.Baseline {
					row.place = placeBaseline
				}
			case tr.State == "failed" || tr.State == "ok" || tr.State == "stopped":
				row.Seconds, row.place = new(finite(tr.Seconds)), placeFailed
			default:
				row.place = placeRunning
			}
		}
		if known && row.Search == nil && (row.place == placeOpen || row.place == placeRunning) {
			row.Expected = &api.Expected{
				Mean: finite(posterior.Mean), SD: finite(posterior.SD),
				Seconds: finite(posterior.Seconds), SecondsSD: finite(posterior.SecondsSD),
				Gain: finite(posterior.Gain), Chance: finite(posterior.Chance),
			}
		}
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		if a.place == b.place && a.place == placeTried {
			return byQuality(*a.trial, *b.trial)
		}
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.ordinal, b.ordinal))
	})
	out := make([]api.Row, len(list))
	for i, row := range list {
		out[i] = row.Row
	}
	return out
}

// live are the running trials, those that the rows know to have ended left out.
func (x *rows) live(live search.Live) []api.Live {
	out := []api.Live{}
	for _, run := range live.Running {
		i := slices.IndexFunc(x.trials, func(tr store.Trial) bool { return tr.ID == run.TrialID })
		n, known := x.numbers[run.TrialID]
		if i < 0 || !known || x.trials[i].Ended != nil {
			continue
		}
		out = append(out, api.Live{
			Trial: n, Candidate: run.Candidate, Label: x.of(x.trials[i]).Label, Device: run.Device, Started: run.Started.UTC(),
			Phase: run.Phase, Step: run.Step, Of: run.Of, Unit: run.Unit, Quality: finiteOrNil(run.Quality), Expected: finite(run.Expected),
		})
	}
	return out
}

// curve is every finished trial in the order of their ends, the guess too: the
// line of the best so far begins with it.
func (x *rows) curve() []api.Point {
	ended := slices.DeleteFunc(slices.Clone(x.trials), func(tr store.Trial) bool { return tr.Ended == nil })
	slices.SortStableFunc(ended, func(a, b store.Trial) int {
		return cmp.Or(a.Ended.Compare(*b.Ended), cmp.Compare(x.numbers[a.ID], x.numbers[b.ID]))
	})
	points := []api.Point{}
	used, best := 0.0, math.Inf(-1)
	for _, tr := range ended {
		used += finite(tr.Seconds)
		if !finished(tr) {
			continue
		}
		c := x.of(tr)
		quality := finite(*tr.Quality)
		best = max(best, quality)
		points = append(points, api.Point{
			Time: *tr.Ended, Seconds: used, Trial: x.numbers[tr.ID], Label: c.Label, Candidate: c.ID,
			Quality: quality, Best: best, Baseline: c.Baseline,
		})
	}
	return points
}

// trial makes the view of one trial.
func (x *rows) trial(tr store.Trial, n int, attempts []store.Attempt, metric string) api.Trial {
	c := x.of(tr)
	v := api.Trial{
		Number: n, Candidate: c.ID, Version: c.Version, Label: c.Label, Family: c.Family, Seed: tr.Seed,
		State: tr.State, Kind: tr.Kind, Message: tr.Message, Seconds: finite(tr.Seconds), Charge: finite(tr.Charge),
		Reason: orNull(tr.Reason), Attempts: []api.Attempt{}, Created: tr.Created, Ended: tr.Ended,
	}
	if finished(tr) {
		inSearch, _ := search.Measured(tr)
		v.Search = new(estimate(inSearch, metric))
	}
	var result struct {
		Steps int `json:"steps"`
	}
	decode(tr.Result, &result)
	v.Steps = result.Steps
	for _, a := range attempts {
		v.Attempts = append(v.Attempts, api.Attempt{
			Number: a.Number, Device: a.Device, DeviceClass: a.DeviceClass, Engine: a.Engine, Outcome: a.Outcome, Kind: a.Kind,
			Message: a.Message, Seconds: finite(a.Seconds), Charge: finite(a.Charge), PeakBytes: a.PeakBytes,
			Requeued: a.Requeued, Started: a.Started, Ended: a.Ended,
		})
	}
	return v
}

func finiteOrNil(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// orNull is valid JSON also where there is none.
func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}
