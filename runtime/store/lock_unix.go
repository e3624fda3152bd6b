//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lookers is how often a lock is tried again that nobody has who writes: whoever
// only looks at it lets go of it at once.
const lookers = 200

// tryLock locks an open file, or says that someone else has it. The kernel
// gives the lock back when the file is closed, by exit or SIGKILL too; children
// do not inherit it, since Go opens files close-on-exec.
func tryLock(f *os.File) (held bool, err error) {
	for range lookers {
		if held, err = flock(f, unix.LOCK_EX); !held || err != nil {
			return held, err
		}
		if held, err = isLocked(f); held || err != nil {
			return held, err
		}
		time.Sleep(time.Millisecond)
	}
	return true, nil
}

// isLocked reports whether somebody may write, without being in the way of who
// wants to for more than a moment.
func isLocked(f *os.File) (bool, error) {
	held, err := flock(f, unix.LOCK_SH)
	if held || err != nil {
		return held, err
	}
	_, err = flock(f, unix.LOCK_UN)
	return false, err
}

func flock(f *os.File, how int) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		}
		return false, err
	}
}
