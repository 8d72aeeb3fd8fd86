package install

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"testing"
)

func TestLogo(t *testing.T) {
	d := xml.NewDecoder(bytes.NewReader([]byte(logo.svg())))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{32, 64} {
		b, err := logo.png(size)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil || m.Bounds().Dx() != size || m.Bounds().Dy() != size {
			t.Fatalf("%v, %v", m.Bounds(), err)
		}
		if _, _, _, a := m.At(0, 0).RGBA(); a != 0 {
			t.Error("the corner is not transparent")
		}
		// The best so far is seen, in either size.
		if r, g, _, _ := m.At(39*size/units, 19*size/units).RGBA(); r>>8 < 0xF0 || g>>8 < 0xA0 {
			t.Errorf("no dot where it should be: %x %x", r>>8, g>>8)
		}
	}
}
