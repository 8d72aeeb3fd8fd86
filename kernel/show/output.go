package show

// Width is the most columns a line of an output takes.
const Width = 110

// nextEnd is the column at which the advice of the last line ends.
const nextEnd = 104

// Output is one thing to show in several forms; empty forms are left out.
// Text is always set. A chart has Vega and PNG and never HTML, which a notebook
// would prefer to them.
type Output struct {
	Text string
	HTML string
	Vega map[string]any // a Vega-Lite v5 specification with its data inside
	PNG  []byte
}

// Plain is an output that is the same text in both forms.
func Plain(text string) Output {
	p := page{}
	p.say("%s", text)
	return p.output()
}
