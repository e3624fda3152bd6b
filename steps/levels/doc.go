// Package levels qualifies a variant in one launch: one file per level, with its schema
// and its run, and Run, which runs them in order until one does not pass. Checking an
// engine outside any run uses the same levels. It measures nothing.
package levels

import _ "embed"

// examples has one of each block, for the manual.
//
//go:embed examples.hcl
var examples string
