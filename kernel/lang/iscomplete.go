package lang

import "strings"

// Status says whether a cell can be run as it stands.
type Status string

// The answers of IsComplete.
const (
	StatusComplete   Status = "complete"
	StatusIncomplete Status = "incomplete"
	StatusInvalid    Status = "invalid"
)

// IsComplete tells a console whether Enter runs the text or goes on with another
// line, and how far that line is indented. A text is incomplete only where it
// ends inside brackets or after `,` or `=`; where merely words are missing it is
// complete, so that Enter shows the error.
func IsComplete(src string) (status Status, indent string) {
	if HostCell(src) {
		if strings.Contains(src, "\n") && strings.HasSuffix(src, "\n") || !strings.Contains(src, "\n") && src == "%%" {
			return StatusComplete, ""
		}
		return StatusIncomplete, ""
	}
	runes := []rune(src)
	p := newParser(runes, false)
	p.cell()
	joins := p.joinsAtEnd()
	if len(p.faults) == 0 {
		return StatusComplete, ""
	}
	fault := p.faults[0]
	switch {
	case !fault.missing:
		return StatusInvalid, ""
	case fault.atEnd && (fault.open || joins):
		return StatusIncomplete, strings.Repeat("    ", depth(runes[p.start.start:]))
	}
	return StatusComplete, ""
}

// joinsAtEnd tells whether the source ends after `,` or `=`.
func (p *parser) joinsAtEnd() bool {
	return p.tok.kind == tokenEnd && p.last.kind == tokenMark && (p.last.text == "," || p.last.text == "=")
}
