package apply

import (
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// clock knows how long a run has taken and, from the remaining launches and the duration
// of past ones, how long it will take.
type clock struct {
	mu    sync.Mutex
	began time.Time
	known *LaunchHistory
	// launch finds a launch just made, for its duration.
	launch func(id string) (*ledger.Launch, bool)
	left   []piece
	made   int
	rest   Estimate // of what is left
	// since is when the running launch started, in seconds; below 0 if none is running.
	since float64
}

func newClock(known *LaunchHistory, left []piece, launch func(id string) (*ledger.Launch, bool)) *clock {
	return &clock{began: time.Now(), known: known, left: left, launch: launch, rest: known.of(left), since: -1}
}

// at records an event and returns it with elapsed time and ETA.
func (c *clock) at(ev runtime.Event) runtime.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if ev.Time.IsZero() {
		ev.Time = now.UTC()
	}
	ev.Elapsed = now.Sub(c.began).Seconds()
	return c.timed(ev)
}

// timed adds the time left to an event that has the elapsed time.
func (c *clock) timed(ev runtime.Event) runtime.Event {
	drop := func(of func(piece) bool) {
		c.left = slices.DeleteFunc(c.left, of)
		c.rest = c.known.of(c.left)
	}
	switch ev.Type {
	case "launch_started":
		if ev.Level == ledger.ForAgreement { // its session makes no more of the others
			drop(func(p piece) bool { return p.node == ev.Node && p.Purpose == ledger.ForBenchmark })
		}
		c.since = ev.Elapsed
	case "launch_done":
		c.since = -1
		l, ok := c.launch(ev.LaunchID)
		if ok {
			c.known.add(l)
		}
		if ok && ev.Again == 0 { // else it was counted with the first one
			c.made++
			c.done(l)
		}
		c.rest = c.known.of(c.left)
	case "source_built":
		if c.since >= 0 {
			c.since += ev.Seconds
		}
	case "node_done", "node_locked":
		drop(func(p piece) bool { return p.node == ev.Node })
	}
	ev.Made, ev.Left = c.made, len(c.left)
	gone := 0.0
	if c.since >= 0 && c.rest.Launches > 0 {
		// A launch that takes longer than usual does not shorten those after it.
		gone = min(ev.Elapsed-c.since, 2*c.rest.Likely/float64(c.rest.Least+c.rest.Launches))
	}
	if ev.ETALeast = max(0, c.rest.Low-gone); c.rest.Likely > 0 {
		ev.ETA = max(1, ev.ETALeast, c.rest.Likely-gone)
		ev.ETAMost = max(ev.ETA, c.rest.High-gone)
	}
	return ev
}

// done removes a launch from the remaining ones: preferably one of its variant, which
// another feature of the session may have planned.
func (c *clock) done(l *ledger.Launch) {
	for _, fits := range []func(piece) bool{
		func(p piece) bool { return p.VariantKey == l.VariantKey && p.Purpose == l.Purpose },
		func(p piece) bool { return p.node == l.Node && p.Purpose == l.Purpose },
	} {
		if i := slices.IndexFunc(c.left, fits); i >= 0 {
			c.left = slices.Delete(c.left, i, i+1)
			return
		}
	}
}
