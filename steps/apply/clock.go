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
	// spent is the duration of launches. The time between them counts as well.
	spent float64
	least Estimate
	// since is when the running launch started, in seconds; below 0 if none is running.
	since float64
}

func newClock(known *LaunchHistory, left []piece, launch func(id string) (*ledger.Launch, bool)) *clock {
	return &clock{began: time.Now(), known: known, left: left, launch: launch, least: known.of(left), since: -1}
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
	switch ev.Type {
	case "launch_started":
		c.since = ev.Elapsed
	case "launch_done":
		c.since = -1
		c.spent += ev.Seconds
		l, ok := c.launch(ev.LaunchID)
		if ok {
			c.known.add(l)
		}
		if ok && ev.Again == 0 { // else it was counted with the first one
			c.made++
			c.done(l)
		}
		c.least = c.known.of(c.left)
	case "node_done", "node_locked":
		if n := len(c.left); n > 0 {
			c.left = slices.DeleteFunc(c.left, func(p piece) bool { return p.node == ev.Node })
			if len(c.left) < n {
				c.least = c.known.of(c.left)
			}
		}
	}
	ev.Made, ev.Left = c.made, len(c.left)
	between := 0.0
	if c.made > 0 {
		between = max(0, ev.Elapsed-c.spent) / float64(c.made)
	}
	gone := 0.0
	if c.since >= 0 {
		gone = ev.Elapsed - c.since
	}
	if c.least.Low > 0 {
		ev.ETALeast = max(0, c.least.Low+float64(c.least.Least)*between-gone)
	}
	if c.least.High > 0 {
		ev.ETA = max(1, c.least.High+float64(len(c.left))*between-gone)
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
