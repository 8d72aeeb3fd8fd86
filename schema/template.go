package schema

// Template is a kind of task that has a list of candidates of its own.
type Template string

// The templates: the table of the Ease.ml paper (arXiv 1708.07308), with Table
// and Fusion before its two catch-alls.
const (
	ImageClassification   Template = "image_classification"
	ImageRecovery         Template = "image_recovery"
	SeriesClassification  Template = "series_classification"
	SeriesTranslation     Template = "series_translation"
	TreeClassification    Template = "tree_classification"
	Table                 Template = "table"
	Fusion                Template = "fusion"
	GeneralClassification Template = "general_classification"
	GeneralRecovery       Template = "general_recovery"
)

// templates holds the rows of the table in the order in which they are tried,
// with the words for people and the kind of the generated task name.
var templates = []struct {
	slug        Template
	words, kind string
	fits        func(Program) bool
}{
	{ImageClassification, "image classification", "image", func(p Program) bool {
		return isImage(p.Input) && isVector(p.Output)
	}},
	{ImageRecovery, "image recovery", "recovery", func(p Program) bool {
		return isImage(p.Input) && isImage(p.Output)
	}},
	{SeriesClassification, "series classification", "series", func(p Program) bool {
		return isSeries(p.Input) && isVector(p.Output)
	}},
	{SeriesTranslation, "series translation", "translation", func(p Program) bool {
		return isSeries(p.Input) && isSeries(p.Output)
	}},
	{TreeClassification, "tree classification", "tree", func(p Program) bool {
		return isRecursive(p.Input, 2) && isVector(p.Output)
	}},
	{Table, "table", "table", func(p Program) bool {
		return isFlat(p.Input) && isFlat(p.Output)
	}},
	{Fusion, "fusion of several inputs", "general", func(p Program) bool {
		return len(p.Input.Fields) > 1 && len(p.Input.Pointers) == 0 && isVector(p.Output)
	}},
	{GeneralClassification, "general classification", "general", func(p Program) bool {
		return isVector(p.Output)
	}},
	{GeneralRecovery, "general recovery", "general", func(p Program) bool {
		return len(p.Input.Fields) > 0 && len(p.Output.Fields) > 0
	}},
}

// Match gives the first template that fits. Every program that Parse accepts fits
// one; ok is false only for a program without fields.
func Match(p Program) (t Template, ok bool) {
	if len(p.Input.Fields) == 0 {
		return "", false
	}
	for _, row := range templates {
		if row.fits(p) {
			return row.slug, true
		}
	}
	return "", false
}

// Words names the template for people, such as "image classification".
func (t Template) Words() string {
	for _, row := range templates {
		if row.slug == t {
			return row.words
		}
	}
	return string(t)
}

// LastResort tells whether the template is one of the two catch-alls, which have
// few candidates; an output that names it says so.
func (t Template) LastResort() bool { return t == GeneralClassification || t == GeneralRecovery }

// Kind is the word with which the generated name of a bare program's task begins:
// image, table, series, tree, recovery, translation or general.
func Kind(p Program) string {
	t, _ := Match(p)
	for _, row := range templates {
		if row.slug == t {
			return row.kind
		}
	}
	return "general"
}

// isImage: {[Tensor[A, B, C]], []}, or Tensor[A, B], which has one channel.
func isImage(t Type) bool {
	return len(t.Fields) == 1 && len(t.Pointers) == 0 && (t.Fields[0].Rank() == 3 || t.Fields[0].Rank() == 2)
}

// isVector: {[Tensor[D]], []}; a Class stands for a Tensor with one value a class.
func isVector(t Type) bool {
	return len(t.Fields) == 1 && len(t.Pointers) == 0 && t.Fields[0].Rank() <= 1
}

// isSeries: {[Tensor[A]], [a]}; a Class stands for a Tensor with one value a class.
func isSeries(t Type) bool {
	return len(t.Fields) == 1 && len(t.Pointers) == 1 && t.Fields[0].Rank() <= 1
}

// isRecursive: {[Tensor[A]], [a, …]} with so many pointers.
func isRecursive(t Type, pointers int) bool {
	return len(t.Fields) == 1 && t.Fields[0].Rank() == 1 && len(t.Pointers) == pointers
}

// isFlat: fields of rank at most 1 and no pointer.
func isFlat(t Type) bool {
	for _, f := range t.Fields {
		if f.Rank() > 1 {
			return false
		}
	}
	return len(t.Fields) > 0 && len(t.Pointers) == 0
}
