//go:build !linux && !darwin

package machine

func machine() map[string]string { return nil }

// BootID is unknown on this system.
func BootID() string { return "" }
