// Package levels qualifies a variant in one launch: a level a file, with what a plan
// may set of it and how it is run, and Run, which serves one after the other until one
// does not pass. The check of an engine outside of any run asks the same engine the
// same kind of question. It measures nothing.
package levels
