package cells

import (
	"reflect"
	"testing"

	"github.com/easeml/easeml/api"
)

// A person's columns keep their names, and no two columns of a file have the same, also
// where the file is one that was answered before.
func TestHeadOfAnswers(t *testing.T) {
	for _, c := range []struct {
		f    answerFile
		want []string
	}{
		{answerFile{columns: []string{"size"}, fields: []string{"kind"}}, []string{"size", "kind", "check"}},
		{answerFile{columns: []string{"kind", "kind (answer)", "sure", "check"}, fields: []string{"kind"}, sure: true},
			[]string{"kind", "kind (answer)", "sure", "check", "kind (answer 2)", "sure (answer)", "check (answer)"}},
		{answerFile{many: true, array: true, columns: []string{"file", "file (fed)", "row"}, fields: []string{"y"}},
			[]string{"file (fed 2)", "row (fed)", "file", "file (fed)", "row", "y", "check"}},
		{answerFile{fields: []string{"check", "sure"}, sure: true, shares: true, labels: []string{"a"}},
			[]string{"check", "sure", "sure (answer)", "p(a)", "check (answer)"}},
	} {
		head := c.f.head()
		if !reflect.DeepEqual(head, c.want) {
			t.Errorf("%q, not %q", head, c.want)
		}
		if kind := c.f.kinds(head, api.Inferred{})(head[len(head)-1]); kind != api.ColumnText {
			t.Errorf("what is to be checked is of kind %q", kind)
		}
	}
}
