package cells

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/lang"
)

// packedBy are the names in the tars, or the names of files, that a source stands for.
func packedBy(t *testing.T, w *world, text string) (string, error) {
	t.Helper()
	c := &cell{Cells: w.cells()}
	list, err := c.sources(t.Context(), []lang.Source{{Kind: lang.SourceFile, Text: text}})
	if err != nil {
		return "", err
	}
	var out []string
	for _, s := range list {
		if s.tar == nil {
			out = append(out, s.name)
			continue
		}
		defer s.tar.Close()
		b, err := io.ReadAll(io.NewSectionReader(s.tar, 0, s.size))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for r := tar.NewReader(bytes.NewReader(b)); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			names = append(names, h.Name)
		}
		one := s.name + "{" + strings.Join(names, " ") + "}"
		if len(s.notes) > 0 {
			one += " " + strings.Join(s.notes, "; ")
		}
		out = append(out, one)
	}
	return strings.Join(out, ", "), nil
}

func TestFoldersAndPatterns(t *testing.T) {
	w := newWorld(t)
	for name, content := range map[string]string{
		"pets/cat/1.png": "1", "pets/cat/2.JPG": "2", "pets/dog/3.jpeg": "3", "pets/.git/4.png": "4", "pets/dog/.5.png": "5", "pets/dog/notes.txt": "6",
		"listed/labels.csv": "file,pet\nimg\\1.png,cat\n", "listed/img/1.png": "1", "listed/other.csv": "a\n1\n",
		"plain/a.csv": "a,kind\n1,x\n", "plain/b.csv": "a,kind\n1,x\n", "flat/1.png": "1", "raw/1.dcm": "1", "raw/2.dcm": "2", "arrays/x.npz": "1",
	} {
		w.file(name, content)
	}
	card := func(cards ...string) string {
		var b strings.Builder
		for _, c := range cards {
			fmt.Fprintf(&b, "%-80s", c)
		}
		return b.String() + strings.Repeat(" ", 2880-80*len(cards))
	}
	image := card("SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    2", "END")
	bare := card("SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0", "END")
	for name, content := range map[string]string{
		"sky/star/1.fits": image, "sky/star/2.fits": bare + card("XTENSION= 'IMAGE   '", "END"), "sky/star/catalogue.fits": bare + card("XTENSION= 'BINTABLE'", "END"),
		"sky/dust/3.fits": bare + card("XTENSION= 'BINTABLE'", "ZIMAGE  =                    T", "END"), "deep/cat/1.tif": "1", "deep/cat/2.npy": "2", "deep/cat/3.HEIC": "3",
	} {
		w.file(name, content)
	}
	var book bytes.Buffer
	z := zip.NewWriter(&book)
	f, err := z.Create("xl/sharedStrings.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, `<sst><si><t>file</t></si><si><t xml:space="preserve">img/1.png</t></si></sst>`); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w.file("booked/labels.xlsx", book.String())
	w.file("booked/img/1.png", "1")
	w.file("booked/~$labels.xlsx", "1")
	if err := os.Symlink(filepath.Join(w.folder, "pets"), filepath.Join(w.folder, "linked")); err != nil {
		t.Fatal(err)
	}
	note := "pets/: 1 file that is no picture was not sent (dog/notes.txt)"
	for text, want := range map[string]string{
		"pets/": "pets/{cat/1.png cat/2.JPG dog/3.jpeg} " + note,
		"pets":  "pets/{cat/1.png cat/2.JPG dog/3.jpeg} " + note,
		"linked": "linked/{cat/1.png cat/2.JPG dog/3.jpeg} " +
			"linked/: 1 file that is no picture was not sent (dog/notes.txt)",
		"pets/*/*.*p*g":           "pets/*/*.*p*g{pets/cat/1.png pets/dog/3.jpeg}",
		"pets/cat/*.png":          "pets/cat/*.png{pets/cat/1.png}",
		"sky/":                    "sky/{dust/3.fits star/1.fits star/2.fits} sky/: 1 file that is no picture was not sent (star/catalogue.fits)",
		"sky/star/1.fits":         "sky/star/1.fits{sky/star/1.fits}",
		"sky/star/catalogue.fits": "sky/star/catalogue.fits",
		"deep/":                   "deep/{cat/1.tif cat/2.npy} deep/: 1 picture is of a kind that can't be read, and not sent (cat/3.HEIC); save it as PNG or TIFF",
		"deep/cat/2.npy":          "deep/cat/2.npy",
		"booked/labels.xlsx":      "booked/labels.xlsx{img/1.png labels.xlsx}",
		"booked/":                 "booked/{img/1.png labels.xlsx}",
		"pets/*":                  "pets/*{pets/cat/1.png pets/cat/2.JPG pets/dog/3.jpeg} pets/*: 1 file that is no picture was not sent (pets/dog/notes.txt)",
		"flat/1.png":              "flat/1.png{flat/1.png}",
		"listed/":                 "listed/{img/1.png labels.csv other.csv}",
		"listed/labels.csv":       "listed/labels.csv{img/1.png labels.csv}",
		"listed/other.csv":        "listed/other.csv",
		"plain/*.csv":             "plain/a.csv, plain/b.csv",
		"plain/a.csv":             "plain/a.csv",
	} {
		got, err := packedBy(t, w, text)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	absolute, err := packedBy(t, w, filepath.Join(w.folder, "pets/cat/*.png"))
	if err != nil || !strings.HasSuffix(absolute, "{cat/1.png}") {
		t.Errorf("an absolute pattern: %s, %v", absolute, err)
	}
	for text, want := range map[string]string{
		"raw/":    "raw/ holds no pictures that can be read; it has 2 .dcm files. Save them as PNG or TIFF.",
		"plain":   `plain/ holds no pictures. Name its files, or a pattern such as "plain/*.csv".`,
		"arrays/": `arrays/ holds no pictures. Name its files, or a pattern such as "arrays/*.npz".`,
	} {
		if _, err := packedBy(t, w, text); err == nil || !strings.Contains(err.Error(), strings.SplitN(want, ". ", 2)[0]) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFeedAFolder(t *testing.T) {
	w := newWorld(t)
	c := w.cells()
	w.file("pets/cat/1.png", "1")
	w.file("pets/dog/2.png", "2")
	run(t, c, `schema pets {input: {[image :: Tensor[8, 8, 1]], []}, output: {[pet :: Class[2]], []}}`)
	w.onFeed = func(f api.NewFeed) api.Feed {
		return api.Feed{Number: 1, State: "ended", Accepted: 1, Rejected: 3, Version: 1, Rejects: []api.Reject{
			{Source: "pets/dog/2.png", Row: 2, Reason: "breaks off before its end", Remedy: "download or save it again"},
			{Source: "pets/cow/", Row: 3, Reason: `pet "cow", but there are "cat", "dog"`}, {Source: "pets/cow/", Row: 4, Reason: `pet "cow", but there are "cat", "dog"`}}}
	}
	r := run(t, c, `feed pets "pets"`)
	contains(t, r.text(), "1 example taken, 3 rejected", "rejected: pets/dog/2.png breaks off before its end (download or save it again)",
		`rejected: pets/cow/: pet "cow", but there are "cat", "dog"`)
	if w.names["1"] != "pets/" && !strings.Contains(strings.Join(values(w.names), " "), "pets/") {
		t.Errorf("uploads %v", w.names)
	}
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
