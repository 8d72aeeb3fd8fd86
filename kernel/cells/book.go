package cells

import (
	"archive/zip"
	"encoding/xml"
	"io"
	"path"
	"strconv"
	"strings"
)

const (
	// mostShared bounds how many of a workbook's texts are read to find those of its
	// first row, which are among the first as a rule.
	mostShared = 20_000
	// mostXML bounds the bytes that are read of each file in it.
	mostXML = 8 << 20
)

// bookColumns are the texts of the first row of a workbook's first sheet (.xlsx:
// a zip of XML, ECMA-376), nil where it has none.
func bookColumns(file string) []string {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil
	}
	defer z.Close()
	open := func(name string) io.ReadCloser {
		f, err := z.Open(name)
		if err != nil {
			return nil
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(f, mostXML), f}
	}
	sheet := open("xl/" + firstSheet(open))
	if sheet == nil {
		return nil
	}
	defer sheet.Close()
	cells := firstRow(xml.NewDecoder(sheet))
	if len(cells) == 0 {
		return nil
	}
	var shared []string
	if texts := open("xl/sharedStrings.xml"); texts != nil {
		defer texts.Close()
		shared = sharedTexts(xml.NewDecoder(texts), cells)
	}
	var names []string
	for _, c := range cells {
		text := c.Inline + c.Value
		if c.Type == "s" {
			i, err := strconv.Atoi(c.Value)
			if err != nil || i < 0 || i >= len(shared) {
				continue
			}
			text = shared[i]
		}
		if text = strings.TrimSpace(text); text != "" {
			names = append(names, text)
		}
	}
	return names
}

// bookCell is one cell of a row: a number of a shared text (type s), a text of its
// own, or a value.
type bookCell struct {
	Type   string `xml:"t,attr"`
	Value  string `xml:"v"`
	Inline string `xml:"is>t"`
}

// firstSheet is the file of the sheet that a workbook names first, within xl.
func firstSheet(open func(string) io.ReadCloser) string {
	const usual = "worksheets/sheet1.xml"
	var book struct {
		Sheets []struct {
			ID string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	for name, into := range map[string]any{"xl/workbook.xml": &book, "xl/_rels/workbook.xml.rels": &links} {
		f := open(name)
		if f == nil {
			return usual
		}
		err := xml.NewDecoder(f).Decode(into)
		f.Close()
		if err != nil {
			return usual
		}
	}
	for _, l := range links.All {
		if len(book.Sheets) > 0 && l.ID == book.Sheets[0].ID {
			return path.Clean(strings.TrimPrefix(l.Target, "/xl/"))
		}
	}
	return usual
}

// firstRow reads a sheet up to the end of its first row.
func firstRow(d *xml.Decoder) []bookCell {
	for {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "row" {
			var row struct {
				Cells []bookCell `xml:"c"`
			}
			if d.DecodeElement(&row, &e) != nil {
				return nil
			}
			return row.Cells
		}
	}
}

// sharedTexts reads as many of a workbook's texts as the cells need.
func sharedTexts(d *xml.Decoder, cells []bookCell) (texts []string) {
	need := 0
	for _, c := range cells {
		if i, err := strconv.Atoi(c.Value); c.Type == "s" && err == nil {
			need = max(need, i+1)
		}
	}
	for need = min(need, mostShared); len(texts) < need; {
		t, err := d.Token()
		if err != nil {
			return texts
		}
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "si" {
			var item struct {
				Text string   `xml:"t"`
				Runs []string `xml:"r>t"` // of a text in several styles
			}
			if d.DecodeElement(&item, &e) != nil {
				return texts
			}
			texts = append(texts, item.Text+strings.Join(item.Runs, ""))
		}
	}
	return texts
}
