// Package schema knows programs: the declared shape of a task's input and output,
//
//	{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}
//
// as the Ease.ml paper writes them (arXiv 1708.07308), with named fields and
// classes added. Here they are read, printed, checked against limits, hashed,
// described for people and matched to a template.
//
// Nothing here knows of statements, files, candidates or servers, and nothing
// does any I/O: text and values in, text and values out.
package schema
