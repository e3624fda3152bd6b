//go:build !linux

package main

import (
	"fmt"
	"runtime"
)

// bind can do nothing here: only a machine of n processors will do.
func bind(n int) error {
	if n <= 0 || runtime.NumCPU() <= n {
		return nil
	}
	return fmt.Errorf("only Linux can keep processes on %d of %d processors: use --cpus 0", n, runtime.NumCPU())
}
