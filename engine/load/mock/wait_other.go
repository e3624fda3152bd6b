//go:build !linux

package mock

import "time"

// waiter sleeps until a time on the clock or until woken.
type waiter struct{ woken chan struct{} }

func newWaiter() (*waiter, error) { return &waiter{woken: make(chan struct{}, 1)}, nil }

// wait returns after d, or when wake was called; a negative d waits for wake only.
func (w *waiter) wait(d time.Duration) {
	if d < 0 {
		<-w.woken
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.woken:
	case <-t.C:
	}
}

// wake ends the current wait, or the next one.
func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *waiter) close() {}
