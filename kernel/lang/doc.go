// Package lang is the language of the cells: it turns text into statements and
// statements into text, and answers an editor's questions about unfinished text.
//
// What happens here: the lexer (characters and tokens), the recursive-descent
// parser with one token of look-ahead and no backtracking, the canonical form
// of every statement, the errors with the caret under the place, completion,
// inspection, is_complete and help. All four editor services rest on one
// mechanism: while the parser looks at a token it notes every item it would
// have taken there. Errors print that set, completion filters it by what was
// typed, and inspection reads the roles that the consumed tokens got.
//
// What doesn't happen here: nothing runs, nothing is read or sent. Whether a
// task exists, a file is there or a server serves a statement is the concern of
// the caller (kernel/cells); names that only it can know come in through Names.
// Programs are read by package schema; this package adds the statements around them.
//
// All positions are Unicode code points, as the notebook protocol counts them.
package lang
