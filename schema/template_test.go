package schema

import "testing"

// Each row of the table, tried by programs of its kind.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		text     string
		template Template
		kind     string
		describe string
		brief    string
	}{
		{"{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}", ImageClassification, "image",
			"pictures of 256×256, 3 channels → 3 numbers, or one of 3 classes (the first feed decides)", "pictures → 3 numbers or classes"},
		{"{input: {[image :: Tensor[8,8,1]], []}, output: {[digit :: Class[10]], []}}", ImageClassification, "image",
			"pictures of 8×8, 1 channel → one of 10 classes", "pictures → 10 classes"},
		{"{input: {[Tensor[8,8]], []}, output: {[Tensor[1]], []}}", ImageClassification, "image",
			"pictures of 8×8, 1 channel → a number", "pictures → a number"},
		{"{input: {[Tensor[64,64,3]], []}, output: {[Tensor[64,64,1]], []}}", ImageRecovery, "recovery",
			"pictures of 64×64, 3 channels → pictures of 64×64, 1 channel", "pictures → pictures"},
		{"{input: {[Tensor[10]], [next]}, output: {[Class[\"a\",\"b\",\"c\"]], []}}", SeriesClassification, "series",
			"series, 10 numbers a step → one of 3 classes: a, b, c", "series → 3 classes"},
		{"{input: {[Tensor[10]], [next]}, output: {[Tensor[5]], [next]}}", SeriesTranslation, "translation",
			"series, 10 numbers a step → series, 5 numbers a step, or one of 5 classes (the first feed decides)", "series → series"},
		{"{input: {[word :: Class[900]], [next]}, output: {[tag :: Class[\"D\", \"N\", \"V\"]], [next]}}", SeriesTranslation, "translation",
			"series, one of 900 classes a step → series, one of 3 classes: D, N, V a step", "series → series"},
		{"{input: {[Tensor[1]], [next]}, output: {[clean :: Tensor[1]], [after]}}", SeriesTranslation, "translation",
			"series, 1 number a step → series, 1 number a step", "series → series"},
		{"{input: {[word :: Class[900]], [next]}, output: {[Class[2]], []}}", SeriesClassification, "series",
			"series, one of 900 classes a step → one of 2 classes", "series → 2 classes"},
		{"{input: {[Tensor[2]], [left, right]}, output: {[Tensor[2]], [next]}}", GeneralRecovery, "general",
			"trees, 2 numbers a node → series, 2 numbers a step, or one of 2 classes (the first feed decides)", "trees → series"},
		{"{input: {[Tensor[2]], [left, right]}, output: {[Class[2]], []}}", TreeClassification, "tree",
			"trees, 2 numbers a node → one of 2 classes", "trees → 2 classes"},
		{"{input: {[island :: Class[3], mass :: Tensor[1]], []}, output: {[y :: Class[\"no\", \"yes\"]], []}}", Table, "table",
			"rows of 1 number and 1 category → one of 2 classes: no, yes", "table → yes/no"},
		{"{input: {[Tensor[4]], []}, output: {[Tensor[1]], []}}", Table, "table", "rows of 4 numbers → a number", "table → a number"},
		{"{input: {[a :: Tensor[2000]], []}, output: {[x :: Tensor[1], y :: Class[2]], []}}", Table, "table",
			"rows of 2,000 numbers → 1 number and 1 category", "table → 1 number, 1 category"},
		{"{input: {[scan :: Tensor[64,64,3], age :: Tensor[1]], []}, output: {[ill :: Class[2]], []}}", Fusion, "general",
			"1 picture and 1 number → one of 2 classes", "1 picture, 1 number → 2 classes"},
		{"{input: {[Tensor[4,4,4,4]], []}, output: {[Class[2]], []}}", GeneralClassification, "general",
			"arrays of 4×4×4×4 → one of 2 classes", "arrays of 4×4×4×4 → 2 classes"},
		{"{input: {[Tensor[1]], [a, b, c]}, output: {[Class[2]], []}}", GeneralClassification, "general",
			"graphs of 3 pointers, 1 number a node → one of 2 classes", "graphs of 3 pointers → 2 classes"},
		{"{input: {[Tensor[4,4,4,4]], []}, output: {[Tensor[4,4,4,4]], []}}", GeneralRecovery, "general",
			"arrays of 4×4×4×4 → arrays of 4×4×4×4", "arrays of 4×4×4×4 → arrays of 4×4×4×4"},
		{"{input: {[Tensor[2]], [left, right]}, output: {[Tensor[2]], [left, right]}}", GeneralRecovery, "general",
			"trees, 2 numbers a node → trees, 2 numbers a node", "trees → trees"},
	} {
		p := program(t, c.text)
		template, ok := Match(p)
		if template != c.template || !ok || Kind(p) != c.kind {
			t.Errorf("%s: got %s of kind %s, want %s of kind %s", c.text, template, Kind(p), c.template, c.kind)
		}
		if Describe(p) != c.describe || Brief(p) != c.brief {
			t.Errorf("%s is described as\n  %s\n  %s\nwant\n  %s\n  %s", c.text, Describe(p), Brief(p), c.describe, c.brief)
		}
	}
	if _, ok := Match(Program{}); ok {
		t.Error("a program without fields has a template")
	}
	if got := ImageClassification.Words(); got != "image classification" {
		t.Error(got)
	}
}
