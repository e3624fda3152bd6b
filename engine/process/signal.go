package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName is "SIGSEGV", or "signal 35" for one without a name.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}
