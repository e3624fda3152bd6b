//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// NoFollow are flags of os.OpenFile by which no link is followed and no pipe waited for.
const NoFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// Exclusive locks a file, or says that someone else holds it.
func Exclusive(f *os.File) (held bool, err error) { return try(f, unix.LOCK_EX) }

// Shared locks a file together with others who do, or says that someone holds it for
// himself.
func Shared(f *os.File) (held bool, err error) { return try(f, unix.LOCK_SH) }

// Unlock gives a lock back while the file stays open.
func Unlock(f *os.File) error {
	_, err := try(f, unix.LOCK_UN)
	return err
}

func try(f *os.File, how int) (held bool, err error) {
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
