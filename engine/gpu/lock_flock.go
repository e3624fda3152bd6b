//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package gpu

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// tryLock locks an open file, or says that someone else has it. The kernel gives
// the lock back when the file is closed, by exit or SIGKILL too; engines do not
// inherit it, since Go opens files close-on-exec.
func tryLock(f *os.File) (taken bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		}
		return false, err
	}
}
