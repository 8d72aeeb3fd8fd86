package trial

import "encoding/json"

// Request asks a resident predictor for answers to the rows of some files; they are written to Out.
type Request struct {
	Sources []Source                   `json:"sources"`
	Using   map[string]json.RawMessage `json:"using"`
	Fed     map[string][]string        `json:"fed,omitempty"` // the columns that each field was learned from
	Options map[string]json.RawMessage `json:"options"`
	Out     string                     `json:"out"`
}

// MarshalJSON writes the lists and objects that the trainer expects in place of null.
func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	p := plain(r)
	if p.Sources == nil {
		p.Sources = []Source{}
	}
	if p.Using == nil {
		p.Using = map[string]json.RawMessage{}
	}
	if p.Options == nil {
		p.Options = map[string]json.RawMessage{}
	}
	return json.Marshal(p)
}

// Done is what became of a Request.
type Done struct {
	Answers int64   `json:"answers"`
	Refused int64   `json:"refused"` // rows that an ingest would refuse too
	Unsure  int64   `json:"unsure"`
	Drift   []Drift `json:"drift"` // what lies otherwise than in what the model learned from, the farthest first
	Seconds float64 `json:"seconds"`
	// Columns and Fields are the kinds of the rows' own columns and of the answers, where they are known.
	Columns map[string]string `json:"columns"`
	Fields  map[string]string `json:"fields"`
}

// Drift is one thing that lies otherwise, as a clause for people.
type Drift struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Refusal is the error of a Request or Rescore that the predictor turned down as a whole.
type Refusal struct {
	Message string `json:"message"` // one sentence
	Where   *Where `json:"where"`
	Hint    string `json:"hint"` // what to do
}

// Error is the message.
func (r *Refusal) Error() string {
	return orElse(r.Message, "The predictor refused and gave no reason.")
}

// Rescore asks a resident predictor how good its model is on another version of the data.
type Rescore struct {
	Data   Data   `json:"data"`
	Metric string `json:"metric,omitempty"` // empty: the one that the model was trained for
}

// Scored answers a Rescore; nil where there is no such part.
type Scored struct {
	Validation *Score `json:"validation"`
	Test       *Score `json:"test"`
}

// Question is one line to a resident predictor: a Request's fields beside the id, or a Rescore.
type Question struct {
	ID      int64
	Request *Request
	Rescore *Rescore
}

// MarshalJSON writes {"id":1,"sources":…} or {"id":1,"rescore":…}.
func (q Question) MarshalJSON() ([]byte, error) {
	if q.Rescore != nil {
		return json.Marshal(struct {
			ID      int64    `json:"id"`
			Rescore *Rescore `json:"rescore"`
		}{q.ID, q.Rescore})
	}
	body, err := json.Marshal(q.Request)
	if err != nil {
		return nil, err
	}
	line := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &line); err != nil {
		return nil, err
	}
	if line["id"], err = json.Marshal(q.ID); err != nil {
		return nil, err
	}
	return json.Marshal(line)
}

// Reply is one line from a resident predictor.
type Reply struct {
	ID     int64           `json:"id"`
	Ready  json.RawMessage `json:"ready"` // the first line
	Done   *Done           `json:"done"`
	Scored *Scored         `json:"scored"`
	Failed *Refusal        `json:"failed"`
}
