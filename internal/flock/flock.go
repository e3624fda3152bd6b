// Package flock locks open files through the kernel, which releases a lock when the file
// is closed, also by exit or SIGKILL: a dead process blocks nobody. Children do not
// inherit a lock, because Go opens files close-on-exec. It knows no paths and never
// waits.
package flock

import "errors"

// ErrNone is the error of a system without such locks: two runs could write to one state
// directory there, and a file in the place of a lock would outlive its holder.
var ErrNone = errors.New(
	"this operating system has no flock: plans can be written and read here, apply them on Linux or macOS")
