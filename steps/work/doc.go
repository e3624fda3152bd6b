// Package work runs the step blocks that prepare a measurement: git, docker build and
// commands. The keys of each cover what its outcome rests on; each leaves nothing
// running. It measures nothing and decides nothing about a feature.
package work

import _ "embed"

// examples has one of each block, for the manual.
//
//go:embed examples.hcl
var examples string
