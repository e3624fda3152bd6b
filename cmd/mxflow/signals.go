package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// signals gives two contexts: the first Ctrl-C (or SIGTERM) ends soft, which
// stops the launch in hand in order; the second ends hard, which stops at once.
// SIGHUP and SIGPIPE are ignored: a closed terminal, or a pager that was left,
// does not end a run.
func signals(ctx context.Context, stderr io.Writer) (soft, hard context.Context, release func()) {
	soft, stopSoft := context.WithCancel(ctx)
	// Stopping in order goes on after soft has ended, so hard must not end with it.
	hard, stopHard := context.WithCancel(context.WithoutCancel(ctx))
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-c:
				if n == 1 {
					fmt.Fprintf(stderr, "\n%s: stopping the engine in order; once more stops it at once\n", s)
					stopSoft()
				} else {
					stopHard()
				}
			}
		}
	}()
	return soft, hard, func() {
		// The signals stay caught: one that comes when the outcome is on record
		// must not change the exit status.
		close(done)
		stopSoft()
		stopHard()
	}
}
