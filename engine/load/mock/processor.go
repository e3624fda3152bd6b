package mock

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime is what this process has used of processors, in the kernel and
// outside. It is 0 where the system does not say.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
