// Package variant resolves an engine of a plan and the values of its knobs into an
// engine.Spec: the blocks that an engine may have, one file per block, the resulting
// Spec, and the keys under which its measurements are found. It reads plans, programs and
// repositories; it starts nothing, sends nothing and knows no launch.
package variant

import _ "embed"

// examples has one of each block, for the manual.
//
//go:embed examples.hcl
var examples string
