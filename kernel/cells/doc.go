// Package cells runs the statements of a cell against a server and shows what
// comes of them.
//
// What happens here: a cell is parsed whole, then its statements run in order
// until one fails. Files named in it are sent, answers are written into files,
// searches that are watched are drawn anew as they change, also while other cells
// run. Errors get the place in the cell, one sentence and what to do. Completion,
// inspection and is_complete of a notebook are answered from package lang and
// from what is known of tasks and files, without waiting for anybody.
//
// What doesn't: the notebook's protocol (kernel/jupyter), the grammar
// (kernel/lang), the wording of results (kernel/show), and how a server is found
// or started, which comes in as Config.Connect.
//
// From the outside in, one file each:
//
//	cells        the Handler: one cell
//	statement    one statement: which function serves it
//	session      the server, the person, the current task
//	declare, feed, infer, watch, wait, board, control, value, help, address
//	             the statements
//	source       what a statement names → uploads
//	answers      a file of answers
//	display      outputs that change in place
//	follow       events of tasks, one stream for all of them
//	failure      errors as a notebook shows them
//	names        what completion knows
//	terminal     outputs of `easeml run`
//	lines        outputs as JSON
//	pipe         cells for another program, over its pipes
package cells
