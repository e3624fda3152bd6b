// Package ending makes sure that no exit of mxflow looks like a verdict: Go's runtime
// exits with status 2 on SIGQUIT, SIGABRT and when it crashes, and 2 is "a gate failed".
// Its init runs about a millisecond after the start, because it imports next to nothing,
// and nothing whose name the linker sorts after larger packages; before that the
// runtime's behaviour cannot be changed.
package ending

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// interrupted is verdict.ExitInterrupted, whose package is initialized too late.
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
		if !signal.Ignored(s) { // as in a script's background
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

// Interrupts receives Ctrl-C and SIGTERM, for a command that must end gracefully; until
// it is called, they end mxflow.
func Interrupts() <-chan os.Signal {
	claim.Do(func() {
		close(claimed)
		signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	})
	return interrupts
}
