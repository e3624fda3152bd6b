//go:build !linux

package process

// Sweep finds nothing on this system: it has no /proc.
func Sweep(owner string) ([]Swept, error) { return nil, nil }
