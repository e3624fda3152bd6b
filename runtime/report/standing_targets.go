package report

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	Note verdict.Reason `json:"note,omitzero"`
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
		case !t.Why.IsZero():
			c.Note = t.Why
		case len(launches) == 0:
			c.Note = noLaunch(name, stack)
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

func noLaunch(name string, stack Stack) verdict.Reason {
	if n := len(stack.Features); n > 1 {
		return verdict.New(code.NoLaunch, verdict.Int("features", n)).On(name)
	}
	return verdict.New(code.NoLaunch).On(name)
}

// decide holds the launches against the target.
func (c *Contest) decide(launches []*ledger.Launch) {
	var values []float64
	for _, l := range launches {
		if why := c.sentElse(l); !why.IsZero() {
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
			c.Note = verdict.New(code.OtherUnit, verdict.Text("address", c.Address), verdict.Text("unit", s.Unit), verdict.Text("target", c.Unit)).On(l.ID)
			return
		}
		values = append(values, v)
		c.Launches = append(c.Launches, l.ID)
	}
	in, err := stats.MeanInterval(values)
	if err != nil {
		c.Note = verdict.New(code.NoMean, verdict.Err(err)).On(c.Address)
		return
	}
	c.Mean = &in.Mean
	if in.Bounded {
		c.Low, c.High = &in.Low, &in.High
	} else {
		c.Note = verdict.New(code.NoInterval, verdict.Int("launches", len(values)))
	}
	if !(c.Value > 0) || !(in.Mean > 0) || c.Better != "higher" && c.Better != "lower" {
		if c.Note.IsZero() {
			c.Note = verdict.New(code.NoRatio)
		}
		return
	}
	c.compare(in)
}

// sentElse is why a launch measured another load than the target is held against,
// under the same name; no fact where it did not.
func (c *Contest) sentElse(l *ledger.Launch) verdict.Reason {
	cell, _ := measure.SplitAddress(c.Address)
	for _, run := range l.Cells {
		sent := ledger.Sent{Prompt: run.Prompt, Output: run.Output, Depth: run.Depth, Concurrency: run.Concurrency, Rate: run.Rate}
		if run.Cell == cell && c.Sent != nil && sent != *c.Sent {
			return verdict.New(code.SentElse, verdict.Text("sent", Sent([]*ledger.Launch{l}, cell)), verdict.Text("cell", cell)).On(l.ID)
		}
	}
	return verdict.Reason{}
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
