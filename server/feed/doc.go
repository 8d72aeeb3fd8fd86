// Package feed turns uploaded files into accepted examples, and accepted
// examples into dataset versions.
//
// Read runs the trainer's ingest over a feed's files and returns the Batch:
// which rows were accepted under which numbers, which were rejected and why,
// and the profile of the data. Freeze names a dataset version by its hash and
// lays out the folder that all its trials read.
//
// Nothing here is committed: server/search writes the rows and moves the task
// to its new version in one transaction.
package feed
