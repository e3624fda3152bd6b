//go:build !linux

package lies

import "errors"

func park(int) error { return errors.New("memory is parked in memfds, which only Linux has") }
