package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Launcher starts engines in one way: as a process, in Docker, remotely.
type Launcher interface {
	// Launch starts spec and does not wait for it to be ready. ctx only bounds the start:
	// ending it later does not stop the engine. The error is a *Failure.
	Launch(ctx context.Context, spec Spec, l Launch) (Instance, error)
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

// Launchers are the launchers by the way to launch; a Spec chooses one of them.
type Launchers map[How]Launcher

func (ls Launchers) Launch(ctx context.Context, spec Spec, l Launch) (Instance, error) {
	launcher := ls[spec.How()]
	if launcher == nil {
		return nil, StartFailure(nil, "this mxflow has no launcher %q", spec.How())
	}
	return launcher.Launch(ctx, spec, l)
}

// Identify implements Identifier; empty if the launcher cannot identify.
func (ls Launchers) Identify(ctx context.Context, spec Spec) (string, error) {
	if id, ok := ls[spec.How()].(Identifier); ok {
		return id.Identify(ctx, spec)
	}
	return "", nil
}

// Fetch implements Fetcher; for a launcher that fetches nothing it does nothing.
func (ls Launchers) Fetch(ctx context.Context, spec Spec, made func(image string) string) error {
	if f, ok := ls[spec.How()].(Fetcher); ok {
		return f.Fetch(ctx, spec, made)
	}
	return nil
}

// Stopper lets callers of a stop take turns until one attempt has succeeded. The zero value
// is ready to use.
type Stopper struct {
	begin, now sync.Once
	hurry      chan struct{} // closed: kill now
	turn       sync.Mutex
	ended      bool
}

// Stop runs end, unless it has succeeded before. hurry is closed when the context of any
// waiting caller is done: then end must kill at once.
func (s *Stopper) Stop(ctx context.Context, end func(hurry <-chan struct{}) error) error {
	s.begin.Do(func() { s.hurry = make(chan struct{}) })
	defer context.AfterFunc(ctx, func() { s.now.Do(func() { close(s.hurry) }) })()
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.ended {
		return nil
	}
	err := end(s.hurry)
	s.ended = err == nil
	return err
}

// Peak is a maximum over time. The zero value is ready to use.
type Peak struct{ most atomic.Int64 }

func (p *Peak) Raise(now int64) {
	for was := p.most.Load(); now > was && !p.most.CompareAndSwap(was, now); {
		was = p.most.Load()
	}
}

func (p *Peak) Load() int64 { return p.most.Load() }

// Lifetime is when something was started, how long it took to be ready, and how it ended: that
// part of an Instance.
type Lifetime struct {
	Started time.Time
	startup atomic.Int64 // ns, 0 before
	ended   chan struct{}
	how     Exit // valid once ended is closed
}

func (l *Lifetime) Begin() { l.Started, l.ended = time.Now(), make(chan struct{}) }

// SetReady is called with the time from its start to readiness; the first counts.
func (l *Lifetime) SetReady(took time.Duration) { l.startup.CompareAndSwap(0, int64(took)) }

func (l *Lifetime) End(how Exit) {
	l.how = how
	close(l.ended)
}

func (l *Lifetime) Startup() time.Duration { return time.Duration(l.startup.Load()) }

func (l *Lifetime) Exited() <-chan struct{} { return l.ended }

func (l *Lifetime) Exit() *Exit {
	select {
	case <-l.ended:
		how := l.how
		return &how
	default:
		return nil
	}
}
