package cells

import (
	"archive/zip"
	"encoding/xml"
	"io"
	"strings"
)

// mostRepeats is how many columns one cell of an OpenDocument sheet may stand for
// and still be a name: what fills up a row says how often it is repeated.
const mostRepeats = 64

// sheetColumns are the texts of the first row of an OpenDocument spreadsheet's
// first sheet (.ods: a zip of XML, ISO/IEC 26300), nil where it has none. At most
// [mostXML] bytes are read.
func sheetColumns(file string) []string {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil
	}
	defer z.Close()
	content, err := z.Open("content.xml")
	if err != nil {
		return nil
	}
	defer content.Close()
	d := xml.NewDecoder(io.LimitReader(content, mostXML))
	for {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "table-row" {
			continue
		}
		var row struct {
			Cells []struct {
				Repeated int      `xml:"number-columns-repeated,attr"`
				Lines    []string `xml:"p"`
			} `xml:"table-cell"`
		}
		if d.DecodeElement(&row, &e) != nil {
			return nil
		}
		var names []string
		for _, c := range row.Cells {
			if text := strings.TrimSpace(strings.Join(c.Lines, " ")); text != "" && c.Repeated < mostRepeats {
				names = append(names, text)
			}
		}
		return names
	}
}
