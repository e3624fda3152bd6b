package report

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Standings: who is beaten.
const (
	Beaten = "beaten"  // the whole interval is better than the target
	NotYet = "not yet" // the whole interval is worse
	Open   = "open"    // the target lies within, or there is no interval
)

// Contest is a number to beat and what was measured here.
type Contest struct {
	ledger.Target
	// Variant is "accepted" or "baseline", and Session the one whose launches
	// these are: the newest in which it was measured.
	Variant  string   `json:"variant"`
	Session  string   `json:"session,omitempty"`
	Launches []string `json:"launches,omitempty"`
	// Mean over launches with its two-sided 95 % interval, in Unit.
	Mean *float64 `json:"mean,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Ratio is how many times better than the target it is: more than 1 is better
	// for every metric.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratio_low,omitempty"`
	RatioHigh *float64 `json:"ratio_high,omitempty"`
	Standing  string   `json:"standing"`
	// Rulings are what rules that read the target came to.
	Rulings []Ruling `json:"rulings,omitempty"`
	// Note is why there is no number, or what it lacks.
	Note string `json:"note,omitempty"`
}

// Contests are the targets of the newest run against the accepted stack, or the
// baseline while nothing is accepted; never nil.
func Contests(st *store.Store) []Contest {
	all := []Contest{}
	targets := targetsNow(st)
	if len(targets) == 0 {
		return all
	}
	stack := AcceptedStack(st)
	name, sessions := stackSessions(st, stack)
	block := baselineBlock(st)
	for _, t := range targets {
		c := Contest{Target: t, Variant: name, Standing: Open, Rulings: rulingsOn(st, t, stack.Knobs, block)}
		launches := newestOf(sessions, t.Address)
		switch {
		case t.Why != "":
			c.Note = t.Why
		case len(launches) == 0:
			c.Note = "no launch of " + words(name, stack) + " was measured"
		default:
			c.Session = launches[0].Session
			c.decide(launches)
		}
		all = append(all, c)
	}
	return all
}

// targetsNow are those of the newest run.
func targetsNow(st *store.Store) []ledger.Target {
	view, err := st.Run("latest")
	if err != nil || view.Start == nil {
		return nil
	}
	return view.Start.Targets
}

func words(name string, stack Stack) string {
	if len(stack.Features) > 1 {
		return fmt.Sprintf("the stack of all %d accepted features", len(stack.Features))
	}
	return name
}

// decide holds the launches against the target.
func (c *Contest) decide(launches []*ledger.Launch) {
	var values []float64
	for _, l := range launches {
		if why := c.sentElse(l); why != "" {
			c.Note = why
			return
		}
		s, ok := l.Metrics[c.Address]
		v, has := s.Stats[c.Stat]
		if !ok || !has {
			c.Note = lacks(l, c.Address, c.Stat)
			return
		}
		if s.Unit != "" && c.Unit != "" && s.Unit != c.Unit {
			c.Note = fmt.Sprintf("launch %s has %s in %s, and the target is in %s", l.ID, c.Address, s.Unit, c.Unit)
			return
		}
		values = append(values, v)
		c.Launches = append(c.Launches, l.ID)
	}
	in, err := stats.MeanInterval(values)
	if err != nil {
		c.Note = c.Address + ": " + err.Error()
		return
	}
	c.Mean = &in.Mean
	if in.Bounded {
		c.Low, c.High = &in.Low, &in.High
	} else {
		c.Note = noInterval(len(values))
	}
	if !(c.Value > 0) || !(in.Mean > 0) || c.Better != "higher" && c.Better != "lower" {
		if c.Note == "" {
			c.Note = "no ratio: it takes values above zero and a metric with a better direction"
		}
		return
	}
	c.compare(in)
}

// sentElse is why a launch measured another load than the target is held against,
// under the same name; empty where it did not.
func (c *Contest) sentElse(l *ledger.Launch) string {
	cell, _ := measure.SplitAddress(c.Address)
	for _, run := range l.Cells {
		sent := ledger.Sent{Prompt: run.Prompt, Output: run.Output, Depth: run.Depth, Concurrency: run.Concurrency, Rate: run.Rate}
		if run.Cell == cell && c.Sent != nil && sent != *c.Sent {
			return fmt.Sprintf("launch %s was sent %s in %s, which is not what the plan sends now: apply it again", l.ID, Sent([]*ledger.Launch{l}, cell), cell)
		}
	}
	return ""
}

func noInterval(n int) string {
	if n < 2 {
		return "1 launch has no interval: at least 2 are needed"
	}
	return fmt.Sprintf("all %d launches have one value, which gives no interval", n)
}

func (c *Contest) compare(in stats.Interval) {
	better := func(x float64) float64 {
		if c.Better == "lower" {
			return c.Value / x
		}
		return x / c.Value
	}
	ratio := better(in.Mean)
	c.Ratio = &ratio
	if !in.Bounded || !(in.Low > 0) {
		return
	}
	low, high := better(in.Low), better(in.High)
	if low > high {
		low, high = high, low
	}
	c.RatioLow, c.RatioHigh = &low, &high
	switch {
	case low > 1:
		c.Standing = Beaten
	case high < 1:
		c.Standing = NotYet
	}
}
