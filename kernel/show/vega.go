package show

import (
	"strings"
	"time"
)

// vega is the chart as a Vega-Lite v5 specification. All data lie inside it, and
// colours are left to the theme of the notebook where they mean nothing.
func (c *chart) vega() map[string]any {
	rows, steps := make([]any, 0, len(c.points)), []any{}
	for i, p := range c.points {
		place := "on the scale"
		drawn := p.Quality
		if !c.inside(p.Quality) {
			place, drawn = "below the scale", c.low
		}
		rows = append(rows, map[string]any{
			"n": i + 1, "trial": p.Trial, "candidate": clean(p.Label), "value": c.shown(p.Quality), "drawn": c.shown(drawn),
			"place": place, "ended": p.Time.Local().Format(time.TimeOnly), "used": seconds(p.Seconds),
		})
		steps = append(steps, map[string]any{"n": i + 1, "best": c.shown(max(p.Best, c.low))})
	}
	if n := len(c.points); n > 0 {
		steps = append(steps, map[string]any{"n": float64(n) + 0.5, "best": c.shown(max(c.points[n-1].Best, c.low))})
	}
	y := map[string]any{
		"type": "quantitative", "title": c.axis,
		"scale": map[string]any{"domain": []any{c.shown(c.low), c.shown(c.high)}, "zero": false, "nice": false},
		"axis":  map[string]any{"values": c.tickValues(), "grid": true},
	}
	x := map[string]any{
		"field": "n", "type": "quantitative", "title": c.across,
		"scale": map[string]any{"domain": []any{0.5, float64(max(len(c.points), 3)) + 0.5}, "nice": false, "zero": false},
		"axis":  map[string]any{"tickMinStep": 1, "format": "d", "grid": false},
	}
	with := func(field string) map[string]any {
		out := map[string]any{"field": field}
		for k, v := range y {
			out[k] = v
		}
		return out
	}
	tooltip := []any{
		map[string]any{"field": "candidate", "type": "nominal"},
		map[string]any{"field": "value", "type": "quantitative", "title": c.axis},
		map[string]any{"field": "trial", "type": "quantitative"},
		map[string]any{"field": "ended", "type": "nominal"},
		map[string]any{"field": "used", "type": "nominal", "title": "device time until then"},
	}
	layers := []any{
		map[string]any{
			"data":     map[string]any{"values": steps},
			"mark":     map[string]any{"type": "line", "interpolate": "step-after", "strokeWidth": 2, "color": "#2f86d1"},
			"encoding": map[string]any{"x": x, "y": with("best")},
		},
		map[string]any{
			"mark": map[string]any{"type": "point", "filled": true, "size": 70, "opacity": 0.9},
			"encoding": map[string]any{
				"x": x, "y": with("drawn"), "tooltip": tooltip,
				"shape": map[string]any{"field": "place", "type": "nominal", "title": nil,
					"scale": map[string]any{"domain": []any{"on the scale", "below the scale"}, "range": []any{"circle", "triangle-down"}}, "legend": nil},
				"color": map[string]any{"value": "#e6842a"},
			},
		},
	}
	if c.guess != nil && c.inside(*c.guess) {
		layers = append(layers, map[string]any{
			"data":     map[string]any{"values": []any{map[string]any{"guess": c.shown(*c.guess)}}},
			"mark":     map[string]any{"type": "rule", "strokeDash": []any{4, 4}, "color": "#888888"},
			"encoding": map[string]any{"y": with("guess")},
		}, map[string]any{
			"data":     map[string]any{"values": []any{map[string]any{"guess": c.shown(*c.guess), "word": "guessing"}}},
			"mark":     map[string]any{"type": "text", "align": "left", "x": 4, "dy": -6, "color": "#888888"},
			"encoding": map[string]any{"y": with("guess"), "text": map[string]any{"field": "word"}},
		})
	}
	if i := c.bestPoint(); c.drawsRange() {
		layers = append(layers, map[string]any{
			"data": map[string]any{"values": []any{map[string]any{"n": i + 1, "low": c.shown(c.best.Search.Low), "high": c.shown(min(c.high, c.best.Search.High))}}},
			"mark": map[string]any{"type": "rule", "strokeWidth": 2, "color": "#2f86d1", "opacity": 0.6},
			"encoding": map[string]any{"x": x, "y": with("low"),
				"y2": map[string]any{"field": "high"}},
		})
	}
	title := map[string]any{"text": c.title, "fontSize": 13, "anchor": "start", "limit": 680, "subtitle": c.notes(), "subtitleFontSize": 11, "subtitlePadding": 4, "offset": 8}
	return map[string]any{
		"$schema":     "https://vega.github.io/schema/vega-lite/v5.json",
		"description": c.title, // what is read out in place of the chart
		"width":       600, "height": 200,
		"title": title,
		"data":  map[string]any{"values": rows},
		"layer": layers,
		"config": map[string]any{
			"background": "transparent", // the notebook's own, light or dark
			"font":       "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif",
			"axis":       map[string]any{"titleFontWeight": "normal", "gridOpacity": 0.5},
		},
		// Sharp at every size, its words can be selected and read out; nothing of it
		// goes to another site.
		"usermeta": map[string]any{"embedOptions": map[string]any{
			"renderer": "svg",
			"actions":  map[string]any{"export": true, "source": false, "compiled": false, "editor": false},
		}},
	}
}

func (c *chart) tickValues() []any {
	out := make([]any, len(c.ticks))
	for i, t := range c.ticks {
		out[i] = c.shown(t)
	}
	return out
}

// bestPoint is the index of the serving model's point, or -1.
func (c *chart) bestPoint() int {
	if !real(c.best) {
		return -1
	}
	for i, p := range c.points {
		if p.Trial == c.best.Trial {
			return i
		}
	}
	return -1
}

// drawsRange tells whether the interval of the best fits on the scale.
func (c *chart) drawsRange() bool {
	return c.bestPoint() >= 0 && c.best.Search.High > c.best.Search.Low && c.inside(c.best.Search.Low)
}

// note is what stands small above the chart.
func (c *chart) note() string { return strings.Join(c.notes(), " · ") }

// notes are the signs of the chart, then what lies below its scale.
func (c *chart) notes() []string {
	if len(c.points) == 0 {
		return []string{"no trial has ended yet"}
	}
	s := "● a trial · ━ best so far"
	if c.drawsRange() {
		s += " · ┃ likely range of the best"
	}
	if c.guess != nil && c.inside(*c.guess) {
		s += " · ╌ guessing"
	}
	notes, under := []string{s}, []string{}
	if n := c.below(); n > 0 {
		under = append(under, "▼ below the scale: "+count(n))
	}
	if g := c.guessWords(); g != "" {
		under = append(under, g+", below the scale too")
	}
	if len(under) > 0 {
		notes = append(notes, strings.Join(under, " · "))
	}
	return notes
}
