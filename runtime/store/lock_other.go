//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"os"
)

var errNoLock = errors.New("this operating system has no flock: plans can be written and read here, apply them on Linux or macOS")

// tryLock refuses: without a lock that dies with its holder, two runs could
// write to one state directory, and a file left behind would block it for good.
func tryLock(*os.File) (held bool, err error) {
	return false, errNoLock
}

func isLocked(*os.File) (bool, error) { return false, errNoLock }
