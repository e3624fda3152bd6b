package apply

import (
	"math"
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
	// spent is the duration of launches, and of builds, which are made once. The time between
	// them counts as well.
	spent float64
	least Estimate
	// since is when the running launch started, in seconds; below 0 if none is running.
	// running is how long such a launch likely takes.
	since, running float64
	// lowest is the lowest time left that was reported since a launch last broke or was
	// repeated; 0 for none.
	lowest float64
}

const (
	// steady is how much the time left may grow while nothing unforeseen happens.
	steady = 1.5
	// soon is the time left, in seconds, below which growth does not matter.
	soon = 10
)

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
	return c.timed(ev)
}

// timed adds the time left to an event that has the elapsed time.
func (c *clock) timed(ev runtime.Event) runtime.Event {
	switch ev.Type {
	case "launch_started":
		if ev.Level == ledger.ForAgreement { // its session makes no more of the others
			c.left = slices.DeleteFunc(c.left, func(p piece) bool { return p.node == ev.Node && p.Purpose == ledger.ForBenchmark })
			c.least = c.known.of(c.left)
		}
		c.since, c.running = ev.Elapsed, c.likely(ev)
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
	case "source_built":
		c.spent += ev.Seconds
		if c.since >= 0 {
			c.since += ev.Seconds
		}
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
	if ev.Again > 0 || ev.Type == "launch_done" && !ev.Why.IsZero() {
		c.lowest = 0
	}
	if c.least.Low > 0 {
		ev.ETALeast = max(0, c.least.Low+float64(c.least.Least)*between-gone)
	}
	if c.least.Likely > 0 {
		// A launch that takes longer than expected does not shorten those after it.
		likely := float64(c.least.Least+len(c.left)) / 2
		ev.ETA = max(1, ev.ETALeast, c.least.Likely+likely*between-min(gone, c.running))
		if c.lowest > 0 {
			ev.ETA = min(ev.ETA, steady*max(soon, c.lowest))
			c.lowest = min(c.lowest, ev.ETA)
		} else {
			c.lowest = ev.ETA
		}
	}
	return ev
}

// likely is how long a launch that starts takes.
func (c *clock) likely(ev runtime.Event) float64 {
	i := slices.IndexFunc(c.left, func(p piece) bool {
		return p.Variant == ev.Variant && p.Purpose == ev.Level
	})
	if i < 0 {
		return math.Inf(1)
	}
	_, mid, _ := c.known.span(c.left[i])
	return mid * c.left[i].share()
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
