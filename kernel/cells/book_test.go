package cells

import (
	"archive/zip"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	workbook = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<sheets><sheet name="data" sheetId="2" r:id="rId7"/><sheet name="old" sheetId="1" r:id="rId1"/></sheets></workbook>`
	relations = `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId7" Target="/xl/worksheets/sheet2.xml"/></Relationships>`
	texts     = `<sst><si><t>other</t></si><si><t>Sepal Length</t></si><si><r><t>spe</t></r><r><t>cies</t></r></si></sst>`
	row       = `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1"/><c r="C1" t="s"><v>2</v></c>` +
		`<c r="D1" t="inlineStr"><is><t>note</t></is></c><c r="E1"><v>2024</v></c></row><row r="2"><c t="s"><v>0</v></c></row></sheetData></worksheet>`
)

func writeBook(t *testing.T, parts map[string]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.XLSX")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	defer z.Close()
	for name, text := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestBookColumns(t *testing.T) {
	all := map[string]string{"xl/workbook.xml": workbook, "xl/_rels/workbook.xml.rels": relations, "xl/sharedStrings.xml": texts,
		"xl/worksheets/sheet1.xml": "<worksheet/>", "xl/worksheets/sheet2.xml": row}
	for _, x := range []struct {
		name   string
		change map[string]string
		want   string
	}{
		{"the first sheet", nil, "Sepal Length|species|note|2024"},
		{"no workbook", map[string]string{"xl/workbook.xml": "", "xl/worksheets/sheet1.xml": row}, "Sepal Length|species|note|2024"},
		{"no texts", map[string]string{"xl/sharedStrings.xml": ""}, "note|2024"},
		{"an empty sheet", map[string]string{"xl/worksheets/sheet2.xml": "<worksheet><sheetData/></worksheet>"}, ""},
		{"a broken sheet", map[string]string{"xl/worksheets/sheet2.xml": "<worksheet><row><c"}, ""},
		{"a text that isn't there", map[string]string{"xl/sharedStrings.xml": "<sst/>"}, "note|2024"},
	} {
		parts := map[string]string{}
		for name, text := range all {
			parts[name] = text
		}
		for name, text := range x.change {
			if parts[name] = text; text == "" {
				delete(parts, name)
			}
		}
		if got := strings.Join(readColumns(writeBook(t, parts)), "|"); got != x.want {
			t.Errorf("%s: %s, not %s", x.name, got, x.want)
		}
	}
}

func FuzzBookColumns(f *testing.F) {
	f.Add(row, texts)
	f.Add(`<row><c t="s"><v>-1</v></c><c t="s"><v>99999999999</v></c></row>`, `<si>`)
	f.Fuzz(func(t *testing.T, sheet, shared string) {
		cells := firstRow(xml.NewDecoder(strings.NewReader(sheet)))
		if n := len(sharedTexts(xml.NewDecoder(strings.NewReader(shared)), cells)); n > mostShared {
			t.Errorf("%d texts", n)
		}
	})
}

func TestSheetColumns(t *testing.T) {
	const office = `<d:document xmlns:d="d" xmlns:table="t" xmlns:text="x"><table:table><table:table-column/>`
	const first = `<table:table-row><table:table-cell><text:p>Sepal Length</text:p></table:table-cell><table:table-cell/>` +
		`<table:table-cell><text:p>spe<text:s/></text:p><text:p>cies</text:p></table:table-cell>` +
		`<table:table-cell table:number-columns-repeated="16000"/></table:table-row>`
	for name, x := range map[string]struct{ content, want string }{
		"a row":   {office + first + `<table:table-row><table:table-cell><text:p>5.1</text:p></table:table-cell></table:table-row></table:table></d:document>`, "Sepal Length|spe cies"},
		"cut":     {office + first, "Sepal Length|spe cies"},
		"cut row": {office + first[:60], ""},
		"no row":  {office, ""},
	} {
		file := writeBook(t, map[string]string{"content.xml": x.content})
		ods := strings.TrimSuffix(file, filepath.Ext(file)) + ".ods"
		if err := os.Rename(file, ods); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(readColumns(ods), "|"); got != x.want {
			t.Errorf("%s: %q, not %q", name, got, x.want)
		}
	}
}
