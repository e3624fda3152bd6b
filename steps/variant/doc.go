// Package variant resolves an engine of a plan and the values of its knobs into what
// would be started: the blocks that may be in an engine, one file per block, the
// resulting Spec, and the keys under which measurements of it are found again. It reads
// plans, programs and repositories; it starts nothing, sends nothing and knows of no
// launch.
package variant

import _ "embed"

// examples has one of each block, for the manual.
//
//go:embed examples.hcl
var examples string
