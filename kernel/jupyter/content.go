package jupyter

type pagePayload struct {
	Source string         `json:"source"`
	Data   map[string]any `json:"data"`
	Start  int            `json:"start"`
}

type nextInputPayload struct {
	Source  string `json:"source"`
	Text    string `json:"text"`
	Replace bool   `json:"replace"`
}

// nonNil keeps null out of the JSON: frontends expect an object.
func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
