// Package levels qualifies a variant in one launch: one file per level, with what a
// plan may set and how it is run, and Run, which runs one after the other until one
// does not pass. Checking an engine outside any run uses the same levels. It measures
// nothing.
package levels
