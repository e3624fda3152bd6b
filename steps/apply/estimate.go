package apply

import (
	"sync"
	"time"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// AssumedSeconds is what a launch is assumed to take where none was recorded.
const AssumedSeconds = 5

// Estimate is how much an apply has to do.
type Estimate struct {
	// Launches is how many there are at most, Least how many are made in any case.
	Launches, Least int
	// PerLaunch, Seconds and LeastSeconds are estimates; Recorded is false where
	// they rest on no launch at all.
	PerLaunch, Seconds, LeastSeconds float64
	Recorded                         bool
}

// EstimateOf takes recorded launch times, see launchSeconds.
func EstimateOf(p *plans.Plan, st *store.Store, preview []runtime.Planned) Estimate {
	e := Estimate{Recorded: true}
	type kind struct {
		variant, purpose string
		least            float64
	}
	known := map[kind]float64{}
	for _, n := range preview {
		least := SentBy(p, n.Node).Seconds
		for _, l := range n.Launches {
			e.Launches++
			key := kind{l.VariantKey, l.Purpose, least}
			mean, ok := known[key]
			if !ok && st != nil {
				mean = launchSeconds(st, l, least)
				known[key] = mean
			}
			if mean == 0 {
				mean, e.Recorded = AssumedSeconds+least, false
			}
			e.Seconds += max(mean, least)
			if l.Sure {
				e.Least++
				e.LeastSeconds += max(mean, least)
			}
		}
	}
	if e.Launches > 0 {
		e.PerLaunch = e.Seconds / float64(e.Launches)
	}
	return e
}

// launchSeconds is what launches like this one took: of the same variant or else
// of the same kind of engine, and for the same purpose. Where there were none,
// those for another purpose say how long a start takes, and what is sent on top
// takes its least, or with the start what is assumed of any launch; 0 where
// nothing was ever launched.
func launchSeconds(st *store.Store, l runtime.PlannedLaunch, least float64) float64 {
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, l.Purpose); n > 0 {
			return mean
		}
	}
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, ""); n > 0 {
			if l.Purpose == ledger.ForBenchmark {
				mean = max(mean, AssumedSeconds) // requests that no rate paces take time too
			}
			return mean + least
		}
	}
	return 0
}

// Sent is what each launch of a benchmark sends.
type Sent struct {
	Cells    int `json:"cells"`
	Requests int `json:"requests"`
	// Seconds is how long that takes by rates and durations alone, however fast
	// the engine is; 0 where requests are sent as fast as they are answered.
	Seconds float64 `json:"seconds_by_pace,omitempty"`
}

// SentBy is what the benchmark of a node's feature sends; nothing for other
// nodes and for a command, which brings its own work.
func SentBy(p *plans.Plan, n *runtime.Node) (s Sent) {
	if n.Kind != runtime.KindBenchmark {
		return s
	}
	feature := p.Feature(n.Feature)
	if feature == nil {
		return s
	}
	protocol := p.Protocol(feature.Protocol)
	if protocol == nil || protocol.Level(plans.BenchmarkLevel) == nil {
		return s
	}
	for _, name := range p.Sent(protocol.Level(plans.BenchmarkLevel)) {
		w := p.Workload(name)
		if w == nil {
			continue
		}
		for _, c := range w.Cells() {
			s.Cells++
			s.Requests += c.Warmup + c.Requests
			s.Seconds += pace(w, c)
		}
	}
	return s
}

// pace is how long sending a cell takes by its clock.
func pace(w *plans.Workload, c plans.Cell) float64 {
	seconds := w.Duration.Seconds()
	if c.Rate <= 0 {
		return seconds
	}
	rate := c.Rate
	if w.RateTo > 0 {
		rate = (c.Rate + w.RateTo) / 2
	}
	if by := float64(c.Requests) / rate; seconds == 0 || by < seconds {
		return by
	}
	return seconds
}

// clock knows how long a run has taken and, from the launches that are left and
// how long launches took, how long it will.
type clock struct {
	mu        sync.Mutex
	began     time.Time
	left      int
	perLaunch float64
	seen      int
	spent     float64
}

func newClock(e Estimate) *clock {
	return &clock{began: time.Now(), left: e.Launches, perLaunch: e.PerLaunch}
}

// at notes an event and returns it with elapsed time and ETA.
func (c *clock) at(ev runtime.Event) runtime.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if ev.Time.IsZero() {
		ev.Time = now.UTC()
	}
	ev.Elapsed = now.Sub(c.began).Seconds()
	if ev.Type == "launch_done" {
		if ev.Again == 0 { // else its place was counted with the first one
			c.left--
		}
		c.seen++
		c.spent += ev.Seconds
	}
	if ev.Type == "launches_spared" {
		c.left -= ev.Launches
	}
	per := c.perLaunch
	if c.seen > 0 {
		per = c.spent / float64(c.seen)
	}
	if c.left > 0 && per > 0 {
		ev.ETA = float64(c.left) * per
	}
	return ev
}
