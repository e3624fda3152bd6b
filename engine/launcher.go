package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// Launcher starts engines in one way: as a process, in Docker, remotely.
type Launcher interface {
	// Launch starts spec and does not wait for it to be ready. ctx only bounds the start:
	// ending it later does not stop the engine. The error is a *Failure.
	Launch(ctx context.Context, spec Spec, l Launch) (Instance, error)
}

// Launchers chooses the launcher that a Spec asks for.
type Launchers struct {
	Process, Docker, Compose, Exec, Endpoint Launcher
}

// Identifier is a Launcher that can identify what a Spec would start without starting it:
// the digest of an image, the hash of a program. Equal identities start the same thing.
// If it cannot be determined now, the identity is a word for that ("missing") and the
// error is why.
type Identifier interface {
	Identify(ctx context.Context, spec Spec) (string, error)
}

// Fetcher is a Launcher that can bring what a Spec starts from, an image, to where it is
// started: before it is identified, so its identity is that of what is launched. made
// names what makes an image in place of a registry, and is empty if nothing does. Other
// problems with the Spec are left to Launch.
type Fetcher interface {
	Fetch(ctx context.Context, spec Spec, made func(image string) string) error
}

// Launch implements Launcher.
func (ls Launchers) Launch(ctx context.Context, spec Spec, l Launch) (Instance, error) {
	launcher := ls.of(spec)
	if launcher == nil {
		return nil, StartFailure(nil, "this mxflow has no launcher %q", spec.How())
	}
	return launcher.Launch(ctx, spec, l)
}

// Identify implements Identifier; empty if the launcher cannot identify.
func (ls Launchers) Identify(ctx context.Context, spec Spec) (string, error) {
	if id, ok := ls.of(spec).(Identifier); ok {
		return id.Identify(ctx, spec)
	}
	return "", nil
}

// Fetch implements Fetcher; for a launcher that fetches nothing it does nothing.
func (ls Launchers) Fetch(ctx context.Context, spec Spec, made func(image string) string) error {
	if f, ok := ls.of(spec).(Fetcher); ok {
		return f.Fetch(ctx, spec, made)
	}
	return nil
}

func (ls Launchers) of(spec Spec) Launcher {
	return map[How]Launcher{
		HowProcess: ls.Process, HowDocker: ls.Docker, HowCompose: ls.Compose, HowExec: ls.Exec, HowEndpoint: ls.Endpoint,
	}[spec.How()]
}

// Stopper lets all callers of a stop share one attempt, and tries again if the last one
// failed. The zero value is ready to use.
type Stopper struct {
	mu      sync.Mutex
	current *stopAttempt
}

// stopAttempt is one attempt to stop, shared by all callers.
type stopAttempt struct {
	hurry     chan struct{} // closed: kill now
	hurryOnce sync.Once
	done      chan struct{}
	err       error // valid once done is closed
}

// Stop runs end, or joins the running attempt, and returns its result. hurry is closed
// when the context of any waiting caller is done: then end must kill at once.
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

// Peak is a maximum over time. The zero value is ready to use.
type Peak struct{ most atomic.Int64 }

// Raise raises the peak to at least now.
func (p *Peak) Raise(now int64) {
	for was := p.most.Load(); now > was && !p.most.CompareAndSwap(was, now); {
		was = p.most.Load()
	}
}

// Load is the peak so far.
func (p *Peak) Load() int64 { return p.most.Load() }
