package show

import (
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
)

// A program that nothing can be trained for yet says so when it is declared.
func TestCatalogWordsWithoutCandidates(t *testing.T) {
	for template, want := range map[string]string{
		"series_translation": "no candidates yet for series translation: such examples can't be fed",
		"general_recovery":   "no candidates yet for general recovery: such examples can't be fed",
		"table":              "candidates: chosen when there are examples",
	} {
		if got := catalogWords(api.Task{Template: template}, api.CatalogCount{}, nil); !strings.Contains(got, want) {
			t.Errorf("%s: %q", template, got)
		}
	}
}
