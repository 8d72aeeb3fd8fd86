package show

import "strings"

// Join puts outputs under each other; charts can't be joined and are left out.
func Join(outputs ...Output) Output {
	if len(outputs) == 1 {
		return outputs[0]
	}
	var text, html []string
	for _, o := range outputs {
		if o.Vega == nil {
			text, html = append(text, o.Text), append(html, o.HTML)
		}
	}
	return Output{Text: strings.Join(text, "\n"), HTML: strings.Join(html, "")}
}
