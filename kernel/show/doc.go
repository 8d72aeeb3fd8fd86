// Package show turns what the server answers into what a person reads: words,
// tables and charts.
//
// What happens here: every statement's output is laid out once, as a page of
// lines and tables, and printed twice, as text and as HTML with the same words.
// The chart of a running search is made as a Vega-Lite specification, as a PNG
// and as characters. Numbers, times and qualities get their wording in one
// place each (number, duration, quality).
//
// What doesn't: nothing is asked of a server, nothing is written anywhere, no
// message format of a notebook is known. kernel/cells does that.
//
// Three rules hold for every output. The first line is the verdict. A quality
// never stands alone: it says of what, on how many examples, with which
// interval, and what guessing reaches. Text that comes from people, files or
// models is untrusted: html/template escapes it, and control characters are
// taken out of the plain text.
package show
