package api

// Problem is an error answer (application/problem+json, RFC 9457): Detail is
// one sentence for people, Hint what to do next.
type Problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	Where  *Where `json:"where,omitempty"`
}

// Where names a place in somebody's file or cell.
type Where struct {
	File   string `json:"file,omitempty"`
	Row    *int64 `json:"row,omitempty"`
	Line   *int64 `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
}

// Error makes a Problem an error: the sentence, then the hint.
func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Detail
	}
	return p.Detail + " " + p.Hint
}
