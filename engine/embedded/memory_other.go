//go:build lies && !linux

package embedded

import "errors"

func park(int) error { return errors.New("memory is parked in memfds, which only Linux has") }
