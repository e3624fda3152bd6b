//go:build !linux

package machine

// CPUs are not known on this system.
func CPUs() []CPU { return nil }

// NodeOf is not known on this system.
func NodeOf(string) int { return -1 }
