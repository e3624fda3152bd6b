// Package ending sees to it that no end of mxflow looks like a verdict: Go's runtime
// ends with exit status 2 on SIGQUIT, SIGABRT and when it breaks, and 2 is "a gate
// failed". Its init comes before those of larger packages, which take a while.
package ending

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"syscall"

	"github.com/mxflow/mxflow/gates/verdict"
)

var (
	interrupts = make(chan os.Signal, 4)
	claimed    = make(chan struct{})
	claim      sync.Once
)

func init() {
	// What the runtime ends by itself, as out of memory, ends by SIGABRT: 134 in a shell.
	debug.SetTraceback("crash")
	fatal := make(chan os.Signal, 1)
	signal.Notify(fatal, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		s := (<-fatal).(syscall.Signal)
		fmt.Fprintf(os.Stderr, "\nmxflow: %s: ends at once; what every part of it was doing:\n", s)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		os.Exit(128 + int(s))
	}()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) { // as in the background of a script
			signal.Notify(interrupts, s)
		}
	}
	go func() {
		select {
		case s := <-interrupts:
			fmt.Fprintf(os.Stderr, "\nmxflow: %s\n", s)
			os.Exit(verdict.ExitInterrupted)
		case <-claimed:
		}
	}()
}

// Interrupts are Ctrl-C and SIGTERM, for a command that has something to end in order;
// until somebody asks for them, they end mxflow.
func Interrupts() <-chan os.Signal {
	claim.Do(func() {
		close(claimed)
		signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	})
	return interrupts
}
