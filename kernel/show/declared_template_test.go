package show

import (
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
)

// A program that nothing can be trained for yet says so when it is declared.
func TestCatalogWordsWithoutCandidates(t *testing.T) {
	for template, want := range map[string]string{
		"general_recovery": "no candidates for such an output: what can be learned is a label, numbers, a picture of a picture, a series of a series",
		"table":            "candidates: chosen when there are examples",
	} {
		if got := catalogWords(api.Task{Template: template}, api.CatalogCount{}, nil); !strings.Contains(got, want) {
			t.Errorf("%s: %q", template, got)
		}
	}
}
