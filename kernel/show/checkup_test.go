package show

import (
	"strings"
	"testing"
)

func TestCheckLine(t *testing.T) {
	got := CheckLine(Check{Level: CheckFail, What: "trainer", Text: "gpu4 GTX 1080 Ti: this PyTorch (2.15, CUDA 13.2) has no code for it",
		Do: "Either point to a Python with an older CUDA build, --python PATH, or leave the card out with --devices"})
	want := ` FAIL  gpu4 GTX 1080 Ti: this PyTorch (2.15, CUDA 13.2) has no code for it. Either point to a Python with an
       older CUDA build, --python PATH, or leave the card out with --devices`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(got, "\n") {
		if columns(line) > Width {
			t.Errorf("too wide: %s", line)
		}
	}
	if got := CheckLine(Check{Level: CheckOK, Text: "no private server of yours runs"}); got != " ok    no private server of yours runs" {
		t.Errorf("got %q", got)
	}
}
