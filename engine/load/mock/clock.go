package mock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Clock reads CLOCK_MONOTONIC, which all processes of a machine share, at the
// price of Go's own monotonic clock: that is the same clock from another zero,
// and needs no system call.
type Clock struct {
	zero time.Time
	at   int64
}

// NewClock finds the distance between the two. It is read a few times and the
// closest pair taken, since the process may be interrupted in between.
func NewClock() (Clock, error) {
	var best Clock
	least := time.Duration(-1)
	for range 8 {
		var ts unix.Timespec
		zero := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return Clock{}, fmt.Errorf("the monotonic clock cannot be read: %w", err)
		}
		if took := time.Since(zero); least < 0 || took < least {
			least, best = took, Clock{zero: zero.Add(took / 2), at: ts.Nano()}
		}
	}
	return best, nil
}

// Now is in ns.
func (c Clock) Now() int64 { return c.at + int64(time.Since(c.zero)) }

// At is a time of this process on the clock.
func (c Clock) At(t time.Time) int64 { return c.at + int64(t.Sub(c.zero)) }
