//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package gpu

import (
	"errors"
	"os"
)

const noFollow = 0

// tryLock refuses: a lock that does not die with its holder would keep a GPU for
// good.
func tryLock(*os.File) (taken bool, err error) {
	return false, errors.New("this operating system has no flock: apply plans on Linux")
}
