//go:build !linux

package machine

// Inherited is not known on this system.
func Inherited() map[string]string { return nil }
