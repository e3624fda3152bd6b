// Package ending makes sure that no exit of mxflow looks like a verdict: Go's runtime
// exits with status 2 on SIGQUIT, SIGABRT and when it crashes, and 2 is "a gate failed".
// Its init runs about a millisecond after the start, because it imports next to nothing,
// and nothing with a name that the linker sorts behind those of larger packages; nobody
// can change what the runtime does until then.
package ending

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// interrupted is verdict.ExitInterrupted, whose package comes too late.
const interrupted = 128 + int(syscall.SIGINT)

var (
	interrupts = make(chan os.Signal, 4)
	claimed    = make(chan struct{})
	claim      sync.Once
)

func init() {
	fatal := make(chan os.Signal, 1)
	signal.Notify(fatal, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		s := (<-fatal).(syscall.Signal)
		say(s.String() + ": ends at once; what every part of it was doing:")
		all := make([]byte, 1<<20)
		_, _ = os.Stderr.Write(all[:runtime.Stack(all, true)])
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
			say(s.String())
			os.Exit(interrupted)
		case <-claimed:
		}
	}()
}

func say(what string) { _, _ = os.Stderr.WriteString("\nmxflow: " + what + "\n") }

// Interrupts are Ctrl-C and SIGTERM, for a command that has something to end in order;
// until somebody asks for them, they end mxflow.
func Interrupts() <-chan os.Signal {
	claim.Do(func() {
		close(claimed)
		signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	})
	return interrupts
}
