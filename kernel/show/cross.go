package show

import (
	"fmt"
	"html/template"
)

// cross is a square table of counts with labels at both sides, such as which
// class was read as which; what is off the diagonal is shaded by how much it is.
type cross struct {
	corner string
	labels []string
	rows   [][]crossCell
}

// crossCell is one count. Strength is from 0 to 1.
type crossCell struct {
	N        int
	Strength float64
	Right    bool
}

func (x *cross) html() *htmlCross {
	h := &htmlCross{Corner: x.corner, Labels: x.labels}
	for i, cells := range x.rows {
		row := htmlCrossRow{Label: x.labels[i]}
		for _, c := range cells {
			// Half transparent: readable on light and dark pages alike.
			color := fmt.Sprintf("rgba(214, 90, 40, %.2f)", 0.7*c.Strength)
			if c.Right {
				color = "rgba(60, 130, 200, 0.20)"
			}
			row.Cells = append(row.Cells, htmlCrossCell{N: c.N, Color: template.CSS(color)})
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}
