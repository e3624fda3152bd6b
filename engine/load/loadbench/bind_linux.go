package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundEnv says that the processors are chosen.
const boundEnv = "MXFLOW_LOADBENCH_BOUND"

// bind keeps this process and all that it starts on the first n processors that
// it may use. A program of many threads can only do that by starting again: what
// is started inherits the processors of the thread that starts it.
func bind(n int) error {
	if n <= 0 || os.Getenv(boundEnv) != "" {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var may, chosen unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return err
	}
	if may.Count() <= n {
		return nil
	}
	for cpu := 0; chosen.Count() < n; cpu++ {
		if may.IsSet(cpu) {
			chosen.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &chosen); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, append(os.Environ(), boundEnv+"=1"))
}
