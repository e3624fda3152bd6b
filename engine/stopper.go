package engine

import (
	"context"
	"sync"
)

// Stopper lets everyone who asks for a stop share one attempt, and tries again
// where the last one failed. The zero value is ready to use.
type Stopper struct {
	mu      sync.Mutex
	current *stopAttempt
}

// stopAttempt is one try to stop, shared by everyone who asks for it.
type stopAttempt struct {
	hurry     chan struct{} // closed: kill now
	hurryOnce sync.Once
	done      chan struct{}
	err       error // valid once done is closed
}

// Stop runs end, or joins the attempt that runs, and returns its result. hurry is
// closed when the context of any who wait is done: then end is to kill at once.
func (s *Stopper) Stop(ctx context.Context, end func(hurry <-chan struct{}) error) error {
	s.mu.Lock()
	a := s.current
	if a == nil || a.failed() {
		a = &stopAttempt{hurry: make(chan struct{}), done: make(chan struct{})}
		s.current = a
		go func() {
			a.err = end(a.hurry)
			close(a.done)
		}()
	}
	s.mu.Unlock()

	select {
	case <-a.done:
	case <-ctx.Done():
		a.hurryOnce.Do(func() { close(a.hurry) })
		<-a.done
	}
	return a.err
}

func (a *stopAttempt) failed() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}
