package show

import (
	"html/template"
	"regexp"
	"strings"
)

// HTML holds the page's words in plain elements: no style blocks, no scripts,
// only elements, attributes and inline styles that an untrusted notebook keeps.
// Cells are aligned twice: a notebook's own styles outdo the attribute, and other
// readers keep no inline styles.
var layout = template.Must(template.New("page").Parse(`<div>
{{- range .Blocks}}
{{- if .Table}}<table>
{{- if .Table.Head}}<thead><tr>{{range .Table.Head}}<th align="{{.Align}}" style="text-align: {{.Align}}">{{.Text}}</th>{{end}}{{if .Table.Bars}}<th></th>{{end}}</tr></thead>{{end -}}
<tbody>{{$bars := .Table.Bars}}
{{- range .Table.Rows}}<tr>{{range .Cells}}<td align="{{.Align}}" style="text-align: {{.Align}}">{{.Text}}</td>{{end}}{{if $bars}}<td>{{with .Bar}}<meter style="width: 8em" min="0" max="1" value="{{.}}"></meter>{{end}}</td>{{end}}</tr>{{end -}}
</tbody></table>
{{- else if .Cross}}<table role="img" style="font-size: 85%"><thead><tr><th align="right">{{.Cross.Corner}}</th>{{range .Cross.Labels}}<th align="right" style="text-align: right">{{.}}</th>{{end}}</tr></thead><tbody>
{{- range .Cross.Rows}}<tr><th align="right" style="text-align: right">{{.Label}}</th>{{range .Cells}}<td align="right" style="text-align: right; background: {{.Color}}">{{with .N}}{{.}}{{end}}</td>{{end}}</tr>{{end -}}
</tbody></table>
{{- else if .Grid}}<div>
{{- range .Grid}}<div style="display: inline-block; margin: 4px; width: 112px; text-align: center; vertical-align: top"><img src="{{.Source}}" alt="example {{.Number}}"><div><b>{{.Label}}</b></div><div>{{.Number}} · {{.Part}}{{with .State}} · {{.}}{{end}}</div></div>{{end -}}
</div>
{{- else if .Shape}}<pre>{{.Shape}}</pre>
{{- else if .First}}<div><b>{{.Line}}</b></div>
{{- else if .Label}}<div style="padding-left: 3em; text-indent: -3em"><span style="display: inline-block; width: 3em; text-indent: 0"><b>{{.Label}}</b></span> {{.Line}}</div>
{{- else if .Indent}}<div style="padding-left: 1.5em">{{.Line}}</div>
{{- else}}<div>{{.Line}}</div>
{{- end}}
{{- end}}
{{- if .Next}}<div align="right">{{.Lead}}: <code>{{.Next}}</code></div>{{end -}}
</div>`))

type htmlCell struct {
	Text  string
	Align string
}

type htmlRow struct {
	Cells []htmlCell
	Bar   string
}

type htmlTable struct {
	Head []htmlCell
	Rows []htmlRow
	Bars bool
}

type htmlBlock struct {
	Line   string
	Label  string
	First  bool
	Indent bool
	Shape  string
	Table  *htmlTable
	Grid   []thumbnail
	Cross  *htmlCross
}

type htmlCross struct {
	Corner string
	Labels []string
	Rows   []htmlCrossRow
}

type htmlCrossRow struct {
	Label string
	Cells []htmlCrossCell
}

type htmlCrossCell struct {
	N     int
	Color template.CSS
}

var measured = regexp.MustCompile(`(\d) (%|(?:s|min|h|d|kB|MB|GB|TB|of)\b)`)

// shortPart is up to how many characters a part of a line between dots is never
// broken.
const shortPart = 26

// bind keeps together on one line what is read together: a figure with its unit, a
// dot with what stands before it, and a short part with a figure in it. A colon may
// stand before a statement, which is to be copied as it is.
func bind(line string) string {
	line = measured.ReplaceAllString(line, "$1\u00a0$2")
	parts := strings.Split(line, " · ")
	if len(parts) == 1 {
		return line
	}
	for i, part := range parts {
		if columns(part) <= shortPart && strings.ContainsAny(part, "0123456789") && !strings.Contains(part, ":") {
			parts[i] = strings.ReplaceAll(part, " ", "\u00a0")
		}
	}
	return strings.Join(parts, "\u00a0· ")
}

// html is the page as HTML, on one line apart from text that keeps its shape.
func (p *page) html() string {
	data := struct {
		Blocks []htmlBlock
		Lead   string
		Next   string
	}{Lead: p.leadWords(), Next: p.next}
	for i, b := range p.blocks {
		h := htmlBlock{Line: bind(b.line), Label: b.label, First: i == 0, Indent: b.indent, Shape: b.shape, Grid: b.grid}
		if b.table != nil {
			h.Table = b.table.html()
		}
		if b.cross != nil {
			h.Cross = b.cross.html()
		}
		data.Blocks = append(data.Blocks, h)
	}
	var out strings.Builder
	if err := layout.Execute(&out, data); err != nil {
		// The template is fixed and a Builder takes everything; text is always right.
		return "<pre>" + template.HTMLEscapeString(p.text()) + "</pre>"
	}
	return out.String()
}

func (t *table) html() *htmlTable {
	align := func(cells []string) []htmlCell {
		var out []htmlCell
		for i, c := range cells {
			side := "left"
			if t.isRight(i) {
				side = "right"
			}
			out = append(out, htmlCell{Text: bind(c), Align: side})
		}
		return out
	}
	h := &htmlTable{Head: align(t.head)}
	for _, r := range t.rows {
		line := htmlRow{Cells: align(r.cells)}
		if r.bar != nil {
			line.Bar = trimNumber(r.bar.value, 4)
			h.Bars = true
		}
		h.Rows = append(h.Rows, line)
	}
	return h
}
